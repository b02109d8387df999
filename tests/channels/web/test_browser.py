"""The page in headless Chromium, against a real server."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestServer
from playwright.async_api import expect

from channels.contract import (
    ActivityState,
    Artifact,
    ChoiceSelected,
    Clarification,
    FeedbackGiven,
    FormField,
    MessageReceived,
    Notice,
    NoticeKind,
    Option,
    PressAction,
    ReplyPhase,
    SendNowRequested,
    StopRequested,
    Text,
    Todo,
    Todos,
    ToolActivity,
)
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say
from tests.channels.web.house import OUTPUTS, MemoryHouse, Turn, open_house

pytestmark = NEEDS_BROWSER

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63606060f80f0001040100"
    "5fe5c34b0000000049454e44ae426082"
)


async def words(turn: Turn, text: str, *before: Any, delay: float = 0.03) -> None:
    parts = text.split(" ")
    for count in range(1, len(parts) + 1):
        await turn.show(*before, Text("m", " ".join(parts[:count])))
        await asyncio.sleep(delay)
        if turn.is_stopped:
            await turn.finish(*turn.parts, Notice(NoticeKind.STOPPED, "Stopped."))
            return
    await turn.finish()


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


async def test_a_choice_is_pressed_and_then_shows_who_chose_what(house: MemoryHouse, open_page: OpenPage) -> None:
    async def agent(turn: Turn) -> None:
        if not isinstance(turn.event, MessageReceived):
            return
        question = turn.ask(
            Clarification("t1", "Which one?", options=(Option("Short", "s"), Option("Long", "l", "slow")))
        )
        await turn.finish(question)
        await turn.finish(await turn.answered("t1"))

    house.agent = agent
    page = await open_page()
    await say(page, "Make a report")
    await page.get_by_role("button", name="Long").click()
    await expect(page.locator(".question-answer")).to_have_text("You chose Long")
    await expect(page.locator(".choice")).to_have_count(0)
    assert [event.option for event in house.events if isinstance(event, ChoiceSelected)] == [1]
    await page.reload()
    await expect(page.locator(".question-answer")).to_have_text("You chose Long")


async def test_a_form_is_filled_in_by_keyboard_and_sent(house: MemoryHouse, open_page: OpenPage) -> None:
    fields = (
        FormField("place", "Place"),
        FormField("how", "How", (Option("Train", "train"), Option("Bike", "bike"))),
        FormField("see", "See", (Option("Lakes", "lakes"), Option("Hills", "hills")), multiple=True, required=False),
    )

    async def agent(turn: Turn) -> None:
        if isinstance(turn.event, MessageReceived):
            await turn.finish(turn.ask(Clarification("t1", "Where to?", fields=fields)))

    house.agent = agent
    page = await open_page()
    await say(page, "Plan a trip")
    await page.get_by_label("Place").fill("Rome")
    await page.keyboard.press("Tab")
    await page.keyboard.press("ArrowDown")
    await page.get_by_label("Lakes").check()
    await page.get_by_label("Hills").check()
    await page.get_by_role("button", name="Send answers").click()
    press = await asyncio.wait_for(house.wait_for(lambda event: isinstance(event, ChoiceSelected)), 5)
    assert isinstance(press, ChoiceSelected)
    assert press.values == {"place": "Rome", "how": "bike", "see": ("lakes", "hills")}


async def test_ticks_are_kept_one_by_one_and_done_sends_them_all(house: MemoryHouse, open_page: OpenPage) -> None:
    options = (Option("Lakes", "lakes"), Option("Hills", "hills", "steep"), Option("Towns", "towns"))
    question = Clarification("t1", "What would you see?", options=options, multiple=True)

    async def agent(turn: Turn) -> None:
        if isinstance(turn.event, MessageReceived):
            await turn.finish(turn.ask(question))
        elif isinstance(turn.event, ChoiceSelected) and turn.event.option is not None:
            ticked.append((turn.event.option, turn.event.action))

    ticked: list[tuple[int, PressAction]] = []
    house.agent = agent
    page = await open_page()
    await say(page, "Plan a trip")
    await page.get_by_role("button", name="Done").click()
    await expect(page.get_by_role("alert")).to_have_text("Please choose at least one first.")
    await page.get_by_label("Hills").check()
    await page.get_by_label("Towns").check()
    await page.get_by_label("Towns").uncheck()
    await page.get_by_role("button", name="Done").click()
    press = await asyncio.wait_for(house.wait_for(lambda event: getattr(event, "action", "") == "submit"), 5)
    assert isinstance(press, ChoiceSelected)
    assert press.values == {"answer": ("hills",)}
    assert ticked == [(1, PressAction.CHOOSE), (2, PressAction.CHOOSE), (2, PressAction.UNCHOOSE)]


async def test_a_form_that_is_answered_in_words_fills_itself_in_and_keeps_what_is_being_typed(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    fields = (
        FormField("place", "Place"),
        FormField("how", "How", (Option("Train", "train"),)),
        FormField("who", "Who"),
    )
    question = Clarification("t1", "Where to?", fields=fields)

    async def agent(turn: Turn) -> None:
        if turn.event.text == "Plan a trip":
            asked.append(turn)
            await turn.finish(turn.ask(question))
        else:
            filled = {"place": ("Rome",), "how": ("on foot",)}
            await asked[0].finish(replace(question, step=2, filled=filled))

    asked: list[Turn] = []
    house.agent = agent
    page = await open_page()
    await say(page, "Plan a trip")
    await page.get_by_label("Who").fill("the two of us")
    await say(page, "Rome")
    await expect(page.get_by_label("Place")).to_have_value("Rome")
    await expect(page.get_by_label("on foot")).to_be_checked()
    await expect(page.get_by_label("Who")).to_have_value("the two of us")
    await expect(page.locator(".question-hint")).to_contain_text("your next message answers “Who”")


async def test_a_press_that_is_refused_says_why_where_it_was_pressed(
    house: MemoryHouse, open_page: OpenPage, complaints: list[str]
) -> None:
    async def agent(turn: Turn) -> None:
        await turn.finish(turn.ask(Clarification("t1", "Which?", options=(Option("A", "a"),))))
        del turn.house.questions["t1"]

    house.agent = agent
    page = await open_page()
    await say(page, "ask")
    await page.get_by_role("button", name="A", exact=True).click()
    await expect(page.get_by_role("alert")).to_have_text("There is no such question.")
    assert ["404" in complaint for complaint in complaints] == [True]
    complaints.clear()


async def test_a_thumb_is_given_changed_taken_back_and_still_there_after_a_reload(
    house: MemoryHouse, open_page: OpenPage
) -> None:
    async def agent(turn: Turn) -> None:
        if isinstance(turn.event, MessageReceived):
            await turn.finish(Text("m", "Here you are."))

    house.agent = agent
    page = await open_page()
    await say(page, "hello")
    up, down = page.get_by_label("Good answer"), page.get_by_label("Bad answer")
    await up.click()
    await expect(page.locator(".thumbs-word")).to_have_text("Thank you")
    await down.click()
    await expect(up).to_have_attribute("aria-pressed", "false")
    await expect(down).to_have_attribute("aria-pressed", "true")
    given = [event.rating for event in house.events if isinstance(event, FeedbackGiven)]
    assert given == [1, -1]
    await page.reload()
    await expect(down).to_have_attribute("aria-pressed", "true")
    await down.click()
    await expect(page.locator(".thumbs-word")).to_have_text("Taken back")
    assert [event.rating for event in house.events if isinstance(event, FeedbackGiven)] == [1, -1, 0]


async def test_files_are_uploaded_removed_and_sent_with_the_message(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    await page.set_input_files(
        "#file-input",
        [
            {"name": "sales.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"},
            {"name": "wrong.csv", "mimeType": "text/csv", "buffer": b"x"},
        ],
    )
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(2)
    await page.get_by_role("button", name="Remove: wrong.csv").click()
    await say(page, "What is in it?")
    await expect(page.locator(".message .file-name")).to_have_text("sales.csv")
    event = await asyncio.wait_for(house.wait_for(lambda event: isinstance(event, MessageReceived)), 5)
    assert isinstance(event, MessageReceived)
    assert [file.name for file in event.files] == ["sales.csv"]
    await expect(page.locator(".attachment")).to_have_count(0)


async def test_files_are_dropped_and_pasted(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    give = """([kind, name]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["a,b"], name, { type: "text/csv" }));
        const options = { bubbles: true, cancelable: true, dataTransfer: transfer, clipboardData: transfer };
        const event = kind === "paste" ? new ClipboardEvent(kind, options) : new DragEvent(kind, options);
        document.getElementById(kind === "paste" ? "composer-text" : "stage").dispatchEvent(event);
    }"""
    await page.evaluate(give, ["dragenter", "dropped.csv"])
    await expect(page.locator("#drop-zone")).to_be_visible()
    await page.evaluate(give, ["drop", "dropped.csv"])
    await expect(page.locator("#drop-zone")).to_be_hidden()
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(1)
    await page.evaluate(give, ["paste", "pasted.csv"])
    await expect(page.locator(".attachment[data-state=done] .file-name")).to_have_text(["dropped.csv", "pasted.csv"])


async def test_a_file_of_the_agent_is_downloaded_and_a_picture_shown(
    house: MemoryHouse, open_page: OpenPage, tmp_path: Path
) -> None:
    async def agent(turn: Turn) -> None:
        for name, content in (("report.md", b"# Report"), ("chart.png", PIXEL)):
            turn.house.put_file(turn.event.conversation, OUTPUTS / name, content)
        await turn.finish(
            Artifact(str(OUTPUTS / "report.md"), "report.md", "text/markdown", 8),
            Artifact(str(OUTPUTS / "chart.png"), "chart.png", "image/png", len(PIXEL)),
        )

    house.agent = agent
    page = await open_page()
    await say(page, "write it")
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name="report.md").click()
    download = await waiting.value
    assert download.suggested_filename == "report.md"
    await download.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == b"# Report"
    picture = page.get_by_role("img", name="chart.png")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


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
