"""Writing a message with files in headless Chromium: nothing is sent by halves, and nothing ends in silence."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, expect

from channels.contract import MessageReceived, Text
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say
from tests.channels.web.house import MemoryHouse, Turn

pytestmark = NEEDS_BROWSER

HINT = "#composer-hint"
QUEUED = "Will be sent when the upload is done"


async def choose(page: Page, *names: str) -> None:
    files: list[Any] = [{"name": name, "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"} for name in names]
    await page.set_input_files("#file-input", files)


async def sent(house: MemoryHouse, count: int = 1) -> list[tuple[str, list[str]]]:
    """The text and the files of the messages, when there are so many."""
    await asyncio.wait_for(house.wait_for(lambda _: len(messages(house)) >= count), 5)
    return messages(house)


def messages(house: MemoryHouse) -> list[tuple[str, list[str]]]:
    return [
        (event.text, [file.name for file in event.files])
        for event in house.events
        if isinstance(event, MessageReceived)
    ]


def only_503(complaints: list[str]) -> None:
    assert all("503" in complaint for complaint in complaints), complaints
    complaints.clear()


async def test_enter_during_an_upload_sends_by_itself_when_the_last_file_is_there(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    house.slow = {"a.csv": asyncio.Event(), "b.csv": asyncio.Event()}
    page = await open_page()
    await choose(page, "a.csv", "b.csv")
    await say(page, "What is in them?")
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    await expect(page.get_by_role("button", name="Waiting for the upload")).to_be_visible()
    house.slow["a.csv"].set()
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(1)
    assert messages(house) == []
    house.slow["b.csv"].set()
    assert await sent(house) == [("What is in them?", ["a.csv", "b.csv"])]
    await expect(page.locator(".message .file-name")).to_have_text(["a.csv", "b.csv"])
    await expect(page.locator(".attachment")).to_have_count(0)
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


@pytest.mark.parametrize("way", ["Enter", "Escape", "button", "writing on", "another file"])
async def test_a_waiting_message_is_taken_back(house: MemoryHouse, open_page: OpenPage, way: str) -> None:
    house.slow = {"a.csv": asyncio.Event()}
    page = await open_page()
    await choose(page, "a.csv")
    await say(page, "hello")
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    if way == "button":
        await page.get_by_role("button", name="Waiting for the upload").click()
    elif way == "another file":
        await choose(page, "b.csv")
    else:
        await page.keyboard.press("x" if way == "writing on" else way)
    await expect(page.locator(HINT)).to_have_text("Uploading…")
    house.slow["a.csv"].set()
    await expect(page.locator(".attachment[data-state=uploading]")).to_have_count(0)
    await expect(page.locator(HINT)).to_contain_text("Enter sends")
    assert messages(house) == []
    await page.get_by_role("button", name="Send").click()
    assert len(await sent(house)) == 1


async def test_a_key_held_down_and_a_double_click_are_one_press(house: MemoryHouse, open_page: OpenPage) -> None:
    house.slow = {"a.csv": asyncio.Event()}
    page = await open_page()
    await choose(page, "a.csv")
    await page.get_by_label("Message", exact=True).fill("hello")
    for _ in range(4):
        await page.keyboard.down("Enter")
    await page.keyboard.up("Enter")
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    house.slow["a.csv"].set()
    assert await sent(house) == [("hello", ["a.csv"])]


async def test_a_failed_upload_holds_the_message_and_says_what_to_do(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    house.slow, house.failing = {"a.csv": asyncio.Event()}, {"a.csv"}
    page = await open_page()
    await choose(page, "a.csv", "b.csv")
    await say(page, "hello")
    house.slow["a.csv"].set()
    await expect(page.locator(HINT)).to_have_text("A file was not uploaded: try again, or remove it")
    await expect(page.locator("#announcer")).to_contain_text("Not sent.")
    await page.get_by_label("Message", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".attachment[data-state=failed]")).to_contain_text("The bridge is busy")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("hello")
    assert messages(house) == []
    house.failing.clear()
    await page.get_by_role("button", name="Try again: a.csv").click()
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(2)
    await page.get_by_role("button", name="Send").click()
    assert await sent(house) == [("hello", ["a.csv", "b.csv"])]
    only_503(complaints)


async def test_a_file_that_can_never_come_is_only_removed(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    house.upload_limit_bytes = 3
    page = await open_page()
    await choose(page, "large.csv")
    await say(page, "hello")
    await expect(page.locator(HINT)).to_have_text("A file was not uploaded: remove it to send the message")
    await expect(page.get_by_role("button", name="Try again: large.csv")).to_be_hidden()
    await page.get_by_role("button", name="Remove: large.csv").click()
    await page.get_by_role("button", name="Send").click()
    assert await sent(house) == [("hello", [])]
    assert ["413" in complaint for complaint in complaints] == [True]
    complaints.clear()


async def test_a_file_belongs_to_the_message_from_the_moment_it_was_chosen(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    house.slow = {"open_conversation": asyncio.Event()}
    page = await open_page()
    await choose(page, "a.csv")
    await expect(page.locator(".attachment[data-state=uploading]")).to_have_count(1)
    await say(page, "hello")
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    house.slow["open_conversation"].set()
    assert await sent(house) == [("hello", ["a.csv"])]


async def test_a_file_stays_in_the_conversation_it_was_chosen_in_and_its_message_goes_out_there(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(Text("m", f"about {turn.text}"))

    house.agent = agent
    page = await open_page()
    await say(page, "cats")
    await expect(page.locator(".prose")).to_have_text("about cats")
    await page.get_by_role("button", name="New conversation").click()
    house.slow = {"open_conversation": asyncio.Event(), "dogs.csv": asyncio.Event()}
    await choose(page, "dogs.csv")
    await say(page, "dogs")
    await page.get_by_role("link", name="cats").click()
    await expect(page.locator(".prose")).to_have_text("about cats")
    await expect(page.locator(".attachment")).to_have_count(0)
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator(".attachment .file-name")).to_have_text("dogs.csv")
    await expect(page.locator(HINT)).to_have_text(QUEUED)
    await page.get_by_role("link", name="cats").click()
    house.slow["open_conversation"].set()
    house.slow["dogs.csv"].set()
    assert await sent(house, 2) == [("cats", []), ("dogs", ["dogs.csv"])]
    assert len({event.conversation for event in house.events}) == 2
    await expect(page.locator(".bubble")).to_have_text("cats")
    await page.get_by_role("link", name="dogs").click()
    await expect(page.locator(".prose")).to_have_text("about dogs")


async def test_a_draft_with_a_file_is_found_again_after_a_look_elsewhere(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    page = await open_page()
    await choose(page, "a.csv")
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(1)
    await page.get_by_label("Message", exact=True).fill("not yet")
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator(".attachment")).to_have_count(0)
    await page.get_by_role("link", name="New conversation").click()
    await expect(page.locator(".attachment .file-name")).to_have_text("a.csv")
    await page.get_by_label("Message", exact=True).press("Enter")
    assert await sent(house) == [("not yet", ["a.csv"])]


async def test_a_conversation_that_cannot_be_made_is_a_failed_file_that_can_be_tried_again(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    house.failing = {"open_conversation"}
    page = await open_page()
    await choose(page, "a.csv")
    await expect(page.locator(".attachment[data-state=failed]")).to_contain_text("The bridge is busy")
    await page.get_by_label("Message", exact=True).fill("hello")
    await page.reload()  # the words are kept, and there is no address of a conversation that does not exist
    await expect(page.get_by_label("Message", exact=True)).to_have_value("hello")
    await choose(page, "a.csv")
    await expect(page.locator(".attachment[data-state=failed]")).to_have_count(1)
    house.failing.clear()
    await page.get_by_role("button", name="Try again: a.csv").click()
    await page.get_by_label("Message", exact=True).press("Enter")
    assert await sent(house) == [("hello", ["a.csv"])]
    only_503(complaints)


async def test_a_message_that_was_held_up_elsewhere_is_marked_in_the_list(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(Text("m", f"about {turn.text}"))

    house.agent = agent
    house.slow, house.failing = {"a.csv": asyncio.Event()}, {"a.csv"}
    page = await open_page()
    await say(page, "cats")
    await expect(page.locator(".prose")).to_have_text("about cats")
    await choose(page, "a.csv")
    await say(page, "and this")
    await page.get_by_role("button", name="New conversation").click()
    house.slow["a.csv"].set()
    await page.get_by_role("link", name="cats not sent").click()
    await expect(page.locator(HINT)).to_contain_text("A file was not uploaded")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("and this")
    only_503(complaints)


async def test_no_more_files_are_taken_than_a_message_can_carry(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    await choose(page, *(f"{number}.csv" for number in range(21)))
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(20)
    await expect(page.locator(".attachment[data-state=failed]")).to_contain_text("No more than 20 files")
    await page.get_by_role("button", name="Remove: 0.csv").click()
    await page.get_by_role("button", name="Try again: 20.csv").click()
    await say(page, "all")
    [(_, files)] = await sent(house)
    assert files == [f"{number}.csv" for number in range(1, 21)]


async def test_many_uploads_leave_a_way_for_what_is_said_meanwhile(house: MemoryHouse, open_page: OpenPage) -> None:
    names = [f"{number}.csv" for number in range(9)]
    house.slow = dict.fromkeys(names, asyncio.Event())
    page = await open_page()
    await choose(page, *names)
    await say(page, "with files")
    await page.get_by_role("button", name="New conversation").click()
    await say(page, "without")
    assert await sent(house) == [("without", [])]
    house.slow[names[0]].set()
    assert await sent(house, 2) == [("without", []), ("with files", names)]


async def test_a_new_conversation_has_a_name_at_once(house: MemoryHouse, open_page: OpenPage) -> None:
    house.slow = {"open_conversation": asyncio.Event()}
    page = await open_page()
    await say(page, "How do I cook rice so that it does not stick?")
    title = "How do I cook rice so…"
    for _ in range(2):  # before the bridge knows of it, and while the first answer is being written
        await expect(page.get_by_role("heading", name=title)).to_be_visible()
        await expect(page.locator(".line[aria-current] .line-title")).to_have_text(title)
        assert await page.title() == f"{title} · Threadbridge"
        house.slow["open_conversation"].set()
        await sent(house)
        await page.reload()
