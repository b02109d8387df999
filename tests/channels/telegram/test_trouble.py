"""Whatever goes wrong, nothing is lost and nothing doubled in silence."""

import asyncio

import pytest

from channels.contract import (
    ChannelNotConfigured,
    ChannelUnavailable,
    ChatGone,
    OutcomeUnknown,
    PieceState,
    RateLimited,
)
from tests.channels.telegram.turns import MENTION, Turn, asked, final, made_channel, texts, working
from tests.contracts.host import MemoryHost

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_in_a_storm_of_429_nothing_is_asked_during_the_ban_and_nothing_lost(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("begun"))
    await telegram.fault("flood", "editMessageText", count=3, retry_after=2)
    with pytest.raises(RateLimited):
        await turn.show(final("begun and finished"))
    before = len(await telegram.calls("editMessageText"))
    with pytest.raises(RateLimited) as caught:
        await turn.show(final("begun and finished"))
    assert 1.5 < caught.value.retry_after_seconds <= 2
    assert len(await telegram.calls("editMessageText")) == before
    await turn.show_at_last(final("begun and finished"))
    assert await texts(telegram, group) == ["begun and finished"]


async def test_a_lost_reply_to_an_edit_is_simply_repeated(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("half"))
    await telegram.fault("lose_reply", "editMessageText")
    with pytest.raises(ChannelUnavailable):
        await turn.show(final("whole"))
    await turn.show(final("whole"))
    assert await texts(telegram, group) == ["whole"]


async def test_a_post_that_was_under_way_when_the_process_died_is_repeated_saying_so(
    telegram, channel, host, ana
) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("the answer"))
    turn.ledger.receipt = next(
        receipt for receipt in turn.ledger.history if receipt.pieces[0].state is PieceState.ATTEMPTING
    )
    await turn.show(final("the answer"))
    line = "⚠️ This may be a repeat: Telegram did not confirm the earlier copy.\n\n"
    assert await texts(telegram, ana.id) == ["the answer", f"{line}the answer"]
    assert [piece.state for piece in turn.ledger.receipt.pieces] == [PieceState.AMBIGUOUS, PieceState.SENT]
    await turn.show(final("the answer, amended"))
    assert await texts(telegram, ana.id) == ["the answer", f"{line}the answer, amended"]


