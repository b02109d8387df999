"""A closed loop of people: each writes, waits for the whole reply, and writes again. A reply that is not whole fails the bench."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from benchmarks.surroundings import Surroundings
from tests.simulators.model import Text, answer_text
from tests.simulators.telegram.client import Person

_SHOWN = {"sent", "edited", "draft"}
_KEPT = {"sent", "edited"}


class ReplyLost(Exception):
    """A person did not get the whole reply, got it twice, or the model was asked another number of times than once."""


@dataclass(frozen=True, slots=True)
class Load:
    """How many people write how many messages each, and how long and how fast the answers are (0 tokens/s: at once)."""

    chats: int
    turns: int
    tokens: int = 200
    tokens_per_second: float = 0.0
    reply_seconds: float = 120.0
    """After so long without the whole reply it counts as lost."""
    varied: bool = False
    """Answers of ever new words, which compress as badly as text can."""

    @property
    def model_seconds(self) -> float:
        """What the model itself takes for an answer."""
        return (self.tokens - 1) / self.tokens_per_second if self.tokens_per_second else 0.0


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """When, in seconds of the machine's monotonic clock, the message was there, the first text shown, and the whole reply."""

    received: float
    first_text: float
    replied: float


@dataclass(slots=True)
class _Turn:
    """A turn while somebody waits for its end."""

    reply: str
    received: float = 0.0
    first_text: float = 0.0
    replied: asyncio.Future[float] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def see(self, effect: dict[str, Any]) -> None:
        if effect["kind"] == "received":
            self.received = effect["at"]
        elif effect["kind"] in _SHOWN and effect["data"]["text"]:
            self.first_text = self.first_text or effect["at"]
        if effect["kind"] in _KEPT and effect["data"]["text"] == self.reply and not self.replied.done():
            self.replied.set_result(effect["at"])


class Crowd:
    """People in private chats with the bot. Enter it before the first load; ids never repeat, so that no reply passes for another's."""

    def __init__(self, around: Surroundings, people: Sequence[Person]) -> None:
        self._telegram = around.telegram
        self._model = around.model
        self._people = people
        self._open: dict[int, _Turn] = {}
        self._replies: dict[int, list[str]] = {person.id: [] for person in people}
        self._turns = 0

    async def run(self, load: Load) -> list[TurnTimes]:
        """The times of every turn, in no order. Raises `ReplyLost`."""
        loops = [asyncio.create_task(self._loop(person, load)) for person in self._people[: load.chats]]
        try:
            return [turn for turns in await asyncio.gather(*loops) for turn in turns]
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def _loop(self, person: Person, load: Load) -> list[TurnTimes]:
        return [await self._one_turn(person, load) for _ in range(load.turns)]

    async def _one_turn(self, person: Person, load: Load) -> TurnTimes:
        self._turns += 1
        identity = f"turn-{self._turns}"
        turn = _Turn(await self._reply_to(identity, load))
        self._open[person.id] = turn
        self._replies[person.id].append(turn.reply)
        await person.send(f"[bench id={identity} n={load.tokens} tps={load.tokens_per_second:g}] go on")
        try:
            replied = await asyncio.wait_for(turn.replied, load.reply_seconds)
        except TimeoutError:
            raise ReplyLost(await self._what_is_shown(person, turn, load)) from None
        return TurnTimes(turn.received, turn.first_text, replied)

    async def _reply_to(self, identity: str, load: Load) -> str:
        if not load.varied:
            return answer_text(identity, load.tokens)
        reply = _new_words(identity, load.tokens)
        await self._model.script(Text(reply, load.tokens_per_second), match=f"id={identity} ")
        return reply

    async def _what_is_shown(self, person: Person, turn: _Turn, load: Load) -> str:
        last = (await self._telegram.chat(person.id)).last
        return (
            f"no whole reply in {load.reply_seconds:g} s: wanted {turn.reply!r}; last shown is {last and last.text!r}"
        )

    async def watch(self) -> None:
        """Follow what becomes visible in all chats, until cancelled."""
        seen = 0
        while True:
            for effect in await self._telegram.effects(after=seen, timeout_seconds=5.0):
                seen = effect["number"]
                if turn := self._open.get(effect["chat_id"]):
                    turn.see(effect)

    async def check(self) -> None:
        """Every reply stands there whole, once, in order; every question reached the model once; no rule was broken. Raises `ReplyLost`."""
        for person in self._people:
            shown = [message.text for message in (await self._telegram.chat(person.id)).from_bot]
            replies = set(self._replies[person.id])
            if [text for text in shown if text in replies] != self._replies[person.id]:
                raise ReplyLost(f"the chat with {person.id} does not show every reply once and in order: {shown}")
        questions = Counter(await self._model.asked())
        if len(questions) != self._turns or set(questions.values()) - {1}:
            raise ReplyLost(f"{self._turns} questions reached the model as {questions.total()} calls")
        if broken := [*await self._telegram.violations(), *await self._model.violations()]:
            raise ReplyLost(f"the program broke a rule of the platform or the provider: {broken[0]}")


@asynccontextmanager
async def crowd(around: Surroundings, size: int) -> AsyncIterator[Crowd]:
    """So many people, watched; what they got is checked when the block ends well."""
    people = [await around.telegram.person(f"Person {number}") for number in range(1, size + 1)]
    gathered = Crowd(around, people)
    watching = asyncio.create_task(gathered.watch(), name="watch")
    try:
        yield gathered
        await gathered.check()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _new_words(identity: str, tokens: int) -> str:
    """Words of letters drawn by lot, the same for the same id; it begins with the id and ends with END."""
    lots = random.Random(identity)
    words = ("".join(lots.choices(ascii_lowercase, k=lots.randint(2, 8))) for _ in range(tokens - 2))
    return f"{identity} {' '.join(words)} END"


def now() -> float:
    """The clock of `TurnTimes`."""
    return time.monotonic()
