"""Kills a folded agent after its tool and lets another process go on: which hooks ran, which effects are stored.

    python folded_hooks.py DIRECTORY

Two middlewares with all four node hooks, each counting itself in the state and in a log; one tool; SIGKILL either after
the tool's step is stored or in the middle of the second model call. The same list runs unfolded beside it. A third run
has a hook that jumps to the end from `before_agent`, one from `before_model` and one from `after_model`.
"""

import argparse
import asyncio
import json
import operator
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agent.folding import TURN_BEGUN, fold
from agent.savers import CheckpointConfig, open_checkpoints


class Counts(AgentState):
    counts: NotRequired[Annotated[list[str], operator.add]]


def note(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")


class Counting(AgentMiddleware):
    """Leaves its mark in the state and in the log at every hook."""

    state_schema = Counts
    foldable = True

    def __init__(self, label: str, log: Path) -> None:
        super().__init__()
        self.label = label
        self.log = log

    @property
    def name(self) -> str:
        return f"Counting{self.label}"

    def mark(self, hook: str) -> dict:
        note(self.log, f"{self.label}.{hook}")
        return {"counts": [f"{self.label}.{hook}"]}

    async def abefore_agent(self, state, runtime):
        return self.mark("before_agent")

    async def abefore_model(self, state, runtime):
        return self.mark("before_model")

    async def aafter_model(self, state, runtime):
        return self.mark("after_model")

    async def aafter_agent(self, state, runtime):
        return self.mark("after_agent")


def jumping(hook: str, log: Path) -> AgentMiddleware:
    """A counting middleware that ends the run from one of its hooks."""

    @hook_config(can_jump_to=["end"])
    async def jump(self, state, runtime):
        return {**self.mark(f"{hook} jumps"), "jump_to": "end"}

    return type("Jumping", (Counting,), {f"a{hook}": jump})("J", log)


class Model(GenericFakeChatModel):
    log: Path
    die_in: str

    def bind_tools(self, tools, **kwargs):
        return self

    async def _agenerate(self, messages, *args, **kwargs):
        note(self.log, "model")
        if messages[-1].type == "tool" and self.die_in == "model":
            os.kill(os.getpid(), signal.SIGKILL)
        return await super()._agenerate(messages, *args, **kwargs)


def build(log: Path, form, die_in: str, middlewares, *, answered: bool):
    @tool
    async def look() -> str:
        """Look."""
        note(log, "tool")
        return "seen"

    asks = [] if answered else [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])]
    model = Model(messages=iter([*asks, AIMessage("done")]), log=log, die_in=die_in)
    return create_agent(model, [look], middleware=form(middlewares))


async def run(home: Path, thread: str, form: str, die_in: str, fence: int) -> None:
    log = home / f"{thread}.log"
    forms = {"folded": fold, "unfolded": list}
    async with open_checkpoints(CheckpointConfig(), home=home, database_url=None) as store:
        await store.claim(thread, fence)
        config = {"configurable": {"thread_id": thread}, "metadata": {"run_id": "run"}}
        two = [Counting("A", log), Counting("B", log)]
        known = (
            await build(log, forms[form], "", two, answered=False)
            .copy(update={"checkpointer": store.saver()})
            .aget_state(config)
        )
        answered = any(isinstance(m, AIMessage) for m in known.values.get("messages", []))
        saver = store.saver(fence)
        if die_in == "tool":
            kill_when_stored(saver)
        graph = build(log, forms[form], die_in, two, answered=answered).copy(update={"checkpointer": saver})
        await graph.ainvoke(None if known.values else {"messages": [("user", "go")], TURN_BEGUN: False}, config)
        state = await graph.aget_state(config)
        print(json.dumps({"stored": state.values["counts"], "messages": [m.type for m in state.values["messages"]]}))


def kill_when_stored(saver) -> None:
    """Die as soon as the checkpoint after the tool is stored."""
    put = saver.aput

    async def aput(config, checkpoint, metadata, versions):
        result = await put(config, checkpoint, metadata, versions)
        if any(m.type == "tool" for m in checkpoint["channel_values"].get("messages", [])):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    saver.aput = aput


async def play(home: Path, form: str, die_in: str) -> dict:
    thread = f"{form}-{die_in}"
    for fence, deadly in ((1, die_in), (2, "none")):
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            str(home),
            "--child",
            thread,
            form,
            deadly,
            str(fence),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(child.communicate(), 60)
    log = (home / f"{thread}.log").read_text().split()
    return {
        "form": form,
        "killed in": die_in,
        **json.loads(said),
        "ran": {line: log.count(line) for line in dict.fromkeys(log)},
    }


async def play_jump(home: Path, form: str, hook: str) -> dict:
    log = home / f"{form}-{hook}.log"
    forms = {"folded": fold, "unfolded": list}
    graph = build(log, forms[form], "", [Counting("A", log), jumping(hook, log), Counting("B", log)], answered=False)
    state = await graph.ainvoke({"messages": [("user", "go")]})
    return {
        "form": form,
        "jumps from": hook,
        "stored": state["counts"],
        "messages": [m.type for m in state["messages"]],
    }


async def play_all(home: Path) -> list[dict]:
    kills = [await play(home, form, die_in) for die_in in ("tool", "model") for form in ("unfolded", "folded")]
    hooks = ("before_agent", "before_model", "after_model")
    return kills + [await play_jump(home, form, hook) for hook in hooks for form in ("unfolded", "folded")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--child", nargs=4)
    options = parser.parse_args()
    if options.child:
        thread, form, die_in, fence = options.child
        asyncio.run(run(options.home, thread, form, die_in, int(fence)))
        return
    for result in asyncio.run(play_all(options.home)):
        print(json.dumps(result))


if __name__ == "__main__":
    main()
