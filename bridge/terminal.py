"""`threadbridge chat`: the agent in the terminal, in this process, with no platform and no server between."""

import asyncio
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any
from uuid import uuid4

import typer
from langchain_core.messages import HumanMessage, ToolMessage

from agent import AgentError, AgentRuntime, RunContext, RunRequest
from bridge.config import Config
from bridge.delivery.events import RunEvent, StepRestarted, TextDelta, TextFinished, ToolFinished, ToolStarted, derive
from bridge.errors import InvalidRequest
from bridge.home import prepare_home
from bridge.runs.jsonable import to_json
from bridge.runs.records import PartId, StreamPart

_MODES = ("messages", "updates", "custom")
_WELCOME = "Ctrl-C stops an answer, Ctrl-D leaves. This conversation: --thread {name}"


async def chat(config: Config, name: str) -> None:
    """Talk until the input ends. Raises InvalidRequest (name), HomeUnusable, AgentError for a model that cannot be built."""
    thread_id = _thread_id(name)
    await asyncio.to_thread(prepare_home, config.home)
    async with AgentRuntime.open(config.agent, home=config.home, database_url=config.database.address) as agent:
        await Conversation(agent, thread_id).hold(_WELCOME.format(name=name))


class Conversation:
    """One person, one thread. Terminal threads have ids of their own, so that no chat's fence is ever raised from here."""

    def __init__(self, agent: AgentRuntime, thread_id: str) -> None:
        self._agent = agent
        self._thread_id = thread_id
        self._fence = int(time.time())  # a later terminal on the same thread takes over
        self._options: Sequence[str] = ()
        self._turn: asyncio.Task[None] | None = None

    async def hold(self, welcome: str) -> None:
        """Read, answer, and again, until the input ends."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop)
        try:
            typer.secho(welcome, dim=True)
            while (said := await asyncio.to_thread(_ask)) is not None:
                if said:
                    await self._answer(self._chosen(said))
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _stop(self) -> None:
        if self._turn is not None:
            self._turn.cancel()

    def _chosen(self, said: str) -> str:
        """What the person means: the number of an option stands for the option."""
        options, self._options = self._options, ()
        return options[int(said) - 1] if said.isdecimal() and 0 < int(said) <= len(options) else said

    async def _answer(self, said: str) -> None:
        self._turn = asyncio.create_task(self._run(said), name="terminal-turn")
        await asyncio.wait({self._turn})
        turn, self._turn = self._turn, None
        if turn.cancelled():
            typer.secho("\nstopped", dim=True)
        elif isinstance(error := turn.exception(), AgentError):
            typer.secho(f"\n{error.user_message or error}", fg="red", err=True)
            if error.user_message:  # who sits here can mend it: which host, which error
                typer.secho(f"· {error}", dim=True, err=True)
        elif error is not None:
            raise error

    async def _run(self, said: str) -> None:
        context = RunContext(self._thread_id, run_id=str(uuid4()))
        message = HumanMessage(said, id=str(uuid4()))
        request = RunRequest(context, self._fence, input={"messages": [message]})
        screen = _Screen()
        async with aclosing(self._agent.stream(request, modes=_MODES)) as parts:
            async for part in parts:
                for event in derive(_as_stream_part(part)):
                    screen.show(event)
                if part["type"] == "updates" and not part["ns"]:
                    self._show_results(part["data"], screen)
        screen.end()
        await self._agent.finish_turn(self._thread_id, fence=self._fence)

    def _show_results(self, update: Mapping[str, Any], screen: "_Screen") -> None:
        for message in _tool_messages(update):
            artifact = message.artifact if isinstance(message.artifact, Mapping) else {}
            if "human_input" in artifact:
                screen.say(str(message.text))
                self._options = [option["value"] for option in artifact["human_input"].get("options") or ()]
            for path in artifact.get("presented_files", ()):
                screen.say(f"📎 {self._agent.paths.resolve(self._thread_id, path)}")


class _Screen:
    """Text as it grows, and a dim line for everything else."""

    def __init__(self) -> None:
        self._in_line = False
        self._streamed: set[str] = set()

    def show(self, event: RunEvent) -> None:
        match event:
            case TextDelta(message_id, text):
                self._streamed.add(message_id)
                typer.echo(text, nl=False)
                self._in_line = not text.endswith("\n")
            case TextFinished(message_id, text) if text and message_id not in self._streamed:
                self.say(text)
            case ToolStarted(_, _, name, detail):
                self._aside(f"· {name} {detail}".rstrip())
            case ToolFinished(_, failed) if failed:
                self._aside("· that failed")
            case StepRestarted():
                self._aside("· the model did not answer; it is asked again")

    def say(self, text: str) -> None:
        self.end()
        typer.echo(text)

    def end(self) -> None:
        if self._in_line:
            typer.echo()
        self._in_line = False

    def _aside(self, text: str) -> None:
        self.end()
        typer.secho(text, dim=True)


def _ask() -> str | None:
    """A line of the person's, None at the end of the input. Waits for as long as it takes, so it has a thread to itself."""
    with suppress(ImportError):
        import readline  # noqa: F401  # importing it is what gives `input` editing and history
    try:
        return input("\n› ").strip()
    except EOFError:
        typer.echo()
        return None


def _thread_id(name: str) -> str:
    thread_id = f"terminal-{name}"
    if len(thread_id) > 64 or not all(char.isascii() and (char.isalnum() or char in "_-") for char in name):
        raise InvalidRequest(f"--thread {name}: a name is made of up to 55 letters, digits, _ and -")
    return thread_id


def _as_stream_part(part: Mapping[str, Any]) -> StreamPart:
    return StreamPart(PartId(1, 0), part["type"], tuple(part["ns"]), to_json(part["data"]))


def _tool_messages(update: Mapping[str, Any]) -> Iterator[ToolMessage]:
    for values in update.values():
        for change in values if isinstance(values, list) else [values]:
            messages = change.get("messages", ()) if isinstance(change, Mapping) else ()
            yield from (message for message in messages if isinstance(message, ToolMessage))
