"""Every press counts, once, and meets a word."""

from dataclasses import replace

import pytest
from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from channels.contract import (
    ChoiceSelected,
    Clarification,
    ClarificationState,
    FeedbackGiven,
    FormField,
    Notice,
    NoticeKind,
    Option,
    Outcome,
    PressAction,
    PressVerdict,
    ReceiptSign,
    StopRequested,
    SupportsActivity,
    SupportsHttpRoutes,
    SupportsPressAnswer,
    SupportsPrivateHint,
    SupportsReactions,
)
from tests.channels.telegram.turns import MENTION, RUN, all_heard, asked, final, made_channel, posted, texts, working

pytestmark = pytest.mark.asyncio(loop_scope="module")
OPTIONS = (Option("Red", "r"), Option("Blue", "b"))
ASKED = Clarification("tok", "Colour?", options=OPTIONS)


async def test_a_press_after_a_restart_still_counts_and_is_answered_once(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("Hm.", ASKED))
    await channel.stop()
    turn.channel = made_channel(telegram)
    await turn.channel.start(host)
    (message,) = await posted(telegram, ana.id)
    query = await ana.press_label(message.message_id, "Blue")
    press = (await host.wait_for(2))[-1]
    assert isinstance(press, ChoiceSelected)
    assert (press.token, press.option) == ("tok", 1)
    for text in ("Too late.", "Twice."):
        await turn.channel.answer_press(press, PressVerdict(accepted=False, text=text))
    assert [(said["text"], said["show_alert"]) for said in await telegram.press_answers(query)] == [("Too late.", True)]
    settled = Clarification(
        "tok", "Colour?", options=OPTIONS, state=ClarificationState.ANSWERED, answer="Blue", answered_by="Ana"
    )
    await turn.show(final("Hm.", settled))
    (message,) = await posted(telegram, ana.id)
    assert message.text == "Hm.\n\n❓ Colour?\n\n✅ Ana: Blue"
    assert message.buttons == ()
    await turn.channel.stop()
    await turn.channel.close()


async def test_a_press_on_a_button_of_another_time_meets_no_silence(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("Hm.", ASKED))
    (message,) = await posted(telegram, ana.id)
    old = InlineKeyboardMarkup([[InlineKeyboardButton("Old", callback_data="old:format")]])
    await channel._bot.edit_message_reply_markup(ana.id, message.message_id, reply_markup=old)
    query = await ana.press(message.message_id, "old:format")
    await all_heard(host, ana)
    assert [said["text"] for said in await telegram.press_answers(query)] == ["This button does nothing any more."]


async def test_the_spinner_of_a_press_that_the_house_refuses_ends(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("Hm.", ASKED))
    (message,) = await posted(telegram, ana.id)
    host.outcome = Outcome.REFUSED
    query = await ana.press_label(message.message_id, "Red")
    await all_heard(host, ana)
    (said,) = await telegram.press_answers(query)
    assert (said["text"], said["show_alert"]) == ("This bot does not take this from you.", True)


async def test_a_thumb_names_the_answer_it_stands_under_and_its_person(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("Done."))
    (message,) = await posted(telegram, ana.id)
    query = await ana.press_label(message.message_id, "👎")
    given = (await host.wait_for(2))[-1]
    assert isinstance(given, FeedbackGiven)
    assert (given.run_id, given.rating, given.sender.id) == (RUN, -1, str(ana.id))
    await channel.answer_press(given, PressVerdict(accepted=True, text="Noted."))
    assert [(said["text"], said["show_alert"]) for said in await telegram.press_answers(query)] == [("Noted.", False)]
    before = await texts(telegram, ana.id)
    await turn.show(final("Done."))
    assert await texts(telegram, ana.id) == before == ["Done."]


async def test_a_form_is_asked_field_by_field_in_its_one_message(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    extras = FormField("extras", "Extras", OPTIONS, multiple=True)
    form = Clarification("tok", "Order", fields=(FormField("name", "Name"), extras))
    await turn.show(final("Hm.", form))
    step = replace(form, step=1, filled={"name": ("Ana",), "extras": ("b",)})
    await turn.show_at_last(final("Hm.", step))
    (message,) = await posted(telegram, ana.id)
    assert "✓ Name: Ana" in message.text
    assert [button["text"] for button in message.buttons] == ["☐ Red", "☑ Blue", "‹ Back", "✔ Done"]
    for label, action, option in (
        ("☑ Blue", PressAction.UNCHOOSE, 1),
        ("‹ Back", PressAction.BACK, None),
        ("✔ Done", PressAction.DONE, None),
    ):
        count = len(host.events)
        await ana.press_label(message.message_id, label)
        press = (await host.wait_for(count + 1))[-1]
        assert isinstance(press, ChoiceSelected)
        assert (press.token, press.step, press.action, press.option) == ("tok", 1, action, option)


async def test_stop_in_a_group_names_its_run(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("half"))
    (message,) = await posted(telegram, group)
    await ana.press_label(message.message_id, "⏹ Stop", chat=group)
    stop = (await host.wait_for(2))[-1]
    assert isinstance(stop, StopRequested)
    assert (stop.run_id, stop.conversation) == (RUN, turn.event.conversation)


async def test_telegrams_own_stop_names_the_run_of_its_draft(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(working("half"))
    await ana.stop()
    stop = (await host.wait_for(2))[-1]
    assert isinstance(stop, StopRequested)
    assert (stop.run_id, stop.sender.id) == (RUN, str(ana.id))
    await turn.show(final("half", Notice(NoticeKind.STOPPED, "Stopped.")))
    assert await texts(telegram, ana.id) == ["half\n\n⏹ Stopped."]


async def test_signs_replace_one_another(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    for sign, emoji in ((ReceiptSign.SEEN, "👀"), (ReceiptSign.DONE, "👌"), (ReceiptSign.FAILED, "💔")):
        await channel.react(turn.event.conversation, str(turn.message_id), sign)
        message = (await telegram.chat(ana.id)).message(turn.message_id)
        assert message.reaction_of(telegram.bot_id) == emoji


async def test_it_is_known_by_its_type_what_the_channel_can_do(channel) -> None:
    optional = (SupportsActivity, SupportsReactions, SupportsPressAnswer, SupportsHttpRoutes, SupportsPrivateHint)
    assert [isinstance(channel, kind) for kind in optional] == [True, True, True, False, False]
