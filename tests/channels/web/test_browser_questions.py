"""Questions and opinions on the page, in headless Chromium against a real server."""

import asyncio
from dataclasses import replace

from playwright.async_api import expect

from channels.contract import (
    ChoiceSelected,
    Clarification,
    FeedbackGiven,
    FormField,
    MessageReceived,
    Option,
    PressAction,
    Text,
)
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say
from tests.channels.web.house import MemoryHouse, Turn

pytestmark = NEEDS_BROWSER


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
