"""What nobody should send: it is answered or passed over, and the next message is answered as ever."""

from typing import Any

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers, until
from tests.simulators.model.script import Text
from tests.simulators.telegram.client import Person
from tests.simulators.telegram.views import Upload

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

MEGABYTE = 1_000_000
NEVER_SEEN: list[dict[str, Any]] = [
    {"something_new": {"id": 1}},
    {"message": None},
    {"message": "text"},
    {"message": {"message_id": "NaN", "chat": {"id": "x"}}},
    {"callback_query": {"id": "1"}},
    {"stopped_message_generation": {"chat": {"id": "x"}, "draft_id": []}},
    {},
]


async def test_updates_of_unknown_kinds_and_shapes_are_passed_over(house: House) -> None:
    for update in NEVER_SEEN:
        await house.telegram.inject(**update)
    await _still_answers(house, await house.telegram.person())


async def test_a_message_of_emoji_up_to_the_limit_is_answered_in_full(house: House) -> None:
    ana = await house.telegram.person()
    faces = "👩‍👩‍👧‍👦🏳️‍🌈" * 480
    await house.model.script(Text("Many faces."), match="😀")
    await house.model.script(Text(faces), match="👩")
    await ana.send("😀" * 2048)
    await house.telegram.wait_for(ana.id, lambda view: "Many faces." in answers(view), 60)
    await ana.send(faces[:2000])
    view = await house.telegram.wait_for(ana.id, lambda view: "".join(answers(view)).endswith(faces), 60)
    assert "".join(answers(view)) == f"Many faces.{faces}"
    assert (await house.model.asked())["😀" * 2048] == 1
    await _still_answers(house, ana)


async def test_files_that_are_empty_too_large_or_oddly_named(house: House) -> None:
    ana = await house.telegram.person()
    uploads = [
        Upload("empty.txt", b""),
        Upload("large.bin", b"x", declared_size=25 * MEGABYTE),
        Upload("\u200b" * 64 * 1024, b"zero width"),
        Upload("../../etc/\x00passwd\n\u202e.txt", b"elsewhere"),
        Upload("", b"nameless"),
    ]
    for number, upload in enumerate(uploads):
        await house.model.script(Text(f"file {number} noted"), match=f"take {number}")
        await ana.send(f"take {number}", files=[upload])
    await ana.send("", files=[Upload("silent.txt", b"no caption")])
    noted = {f"file {number} noted" for number in range(len(uploads))}
    chat = await house.telegram.wait_for(
        ana.id, lambda view: all(any(each in text for text in answers(view)) for each in noted), 60
    )
    (with_large,) = [text for text in answers(chat) if "file 1 noted" in text]
    assert "large.bin" in with_large
    told = "\n".join(prompt for prompt in await house.model.asked() if "take" in prompt)
    assert "larger than the 20 MB" in told
    assert len(told) < 20_000
    assert not [
        path for path in house.program.home.rglob("*") if len(path.name.encode()) > 255 or "passwd" in str(path.parent)
    ]
    await _still_answers(house, ana)


async def test_text_that_databases_and_encodings_choke_on_goes_through(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("nul\x00 and \ufffe and \u202e end"), match="odd")
    await ana.send("odd \x00\x01\u2028\ufffe text")
    await house.telegram.wait_for(ana.id, lambda view: any(text.endswith("end") for text in answers(view)), 30)
    await _still_answers(house, ana)


@pytest.mark.parametrize(
    "data", ["", "x", "c:", "c::", "c:a:-1", "c:a:99999999999999999999", "s:💥", "c:\x00:1", "s:=" + "y" * 60]
)
async def test_a_press_on_a_button_that_is_not_ours_is_answered(house: House, data: str) -> None:
    ana = await house.telegram.person()
    await ana.send("/help")
    view = await house.telegram.wait_for(ana.id, answers, 30)
    message = view.from_bot[0]
    query = f"strange-{ana.id}"
    chat = {"id": ana.id, "type": "private", "first_name": "Ana"}
    await house.telegram.inject(
        callback_query={
            "id": query, "from": {"id": ana.id, "is_bot": False, "first_name": "Ana"}, "chat_instance": "1", "data": data,
            "message": {"message_id": message.message_id, "date": 1_700_000_000, "chat": chat, "text": "x"},
        }
    )  # fmt: skip

    async def answered() -> bool:
        calls = await house.telegram.calls("answerCallbackQuery")
        return any(call["parameters"]["callback_query_id"] == query for call in calls)

    await until(answered)


async def _still_answers(house: House, person: Person) -> None:
    await house.model.script(Text(f"still here, {person.id}"), match="are you there")
    await person.send("are you there")
    await house.telegram.wait_for(person.id, lambda view: f"still here, {person.id}" in answers(view), 30)
    assert await house.model.violations() == []