async def test_two_lost_replies_in_a_row_are_told_to_the_house(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("lose_reply", "sendMessage", count=2)
    with pytest.raises(OutcomeUnknown):
        await turn.show(final("the answer"))
    await turn.show(final("the answer"))
    assert len(await texts(telegram, ana.id)) == 3
    states = [piece.state for piece in turn.ledger.receipt.pieces]
    assert states == [PieceState.AMBIGUOUS, PieceState.AMBIGUOUS, PieceState.SENT]


async def test_what_the_server_says_it_did_not_do_is_not_called_a_repeat(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("error", "sendMessage", status=500)
    with pytest.raises(ChannelUnavailable):
        await turn.show(final("the answer"))
    assert turn.ledger.receipt.pieces == ()
    await turn.show(final("the answer"))
    assert await texts(telegram, ana.id) == ["the answer"]


async def test_a_message_that_a_person_deleted_is_posted_anew(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("half"))
    message = (await telegram.chat(group)).last
    await ana.delete(message.message_id, chat=group)
    await turn.show(final("whole"))
    assert await texts(telegram, group) == ["whole"]
    assert [piece.state for piece in turn.ledger.receipt.pieces] == [PieceState.FAILED, PieceState.SENT]


async def test_a_person_who_blocked_the_bot_is_gone(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await ana.block()
    with pytest.raises(ChatGone):
        await turn.show(final("hello?"))
    assert turn.ledger.receipt.pieces == ()


async def test_when_telegram_is_away_nothing_happened_and_health_says_so(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    away = made_channel(telegram, base_url="http://127.0.0.1:9")
    await away.start(host)
    assert not away.health().ok
    with pytest.raises(ChannelUnavailable):
        await Turn(away, turn.event).show(final("x"))
    async with asyncio.timeout(5):
        while "can't be reached" not in away.health().detail:  # noqa: ASYNC110 - health is looked at, not announced
            await asyncio.sleep(0.05)
    await away.stop()
    await away.close()


async def test_a_refused_token_is_a_matter_for_a_person_and_is_not_repeated_to_them(telegram, host) -> None:
    wrong = made_channel(telegram, bot_token="4242:WRONG-SECRET")
    with pytest.raises(ChannelNotConfigured) as caught:
        await wrong.start(host)
    error: BaseException | None = caught.value
    while error is not None:
        assert "WRONG-SECRET" not in f"{error!r} {error}"
        error = error.__cause__ or error.__context__
    assert "WRONG-SECRET" not in f"{wrong!r} {wrong._bot!r}"


@pytest.mark.parametrize("token", ["nonsense", ":", "abc:def"])
async def test_what_is_no_token_is_said_at_once(telegram, token: str) -> None:
    with pytest.raises(ChannelNotConfigured, match="looks like"):
        made_channel(telegram, bot_token=token)


async def test_a_second_poller_is_noticed_and_said_until_it_is_gone(telegram, channel, ana) -> None:
    second = made_channel(telegram)
    await second.start(MemoryHost())
    async with asyncio.timeout(10):
        while channel.health().ok and second.health().ok:  # noqa: ASYNC110 - health is looked at, not announced
            await asyncio.sleep(0.02)
    told = [health.detail for health in (channel.health(), second.health()) if not health.ok]
    assert "another program polls" in told[0]
    await second.stop()
    await second.close()
    async with asyncio.timeout(20):
        while not channel.health().ok:  # noqa: ASYNC110 - health is looked at, not announced
            await asyncio.sleep(0.1)


async def test_a_deleted_message_is_posted_anew_even_when_that_is_refused_at_first(
    telegram, channel, host, ana
) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("half"))
    await ana.delete((await telegram.chat(group)).last.message_id, chat=group)
    await telegram.fault("flood", "sendMessage", retry_after=1)
    await turn.show_at_last(final("whole"))
    assert await texts(telegram, group) == ["whole"]


async def test_half_a_surrogate_pair_does_not_lose_the_answer(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("cut \ud83d here **and** on"))
    assert await texts(telegram, ana.id) == ["cut ? here and on"]


async def test_a_delivery_that_is_cut_off_in_mid_post_leaves_word_of_it(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.hold("cut", "sendMessage", when="after")
    under_way = asyncio.create_task(turn.show(final("the answer")))
    await telegram.gate_reached("cut")
    under_way.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under_way
    await telegram.release("cut")
    assert [piece.state for piece in turn.ledger.receipt.pieces] == [PieceState.ATTEMPTING]
    await channel.stop()
    turn.channel = made_channel(telegram)
    await turn.channel.start(host)
    await turn.show(final("the answer"))
    first, second = await texts(telegram, ana.id)
    assert first == "the answer"
    assert "may be a repeat" in second
    await turn.channel.stop()
    await turn.channel.close()


async def test_an_update_that_cannot_be_read_is_passed_over_and_the_next_is_heard(channel, host, caplog) -> None:
    await channel._receiving.take({"update_id": 1, "message": {"message_id": "?"}})
    await channel._receiving.take({"update_id": 2, "callback_query": {}})
    assert host.events == []
    assert "update 1 is not understood" in caplog.text
    assert channel.health().ok


async def test_a_message_that_grew_in_a_group_goes_on_there_after_a_restart(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("The answer is"))
    await channel.stop()
    turn.channel = made_channel(telegram)
    await turn.channel.start(host)
    await turn.show(final("The answer is 42."))
    (message,) = (await telegram.chat(group)).from_bot
    assert [state.text for state in message.edits] == ["The answer is", "The answer is 42."]
    await turn.channel.stop()
    await turn.channel.close()
