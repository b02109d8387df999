"""Every press counts, once, and meets a word."""

import pytest
from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from channels.contract import (
    ChoiceSelected,
    Clarification,
    ClarificationState,
    Notice,
    NoticeKind,
    Option,
    Outcome,
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
    assert len(await telegram.press_answers(query)) == 1


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
