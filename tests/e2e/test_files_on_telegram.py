"""What is dropped into a chat, spoken, or too much for a message: it reaches the agent, and what the agent makes comes back."""

from pathlib import Path
from typing import Any

import pytest

from channels.shared.overflow import BELOW
from tests.e2e.ears import RECORDING, Ears
from tests.e2e.evidence import rows
from tests.e2e.house import House
from tests.e2e.reading import answers
from tests.simulators.model.script import Text, ToolCall
from tests.simulators.telegram.client import Person
from tests.simulators.telegram.views import ChatView, MessageView, Upload

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

UPLOADS = "/mnt/user-data/uploads"
OUTPUTS = "/mnt/user-data/outputs"
MOST_MESSAGES = 5  # `max_messages` where nothing else is configured


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"transcription": {"enabled": True, "use": f"{Ears.__module__}:{Ears.__name__}", "language": "en"}}


async def test_a_file_dropped_without_a_word_is_read_and_what_the_agent_makes_of_it_comes_back(house: House) -> None:
    ana = await house.telegram.person()
    made = "city;units\nOslo;3\n"
    await house.model.script(
        ToolCall("read_file", {"path": f"{UPLOADS}/sales.csv"}),
        ToolCall("write_file", {"path": f"{OUTPUTS}/sales_eu.csv", "content": made}),
        match="sales.csv",
    )
    await house.model.script(ToolCall("present_files", {"filepaths": [f"{OUTPUTS}/sales_eu.csv"]}), match="sales.csv")
    await house.model.script(Text("Converted."), match="sales.csv")
    await ana.send(files=[Upload("sales.csv", b"city,units\nOslo,3\n", mime_type="text/csv")])
    chat = await house.telegram.wait_for(ana.id, lambda view: "Converted." in answers(view) and _files(view), 30)
    (sent,) = _files(chat)
    assert await _content(house, sent) == made.encode()
    assert "Oslo,3" in await _tool_results(house, "sales.csv")
    await house.assert_within_the_rules()


async def test_an_album_is_one_turn_in_which_files_of_the_same_name_all_survive(house: House) -> None:
    ana = await house.telegram.person()
    names = ("notes.txt", "notes_1.txt")
    await house.model.script(*(ToolCall("read_file", {"path": f"{UPLOADS}/{name}"}) for name in names), match="compare")
    await house.model.script(Text("They differ."), match="compare")
    album = [Upload("notes.txt", b"the first says alpha"), Upload("notes.txt", b"the second says beta")]
    await ana.send("compare these", files=album, media_group=True)
    chat = await house.telegram.wait_for(ana.id, lambda view: "They differ." in answers(view), 30)
    assert answers(chat) == ["They differ."]
    read = await _tool_results(house, "compare")
    assert "alpha" in read
    assert "beta" in read
    assert _runs_of(house, ana) == 1
    await house.assert_within_the_rules()


async def test_a_file_too_large_to_come_is_told_with_words_and_the_turn_goes_on(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("I have the small one."), match="both of them")
    small, large = Upload("small.txt", b"small"), Upload("large.bin", b"x", declared_size=25_000_000)
    await ana.send("both of them", files=[small, large], media_group=True)
    chat = await house.telegram.wait_for(
        ana.id, lambda view: any("I have the small one." in text for text in answers(view)), 30
    )
    (told,) = answers(chat)
    assert "'large.bin' did not come: it is larger than the 20 MB" in told
    (prompt,) = [prompt for prompt in await house.model.asked() if "both of them" in prompt]
    assert "'large.bin' did not come" in prompt
    assert f"{UPLOADS}/small.txt" in prompt
    await house.assert_within_the_rules()


async def test_a_file_too_large_to_go_is_told_with_words(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("In black and white?"), match="a film of rain")
    await ana.send("make a film of rain", files=[Upload("rain.txt", b"drops")])
    await house.telegram.wait_for(ana.id, lambda view: "In black and white?" in answers(view), 30)
    _write_sparsely(next(house.program.home.rglob("rain.txt")).parents[1] / "outputs" / "film.mp4", 51_000_000)
    await house.model.script(ToolCall("present_files", {"filepaths": [f"{OUTPUTS}/film.mp4"]}), match="in colour")
    await house.model.script(Text("Here it is."), match="in colour")
    await ana.send("in colour")
    chat = await house.telegram.wait_for(ana.id, lambda view: any("Here it is." in text for text in answers(view)), 30)
    assert "film.mp4: too large to send (51 MB; Telegram takes 50 MB)" in "\n".join(answers(chat))
    assert _files(chat) == []
    await house.assert_within_the_rules()


async def test_what_is_spoken_becomes_the_turn_and_stands_in_the_transcript(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("Milk it is."), match="BUY MILK")
    await ana.send(files=[Upload("voice.ogg", RECORDING + b"buy milk", kind="voice", mime_type="audio/ogg")])
    chat = await house.telegram.wait_for(ana.id, lambda view: "Milk it is." in answers(view), 30)
    assert answers(chat) == ["Milk it is."]
    assert "BUY MILK" in str(rows(house.program, "SELECT body FROM transcript WHERE kind = 'person'"))
    await house.assert_within_the_rules()


async def test_of_an_answer_beyond_the_most_messages_they_and_the_file_hold_every_byte(house: House) -> None:
    ana = await house.telegram.person()
    paragraphs = [f"Paragraph {number}: " + "naïve café 日本語 🙂 words " * 12 + "end." for number in range(130)]
    whole = "\n\n".join(paragraphs)
    await house.model.script(Text(whole, 20_000), match="a treatise")
    await ana.send("write a treatise")
    chat = await house.telegram.wait_for(ana.id, _files, 60)
    (document,) = _files(chat)
    assert document.file is not None
    assert document.file["name"] == "answer.md"
    assert await _content(house, document) == whole.encode()
    *first, last = [message.text for message in chat.from_bot if not message.file]
    assert len(first) + 1 == MOST_MESSAGES
    beginning = "\n\n".join([*first, last.removesuffix(BELOW).rstrip()])
    assert last.endswith(BELOW)
    assert whole.startswith(beginning)
    assert len(beginning) > 4 * 3_000
    await house.assert_within_the_rules()


def _files(view: ChatView) -> list[MessageView]:
    return [message for message in view.from_bot if message.file]


async def _content(house: House, message: MessageView) -> bytes:
    assert message.file is not None
    return await house.telegram.file(message.file["file_id"])


async def _tool_results(house: House, words: str) -> str:
    """What the tools gave the agent in the turn in which the person said this."""
    bodies = [request["body"]["messages"] for request in await house.model.requests() if words in request["prompt"]]
    return str([message for message in bodies[-1] if message["role"] == "tool"])


def _runs_of(house: House, person: Person) -> int:
    found = rows(house.program, "SELECT r.run_id, c.key FROM runs r JOIN conversations c ON c.thread_id = r.thread_id")
    return sum(key.endswith(f":{person.id}:") for _, key in found)


def _write_sparsely(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
