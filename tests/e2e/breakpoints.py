"""Places in the program at which a test has it killed: `KILL_AT=<name>` in the environment."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import ToolMessage

from agent.sandbox.local import LocalSandbox
from agent.savers.postgres import PostgresSaver
from agent.savers.sqlite import SqliteSaver
from bridge.delivery.delivery import Delivery
from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import Dispatcher
from bridge.inbox.intake import Intake
from bridge.runs.attempt import Attempt
from bridge.runs.observer import Observer
from bridge.runs.queue import EmbeddedRunQueue
from bridge.runs.stream import LiveStream
from channels.telegram.adapter import TelegramChannel

Async = Callable[..., Awaitable[Any]]


def arm(name: str) -> None:
    """Have the process die at this place."""
    PLACES[name](lambda: os.kill(os.getpid(), signal.SIGKILL))


def _before(owner: type, method: str, when: Callable[..., bool] = lambda *_, **__: True) -> Callable[..., None]:
    """Die on entry."""

    def install(die: Callable[[], None]) -> None:
        original = getattr(owner, method)

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            if when(self, *args, **kwargs):
                die()
            return original(self, *args, **kwargs)

        setattr(owner, method, watched)

    return install


def _after(owner: type, method: str, when: Callable[[Any], bool] = lambda _: True) -> Callable[..., None]:
    """Die when the method's result is known and before its caller learns it."""

    def install(die: Callable[[], None]) -> None:
        original: Async = getattr(owner, method)

        async def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = await original(self, *args, **kwargs)
            if when(result):
                die()
            return result

        setattr(owner, method, watched)

    return install


def _after_tools_wrote(*savers: type) -> Callable[[Callable[[], None]], None]:
    """Die when the tools' results are stored and the checkpoint of their step is not."""

    def install(die: Callable[[], None]) -> None:
        for saver in savers:
            _after_writes_of_tools(saver, die)

    return install


def _after_writes_of_tools(saver: Any, die: Callable[[], None]) -> None:
    put, put_writes, seen = saver.aput, saver.aput_writes, asyncio.Event()

    async def watched(self: Any, config: Any, writes: Any, *rest: Any, **named: Any) -> Any:
        if any(isinstance(message, ToolMessage) for _, value in writes for message in _messages(value)):
            seen.set()
            await put_writes(self, config, writes, *rest, **named)
            die()
        return await put_writes(self, config, writes, *rest, **named)

    async def held_back(self: Any, *args: Any, **named: Any) -> Any:
        if seen.is_set():
            await asyncio.Event().wait()
        return await put(self, *args, **named)

    saver.aput, saver.aput_writes = held_back, watched


def _messages(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text_part(number: int) -> Callable[..., bool]:
    seen = {"parts": 0}

    def when(_self: Any, part: Any) -> bool:
        seen["parts"] += part.mode == "messages"
        return bool(seen["parts"] == number and part.mode == "messages")

    return when


def _update_of(node: str) -> Callable[..., bool]:
    return lambda _self, mode, namespace, data: mode == "updates" and not namespace and node in data


def _is_final(_self: Any, _target: Any, reply: Any, _receipt: Any) -> bool:
    return bool(reply.is_final)


PLACES: dict[str, Callable[[Callable[[], None]], None]] = {
    "before-store": _before(Intake, "submit"),
    "stored": _after(Intake, "submit"),
    "decided": _after(Dispatcher, "decide_next", lambda result: isinstance(result, Effects)),
    "claimed": _before(EmbeddedRunQueue, "_begin"),
    "first-token": _before(LiveStream, "_publish", _text_part(1)),
    "mid-text": _before(LiveStream, "_publish", _text_part(3)),
    "tool-running": _before(LocalSandbox, "write"),
    "tool-finished": _before(LiveStream, "emit", _update_of("tools")),
    "tool-stored": _after_tools_wrote(SqliteSaver, PostgresSaver),
    "question-stored": _after(Observer, "_store"),
    "before-end": _before(Attempt, "_commit"),
    "ended": _after(Attempt, "finish"),
    "before-final-send": _before(TelegramChannel, "deliver", _is_final),
    "final-sent": _after(Delivery, "_show_last"),
    "delivered": _after(Delivery, "_finish"),
}
