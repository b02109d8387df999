"""Talking on the page, in headless Chromium against a real server."""

import asyncio

from playwright.async_api import expect

from channels.contract import (
    ActivityState,
    MessageReceived,
    Notice,
    NoticeKind,
    ReplyPhase,
    SendNowRequested,
    StopRequested,
    Text,
    Todo,
    Todos,
    ToolActivity,
)
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say, words
from tests.channels.web.house import MemoryHouse, Turn

pytestmark = NEEDS_BROWSER


async def test_a_message_is_answered_word_by_word_with_what_the_agent_does(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.show(ToolActivity("1", "read_file", ActivityState.RUNNING, "sales.csv"))
        await go_on.wait()
        plan = Todos((Todo("read", "completed"), Todo("tell", "in_progress")))
        done = ToolActivity("1", "read_file", ActivityState.DONE, "sales.csv")
        await words(turn, "The **second** quarter was the strongest of all.", done, plan)

    house.agent = agent
    page = await open_page()
    await expect(page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    await say(page, "How was last year?")
    await expect(page.locator(".steps .spinner")).to_be_visible()
    await expect(page.get_by_role("heading", name="What shall we work on?")).to_be_hidden()
    go_on.set()
    await expect(page.locator(".prose strong")).to_have_text("second")
    await expect(page.locator(".reply[data-phase=final]")).to_contain_text("strongest of all.")
    await expect(page.locator(".todos li")).to_have_count(2)
    await expect(page.locator(".spinner")).to_have_count(0)
    await expect(page.locator(".line[aria-current]")).to_contain_text("How was last year?")
    assert "strongest" in await page.locator("#announcer").inner_text()


async def test_stop_ends_the_answer_it_was_drawn_for(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        if isinstance(turn.event, MessageReceived):
            await words(turn, "on and on and " * 200)

    house.agent = agent
    page = await open_page()
    await say(page, "Talk")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".notice[data-notice=stopped]")).to_have_text("Stopped.")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert sum(isinstance(event, StopRequested) for event in house.events) == 1


async def test_a_second_message_waits_visibly_and_both_are_answered_in_place(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    first_done = asyncio.Event()

    async def agent(turn: Turn) -> None:
        if turn.text == "first":
            await turn.show(Text("m", "working"))
            await first_done.wait()
            await turn.finish(Text("m", "one"))
        elif isinstance(turn.event, MessageReceived):
            await turn.show(Notice(NoticeKind.WAITING, "Waits behind 1"), phase=ReplyPhase.QUEUED)
            await first_done.wait()
            await turn.finish(Text("m", "two"))

    house.agent = agent
    page = await open_page()
    await say(page, "first")
    await expect(page.locator(".prose")).to_have_text("working")
    await say(page, "second")
    await expect(page.locator(".notice")).to_have_text("Waits behind 1")
    await page.get_by_role("button", name="Send now").click()
    await house.wait_for(lambda event: isinstance(event, SendNowRequested))
    await expect(page.get_by_role("button", name="Drop")).to_be_disabled()
    first_done.set()
    await expect(page.locator("#timeline > li :is(.bubble, .prose)")).to_have_text(["first", "one", "second", "two"])


async def test_conversations_are_kept_apart_and_found_again(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(Text("m", f"about {turn.text}"))

    house.agent = agent
    page = await open_page()
    await say(page, "cats")
    await expect(page.locator(".prose")).to_have_text("about cats")
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator("#timeline > li")).to_have_count(0)
    await say(page, "dogs")
    await expect(page.locator(".prose")).to_have_text("about dogs")
    await page.get_by_role("link", name="cats").click()
    await expect(page.locator(".prose")).to_have_text("about cats")
    await page.go_back()
    await expect(page.locator(".prose")).to_have_text("about dogs")
    await expect(page.get_by_role("heading", name="dogs")).to_be_visible()


async def test_who_reads_above_is_not_pulled_down(house: MemoryHouse, open_page: OpenPage) -> None:
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.show(Text("m", "line\n\n" * 60))
        await go_on.wait()
        await turn.finish(Text("m", "line\n\n" * 90))

    house.agent = agent
    page = await open_page()
    await say(page, "long")
    await expect(page.locator(".prose p")).to_have_count(60)
    scroller = page.locator("#scroller")
    from_end = "node => node.scrollHeight - node.clientHeight - node.scrollTop"
    assert await scroller.evaluate(from_end) < 2
    await scroller.evaluate("node => node.scrollTo(0, 100)")
    await expect(page.get_by_role("button", name="Latest")).to_be_visible()
    go_on.set()
    await expect(page.locator(".prose p")).to_have_count(90)
    assert await scroller.evaluate("node => node.scrollTop") == 100
    await page.get_by_role("button", name="Latest").click()
    assert await scroller.evaluate(from_end) < 2


async def test_shift_enter_is_a_new_line_and_nothing_empty_is_sent(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    await say(page, "   ")
    await page.get_by_label("Message", exact=True).fill("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    event = await asyncio.wait_for(house.wait_for(lambda event: isinstance(event, MessageReceived)), 5)
    assert isinstance(event, MessageReceived)
    assert event.text == "one\ntwo"
    assert len(house.events) == 1


async def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_list_is_a_drawer(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    async def agent(turn: Turn) -> None:
        table = "| " + " | ".join("column" for _ in range(12)) + " |\n|" + "---|" * 12 + "\n"
        await turn.finish(Text("m", f"{'x' * 300}\n\n{table}\n```\n{'code ' * 60}\n```\n"))

    house.agent = agent
    page = await open_page(viewport={"width": 360, "height": 700}, is_mobile=True, has_touch=True)
    await page.get_by_label("Message", exact=True).fill("wide")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".table-frame")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    assert await page.locator("#scroller").evaluate("node => node.scrollWidth - node.clientWidth") == 0
    drawer = page.get_by_role("navigation", name="Conversations")
    await expect(drawer).to_be_hidden()
    await page.get_by_role("button", name="Conversations").click()
    await expect(drawer.get_by_role("link", name="wide")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()


async def test_hostile_text_of_the_agent_does_nothing(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        hostile = (
            "<img src=x onerror=\"document.title='owned'\"> ![x](http://127.0.0.1:9/leak.png) [y](javascript:alert(1))"
        )
        await turn.finish(Text("m", hostile), Notice(NoticeKind.INFO, "<b>bold?</b>"))

    house.agent = agent
    page = await open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await say(page, "<script>document.title='owned'</script>")
    await expect(page.locator(".notice")).to_have_text("<b>bold?</b>")
    await expect(page.locator(".bubble")).to_have_text("<script>document.title='owned'</script>")
    assert await page.title() != "owned"
    assert not any("leak.png" in url for url in asked)
    assert await page.locator(".reply :is(img, script), .reply a[href^=javascript]").count() == 0


async def test_a_long_paste_is_folded_and_opens(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(Text("m", "read"))

    house.agent = agent
    page = await open_page()
    await say(page, "\n".join(f"line {number}" for number in range(200)))
    await expect(page.locator(".prose")).to_have_text("read")
    bubble = page.locator(".bubble")
    height = "node => node.getBoundingClientRect().height"
    assert await bubble.evaluate(height) < 300
    await page.get_by_role("button", name="Show all").press("Enter")
    assert await bubble.evaluate(height) > 3_000
    await page.get_by_role("button", name="Show less").press("Enter")
    assert await bubble.evaluate(height) < 300
