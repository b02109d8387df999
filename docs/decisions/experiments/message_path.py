"""CPU per turn of the message path's skeleton beside the floors, and of one sendMessage by each HTTP client.

python docs/decisions/experiments/message_path.py turns --chats 8 --turns 12 --rounds 3
python docs/decisions/experiments/message_path.py requests
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import resource
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson
import telegram
from aiohttp_request import AiohttpRequest
from telegram.request import BaseRequest, HTTPXRequest

from tests.simulators.model import ModelSimulator, answer_text
from tests.simulators.telegram import Person, TelegramSimulator

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
FLOOR = str(REPOSITORY / "benchmarks" / "floor_bot.py")
SKELETON = str(HERE / "message_path_skeleton.py")
TICKS = os.sysconf("SC_CLK_TCK")
TOKENS = 200


@dataclass(frozen=True)
class Target:
    name: str
    program: str
    settings: dict[str, str] = field(default_factory=dict)


def skeleton(model: str, http: str, saver: str, loop: str = "asyncio") -> Target:
    settings = {"MODEL_CLASS": model, "TELEGRAM_HTTP": http, "SAVER": saver, "LOOP": loop}
    return Target(f"skeleton {model} {http} {saver} {loop}", SKELETON, settings)


TARGETS = [
    Target("floor bare", FLOOR, {"FLOOR_MODE": "bare"}),
    Target("floor langgraph", FLOOR, {"FLOOR_MODE": "langgraph"}),
    Target("floor sqlite", FLOOR, {"FLOOR_MODE": "sqlite"}),
    skeleton("openai", "httpx", "sqlite"),
    skeleton("openai", "aiohttp", "sqlite"),
    skeleton("lean", "httpx", "sqlite"),
    skeleton("lean", "aiohttp", "memory"),
    skeleton("lean", "aiohttp", "sqlite"),
    skeleton("lean", "aiohttp", "sqlite", "uvloop"),
]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Watcher:
    """Follows what becomes visible and wakes who waits for a chat's final text."""

    def __init__(self, simulator: TelegramSimulator) -> None:
        self._simulator = simulator
        self._waiting: dict[int, tuple[str, asyncio.Future[float]]] = {}

    async def follow(self) -> None:
        seen = 0
        while True:
            for effect in await self._simulator.effects(after=seen, timeout_seconds=5):
                seen = effect["number"]
                text, final = self._waiting.get(effect["chat_id"], ("", None))
                if final and effect["kind"] in {"sent", "edited"} and effect["data"]["text"] == text:
                    del self._waiting[effect["chat_id"]]
                    final.set_result(effect["at"])

    async def final_text(self, chat: int, text: str) -> float:
        final: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[chat] = (text, final)
        return await asyncio.wait_for(final, 180)


async def turn(person: Person, watcher: Watcher, identity: str, pace: float) -> float:
    """Ask and see the whole answer; the seconds from the message to the final text."""
    final = asyncio.create_task(watcher.final_text(person.id, answer_text(identity, TOKENS)))
    began = time.monotonic()
    await person.send(f"[bench id={identity} n={TOKENS} tps={pace} ttft=0 tool=none]")
    return await final - began


async def talk(person: Person, watcher: Watcher, turns: int, pace: float) -> list[float]:
    return [await turn(person, watcher, f"t{number}", pace) for number in range(turns)]


@contextlib.asynccontextmanager
async def running(target: Target, telegram_url: str, model_url: str, home: str) -> AsyncIterator[int]:
    settings = {
        "TELEGRAM_BASE": telegram_url, "MODEL_BASE": model_url, "HOME_DIR": home, "FLOOR_DB": f"{home}/floor.db",
        "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", **target.settings,
    }  # fmt: skip
    child = await asyncio.create_subprocess_exec(sys.executable, target.program, env={**os.environ, **settings})
    try:
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        await child.wait()


