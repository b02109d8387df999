"""Kills and stalls a run between a checkpoint and its pending writes, lets a second process go on, and reports.

    python fenced_saver.py PATH_OF_A_DIRECTORY | postgresql://…

Each scenario is two real processes. The first runs a model call and then two tools side by side and is hit by a signal
at a chosen write; the second claims the thread with a higher fence and goes on from what is stored.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from agent.errors import LeaseLost
from agent.savers import CheckpointConfig, open_checkpoints

LIMIT_SECONDS = 150


@dataclass(frozen=True)
class Scenario:
    name: str
    point: str
    """checkpoint: before the checkpoint after the model is stored; writes: before the first pending write of the
    tools; slow_writes: after the writes of the fast tool, before those of the slow one."""
    signal: signal.Signals


SCENARIOS = [
    Scenario(f"{name} {point}", point, number)
    for name, number in (("killed", signal.SIGKILL), ("stalled", signal.SIGSTOP))
    for point in ("checkpoint", "writes", "slow_writes")
]


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


def build_graph(log: Path):
    """Two tools side by side, then the answer; every execution leaves a line in the log."""

    @tool
    async def fast() -> str:
        """Fast."""
        note(log, "fast")
        return "fast result"

    @tool
    async def slow() -> str:
        """Slow."""
        note(log, "slow")
        await asyncio.sleep(0.3)
        return "slow result"

    asks = [{"name": name, "args": {}, "id": f"call-{name}"} for name in ("fast", "slow")]
    return create_agent(Model(messages=SecondAnswer(asks)), [fast, slow])


class SecondAnswer:
    """Asks for the tools first and answers after; a process that goes on after the tools begins with the answer."""

    def __init__(self, asks):
        self.asks = asks

    def __iter__(self):
        return self

    def __next__(self):
        asks, self.asks = self.asks, None
        return AIMessage("", tool_calls=asks) if asks else AIMessage("done")


def note(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")


async def run(place: str, thread: str, fence: int, log: Path, point: str | None, number: int) -> None:
    """One process: claim, run, and say how it ended."""
    async with open_place(place) as store:
        await store.claim(thread, fence)
        config = {"configurable": {"thread_id": thread}, "metadata": {"run_id": "run-1"}}
        reader = build_graph(log).copy(update={"checkpointer": store.saver()})
        known = await reader.aget_state(config)
        started = bool(known.values)
        graph = build_graph(log)
        if any(isinstance(m, AIMessage) for m in known.values.get("messages", [])):
            graph = create_agent(
                Model(messages=iter([AIMessage("done")])), list(graph.nodes["tools"].bound.tools_by_name.values())
            )
        saver = store.saver(fence)
        if point:
            strike(saver, point, number, log)
        graph = graph.copy(update={"checkpointer": saver})
        note(log, f"begin {fence}")
        try:
            await graph.ainvoke(None if started else {"messages": [("user", "go")]}, config, durability="async")
        except LeaseLost:
            print(json.dumps({"ended": "lease lost"}), flush=True)
            return
        print(json.dumps({"ended": "finished"}), flush=True)


def open_place(place: str):
    url = place if place.startswith("postgresql") else None
    return open_checkpoints(CheckpointConfig(), home=Path(place), database_url=url)


async def look(place: str, thread: str) -> dict:
    """Say what is stored of a thread."""
    async with open_place(place) as store:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        found = [each async for each in store.saver().alist(config)]
        return {"messages": [told(m) for m in found[0].checkpoint["channel_values"]["messages"]], "kept": len(found)}


def told(message) -> str:
    return message.tool_call_id if isinstance(message, ToolMessage) else message.type


def strike(saver, point: str, number: int, log: Path) -> None:
    """Send this process the signal at the chosen write."""
    put, put_writes = saver.aput, saver.aput_writes
    struck = False

    def hit():
        nonlocal struck
        if not struck:
            struck = True
            note(log, "struck")
            os.kill(os.getpid(), number)

    async def aput(config, checkpoint, metadata, versions):
        if point == "checkpoint" and any(
            isinstance(m, AIMessage) for m in checkpoint["channel_values"].get("messages", [])
        ):
            hit()
        return await put(config, checkpoint, metadata, versions)

    async def aput_writes(config, writes, task_id, task_path=""):
        results = [
            m.tool_call_id
            for channel, value in writes
            if channel == "messages"
            for m in value
            if isinstance(m, ToolMessage)
        ]
        if (point == "writes" and results) or (point == "slow_writes" and "call-slow" in results):
            hit()
        return await put_writes(config, writes, task_id, task_path)

    saver.aput, saver.aput_writes = aput, aput_writes


async def spawn(place: str, thread: str, fence: int, log: Path, *strike_at: str) -> asyncio.subprocess.Process:
    arguments = [__file__, place, "--child", thread, str(fence), str(log), *strike_at]
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)


async def play(place: str, scenario: Scenario, logs: Path) -> dict:
    """Play one scenario; give what each process said and how often each tool ran."""
    thread = uuid.uuid4().hex
    log = logs / thread
    log.touch()
    first = await spawn(place, thread, 1, log, scenario.point, str(int(scenario.signal)))
    try:
        while "struck" not in log.read_text():  # noqa: ASYNC110  the other process can only leave a line
            await asyncio.sleep(0.02)
        second = await spawn(place, thread, 2, log)
        said, _ = await asyncio.wait_for(second.communicate(), LIMIT_SECONDS)
        stored = await look(place, thread)
        if scenario.signal is signal.SIGSTOP:
            first.send_signal(signal.SIGCONT)
        stalled, _ = await asyncio.wait_for(first.communicate(), LIMIT_SECONDS)
    finally:
        if first.returncode is None:
            first.kill()
            await first.wait()
    lines = log.read_text().split("\n")
    return {
        "scenario": scenario.name,
        "second": json.loads(said),
        "stored": stored,
        "first": json.loads(stalled) if stalled else None,
        "afterwards": await look(place, thread),
        "fast_ran": lines.count("fast"),
        "slow_ran": lines.count("slow"),
    }


async def play_all(place: str, logs: Path) -> list[dict]:
    return [await play(place, scenario, logs) for scenario in SCENARIOS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place")
    parser.add_argument("--child", nargs="+")
    options = parser.parse_args()
    if options.child:
        thread, fence, log, *strike_at = options.child
        point, number = (strike_at[0], int(strike_at[1])) if strike_at else (None, 0)
        asyncio.run(run(options.place, thread, int(fence), Path(log), point, number))
        return
    logs = (
        Path("/tmp") / f"fenced-saver-{os.getpid()}" if options.place.startswith("postgresql") else Path(options.place)
    )
    logs.mkdir(parents=True, exist_ok=True)
    for result in asyncio.run(play_all(options.place, logs)):
        print(json.dumps(result))


if __name__ == "__main__":
    main()
