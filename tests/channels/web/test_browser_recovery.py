"""What the page does when something breaks off, in headless Chromium against a real server."""

import asyncio
from pathlib import Path

from aiohttp.test_utils import TestServer
from playwright.async_api import expect

from channels.contract import (
    MessageReceived,
    Notice,
    NoticeKind,
    Text,
)
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say
from tests.channels.web.house import MemoryHouse, Turn, open_house

pytestmark = NEEDS_BROWSER


async def test_an_error_is_shown_in_place(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(Notice(NoticeKind.ERROR, "The model did not answer."))

    house.agent = agent
    page = await open_page()
    await say(page, "hello")
    await expect(page.locator(".notice[data-notice=error]")).to_have_text("The model did not answer.")


async def test_a_reload_in_mid_answer_shows_the_whole_answer(house: MemoryHouse, open_page: OpenPage) -> None:
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.show(Text("m", "begun"))
        await go_on.wait()
        await turn.finish(Text("m", "begun and ended"))

    house.agent = agent
    page = await open_page()
    await say(page, "hello")
    await expect(page.locator(".prose")).to_have_text("begun")
    await page.get_by_label("Message", exact=True).fill("not sent yet")
    await page.reload()
    await expect(page.locator(".prose")).to_have_text("begun")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("not sent yet")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    go_on.set()
    await expect(page.locator(".reply[data-phase=final] .prose")).to_have_text("begun and ended")
    await expect(page.locator("#timeline > li")).to_have_count(2)


async def test_a_bridge_that_restarts_in_mid_answer_is_found_again(
    house: MemoryHouse, server: TestServer, open_page: OpenPage, tmp_path: Path
) -> None:
    turns: list[Turn] = []
    port = server.port

    async def agent(turn: Turn) -> None:
        turns.append(turn)
        if turn.text == "hello":
            await turn.show(Text("m", "begun"))
        else:
            await turn.finish(Text("m", "second answer"))

    house.agent = agent
    page = await open_page()
    await say(page, "hello")
    await expect(page.locator(".prose")).to_have_text("begun")
    await server.close()
    await expect(page.locator("#connection")).to_have_text("Reconnecting…")
    await say(page, "are you there?")
    await expect(page.locator(".fate")).to_contain_text("Waiting for the connection")
    await expect(page.locator(".prose")).to_have_text("begun")
    again = await open_house(house, tmp_path / "state", port=port)
    try:
        await turns[0].finish(Text("m", "begun and ended"))
        await expect(page.locator(".prose")).to_have_text(["begun and ended", "second answer"], timeout=20_000)
        await expect(page.locator("#connection")).to_be_hidden()
        await expect(page.locator(".fate")).to_have_count(0)
        assert [event.text for event in house.events if isinstance(event, MessageReceived)] == [
            "hello",
            "are you there?",
        ]
    finally:
        await page.close()
        await again.close()


async def test_an_answer_the_bridge_no_longer_knows_does_not_hang_for_ever(
    house: MemoryHouse, server: TestServer, open_page: OpenPage, tmp_path: Path
) -> None:
    async def agent(turn: Turn) -> None:
        await turn.show(Text("m", "begun"))

    house.agent = agent
    port = server.port
    page = await open_page()
    await say(page, "hello")
    await expect(page.locator(".prose")).to_have_text("begun")
    await server.close()
    house.running.clear()
    again = await open_house(house, tmp_path / "state", port=port)
    try:
        await expect(page.locator(".reply")).to_have_count(0, timeout=20_000)
        await expect(page.locator(".bubble")).to_have_text("hello")
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    finally:
        await page.close()
        await again.close()


async def test_a_refused_message_says_why_and_can_be_tried_again(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    house.refuses = True
    page = await open_page()
    await say(page, "hello")
    await expect(page.locator(".fate")).to_contain_text("You may not write here yet")
    house.refuses = False
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".fate")).to_have_count(0)
    assert len(house.events) == 1
    assert ["403" in complaint for complaint in complaints] == [True]
    complaints.clear()


async def test_a_foreign_address_says_that_nothing_is_there(
    open_page: OpenPage, server: TestServer, complaints: list[str]
) -> None:
    page = await open_page()
    await page.goto(str(server.make_url("/")) + "#" + "f" * 32)
    await expect(page.get_by_role("heading", name="This conversation is not here")).to_be_visible()
    await page.get_by_role("button", name="Start a new conversation").click()
    await expect(page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    assert all("404" in complaint for complaint in complaints)
    complaints.clear()


async def test_who_is_signed_out_is_told_so_and_what_to_do(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    page = await open_page()
    await page.context.clear_cookies()
    await say(page, "hello")
    await expect(page.locator(".fate")).to_contain_text("You are not signed in any more. Reload the page.")
    await page.evaluate("window.dispatchEvent(new Event('focus'))")
    await expect(page.locator("#connection")).to_contain_text("You are not signed in any more.")
    await page.locator("#connection").get_by_role("button", name="Reload").click()
    await expect(page.locator("#connection")).to_be_hidden()
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".fate")).to_have_count(0)
    assert len(house.events) == 1
    assert complaints != []
    assert all("401" in complaint for complaint in complaints), complaints
    complaints.clear()