async def measure(target: Target, chats: int, turns: int, pace: float) -> tuple[float, float]:
    """CPU milliseconds per turn, and the median seconds to the final text."""
    with tempfile.TemporaryDirectory() as home:
        async with TelegramSimulator(limits=False) as simulator, ModelSimulator() as model:
            watcher = Watcher(simulator)
            following = asyncio.create_task(watcher.follow())
            people = [await simulator.person(f"P{number}") for number in range(chats)]
            async with running(target, simulator.base_url, model.base_url, home) as pid:
                await asyncio.gather(*(turn(person, watcher, f"w{person.id}", 0) for person in people))
                before = cpu_seconds(pid)
                talks = await asyncio.gather(*(talk(person, watcher, turns, pace) for person in people))
                spent = cpu_seconds(pid) - before
            following.cancel()
            assert await simulator.violations() == []
            seconds = statistics.median(itertools.chain.from_iterable(talks))
            return spent / (chats * turns) * 1000, seconds


async def compare_turns(chats: int, turns: int, rounds: int, pace: float, only: str) -> None:
    targets = [target for target in TARGETS if only in target.name]
    results: dict[str, list[tuple[float, float]]] = {target.name: [] for target in targets}
    for _ in range(rounds):
        for target in targets:
            results[target.name].append(await measure(target, chats, turns, pace))
            spent, seconds = results[target.name][-1]
            print(f"{target.name:40} {spent:7.1f} CPU-ms per turn, median {seconds:.3f} s", flush=True)
    print(f"\nmedians of {rounds}, {chats} chats x {turns} turns, {pace} tokens/s:")
    for name, measured in results.items():
        spent = statistics.median(one[0] for one in measured)
        spread = (min(one[0] for one in measured), max(one[0] for one in measured))
        print(
            f"| {name} | {spent:.1f} | {spread[0]:.1f}-{spread[1]:.1f} | {statistics.median(o[1] for o in measured):.3f} |"
        )


def own_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def request_cost(origin: str, chat: int, request: BaseRequest, number: int) -> float:
    """CPU milliseconds of one sendMessage through python-telegram-bot, eight at a time."""
    bot = telegram.Bot("4242:TEST", base_url=f"{origin}/bot", request=request)
    async with bot:
        await asyncio.gather(*(bot.send_message(chat, "warm") for _ in range(8)))
        before = own_cpu_seconds()
        for _ in range(number // 8):
            await asyncio.gather(*(bot.send_message(chat, "x" * 400) for _ in range(8)))
        return (own_cpu_seconds() - before) / number * 1000


async def bare_cost(origin: str, chat: int, number: int) -> float:
    """The same without python-telegram-bot: aiohttp, JSON, orjson."""

    async def send(text: str) -> None:
        body = {"chat_id": chat, "text": text}
        async with session.post(f"{origin}/bot4242:TEST/sendMessage", json=body) as reply:
            orjson.loads(await reply.read())

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(send("warm") for _ in range(8)))
        before = own_cpu_seconds()
        for _ in range(number // 8):
            await asyncio.gather(*(send("x" * 400) for _ in range(8)))
        return (own_cpu_seconds() - before) / number * 1000


async def compare_requests(number: int, rounds: int) -> None:
    async with TelegramSimulator(limits=False) as simulator:
        chat = (await simulator.person()).id
        for _ in range(rounds):
            httpx_cost = await request_cost(
                simulator.base_url, chat, HTTPXRequest(connection_pool_size=256, pool_timeout=60), number
            )
            aiohttp_cost = await request_cost(simulator.base_url, chat, AiohttpRequest(), number)
            bare = await bare_cost(simulator.base_url, chat, number)
            print(f"PTB httpx {httpx_cost:.2f}  PTB aiohttp {aiohttp_cost:.2f}  bare aiohttp {bare:.2f} CPU-ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU per turn and per request on the message path.")
    parser.add_argument("what", choices=["turns", "requests"])
    parser.add_argument("--chats", type=int, default=8)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pace", type=float, default=0, help="tokens per second, 0 for unpaced")
    parser.add_argument("--only", default="", help="targets whose name contains this")
    parser.add_argument("--loop", choices=["asyncio", "uvloop"], default="asyncio", help="for `requests`")
    arguments = parser.parse_args()
    if arguments.what == "turns":
        work = compare_turns(arguments.chats, arguments.turns, arguments.rounds, arguments.pace, arguments.only)
    else:
        work = compare_requests(1600, arguments.rounds)
    if arguments.loop == "uvloop":
        import uvloop

        uvloop.run(work)
    else:
        asyncio.run(work)


if __name__ == "__main__":
    main()
