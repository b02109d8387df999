"""`python -m benchmarks.long_answer`: one answer that takes very long is there in the end, every byte of it once and in order."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import ChildFailed
from benchmarks.load import ReplyLost
from benchmarks.surroundings import Surroundings, surroundings
from benchmarks.targets import OWN_MODEL_AT_USUAL_PACE, Running
from channels.shared.overflow import BELOW
from tests.simulators.model import Text, answer_text
from tests.simulators.telegram.client import TelegramSimulator
from tests.simulators.telegram.views import ChatView

_QUESTION = "Take your time."
_LOOK_EVERY_SECONDS = 1.0
_PATIENCE_SECONDS = 120.0
_SETTLE_SECONDS = 2.0
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Figures:
    """What the answer took."""

    minutes: float
    messages: int
    drafts: int
    edits: int
    cpu_seconds: float
    resident_bytes_before: int
    resident_bytes_after: int


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0, or 1 when anything was lost or the program failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.long_answer", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="that the model takes (%(default)s)")
    parser.add_argument("--tokens", type=int, default=3000, help="of the answer (%(default)s)")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="threadbridge-long-") as folder:
            figures = asyncio.run(long_answer(given.minutes * 60, given.tokens, Path(folder)))
    except (ReplyLost, ChildFailed) as failure:
        print(f"the long answer failed: {failure}", file=sys.stderr)
        return 1
    print(*rows(figures), sep="\n")
    return 0


async def long_answer(seconds: float, tokens: int, folder: Path) -> Figures:
    """One answer of so many tokens in so many seconds, at Telegram's usual pace. Raises `ReplyLost`, `ChildFailed`."""
    async with surroundings(folder, limits=True) as around:
        running = await OWN_MODEL_AT_USUAL_PACE.start(around)
        try:
            return await _figures(running, around, answer_text("long", tokens), tokens / seconds)
        finally:
            await running.child.stop()


async def _figures(running: Running, around: Surroundings, answer: str, tokens_per_second: float) -> Figures:
    person = await around.telegram.person()
    await around.model.script(Text(answer, tokens_per_second), match=_QUESTION)
    cpu, memory, began = running.child.cpu_seconds(), running.child.resident_bytes(), time.monotonic()
    await person.send(_QUESTION)
    deadline = began + len(answer.split()) / tokens_per_second + _PATIENCE_SECONDS
    while problem := await lost(around.telegram, person.id, answer):
        running.child.check()
        if time.monotonic() > deadline:
            raise ReplyLost(problem)
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
    took = time.monotonic() - began
    await asyncio.sleep(_SETTLE_SECONDS)
    await _check(around, person.id, answer)
    calls = Counter(call["method"] for call in await around.telegram.calls())
    return Figures(
        minutes=took / 60,
        messages=len((await around.telegram.chat(person.id)).from_bot),
        drafts=calls["sendMessageDraft"],
        edits=calls["editMessageText"],
        cpu_seconds=running.child.cpu_seconds() - cpu,
        resident_bytes_before=memory,
        resident_bytes_after=running.child.resident_bytes(),
    )


async def _check(around: Surroundings, chat: int, answer: str) -> None:
    """It still stands there, the model was asked once, and no rule was broken. Raises `ReplyLost`."""
    if problem := await lost(around.telegram, chat, answer):
        raise ReplyLost(problem)
    if (asked := await around.model.asked()) != {_QUESTION: 1}:
        raise ReplyLost(f"one question reached the model as {asked}")
    if broken := [*await around.telegram.violations(), *await around.model.violations()]:
        raise ReplyLost(f"the program broke a rule of the platform or the provider: {broken[0]}")


async def lost(telegram: TelegramSimulator, chat: int, answer: str) -> str | None:
    """What the chat lacks of the answer, has twice or elsewhere; None where its messages, or a file, are all of it."""
    view = await telegram.chat(chat)
    for message in view.from_bot:
        if message.file and await telegram.file(message.file["file_id"]) != answer.encode():
            return f"{message.file['name']} is not the answer"
    return misfit(answer, _texts(view), is_all=not any(message.file for message in view.from_bot))


def misfit(answer: str, texts: Sequence[str], *, is_all: bool) -> str | None:
    """Where the texts, one after the other, are not the answer (`is_all`) or its beginning; a cut may take the blanks around it."""
    at = 0
    for text in texts:
        at = len(answer) - len(answer[at:].lstrip())
        if not answer.startswith(text, at):
            return f"behind {answer[:at][-40:]!r} stands {text[:80]!r}"
        at += len(text)
    if is_all and answer[at:].strip():
        return f"only {at} of {len(answer)} characters are there"
    return None if texts else "nothing is there"


def _texts(view: ChatView) -> list[str]:
    return [message.text.removesuffix(BELOW).rstrip() for message in view.from_bot if not message.file]


def rows(figures: Figures) -> list[str]:
    """A table of one row."""
    memory = f"{figures.resident_bytes_before / _MIB:.1f} | {figures.resident_bytes_after / _MIB:.1f}"
    return [
        "| minutes | messages | drafts | edits | CPU, s | memory before, MiB | after, MiB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| {figures.minutes:.1f} | {figures.messages} | {figures.drafts} | {figures.edits} "
        f"| {figures.cpu_seconds:.1f} | {memory} |",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
