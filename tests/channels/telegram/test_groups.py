"""Groups move, take the bot in and put it out; nobody is answered in the wrong place, and nobody is left without a word."""

import pytest

from channels.contract import ChatGone, ChatMoved, MessageReceived, Outcome
from tests.channels.telegram.turns import MENTION, asked, final, made_channel, posted, texts, working
from tests.contracts.host import MemoryHost

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def left(telegram, group: int) -> list[str]:
    """What the bot had said when it was out."""
    view = await telegram.wait_for(group, lambda chat: chat.members.get(str(telegram.bot_id)) == "left")
    return [message.text for message in view.from_bot]


async def is_in(telegram, group: int) -> bool:
    return (await telegram.chat(group)).members.get(str(telegram.bot_id)) == "member"


async def test_a_group_that_becomes_a_supergroup_is_told_to_the_house_and_no_answer_goes_astray(
    telegram, channel, host, ana
) -> None:
    group = await telegram.group(ana, kind="group")
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("half"))
    supergroup = await ana.migrate(group)
    with pytest.raises(ChatMoved) as caught:
        await turn.show(final("whole"))
    assert caught.value.new_chat == str(supergroup)
    again = await asked(channel, host, ana, f"{MENTION}here now", chat=supergroup)
    assert again.event.conversation.chat == str(supergroup)
    assert host.moves == [(turn.event.conversation, str(supergroup))] * 2


async def test_a_move_that_could_not_be_stored_is_told_again(telegram, channel, host, ana, monkeypatch) -> None:
    group = await telegram.group(ana, kind="group")
    failures = [OSError("the database is away")]
    chat_moved = host.chat_moved

    async def failing(old, new_chat) -> None:
        if failures:
            raise failures.pop()
        await chat_moved(old, new_chat)

    monkeypatch.setattr(host, "chat_moved", failing)
    supergroup = await ana.migrate(group)
    await asked(channel, host, ana, f"{MENTION}go", chat=supergroup)
    assert {new for _, new in host.moves} == {str(supergroup)}


async def test_it_leaves_a_group_into_which_a_stranger_has_put_it_with_one_line(telegram, channel, host, ana) -> None:
    ben = await telegram.person("Ben")
    group = await telegram.group(ben, ana, bot_status="left")
    host.strangers = {str(ben.id), str(group)}
    await telegram.set_bot_status(group, "member", by=ben)
    (word,) = await left(telegram, group)
    assert word.startswith("I was brought here by somebody I do not know")
    await telegram.set_bot_status(group, "member", by=ana)
    await asked(channel, host, ana, f"{MENTION}stay", chat=group)
    assert await is_in(telegram, group)
    assert len(await texts(telegram, group)) == 1


async def test_it_stays_where_the_group_itself_is_allowed(telegram, channel, host) -> None:
    ben = await telegram.person("Ben")
    group = await telegram.group(ben, bot_status="left")
    host.strangers = {str(ben.id)}
    await telegram.set_bot_status(group, "member", by=ben)
    await asked(channel, host, ben, f"{MENTION}hello", chat=group)
    assert await is_in(telegram, group)


async def test_it_stays_in_silence_where_it_is_told_to(telegram, host) -> None:
    ben = await telegram.person("Ben")
    group = await telegram.group(ben, bot_status="left")
    host.strangers = {str(ben.id), str(group)}
    patient = made_channel(telegram, leaves_groups=False)
    await patient.start(host)
    await telegram.set_bot_status(group, "member", by=ben)
    await asked(patient, host, ben, f"{MENTION}hello", chat=group)
    assert await is_in(telegram, group)
    assert await posted(telegram, group) == ()
    await patient.stop()
    await patient.close()


async def test_a_group_that_cannot_be_left_or_written_to_holds_nothing_up(telegram, channel, host, ana, caplog) -> None:
    ben = await telegram.person("Ben")
    group = await telegram.group(ben, bot_status="left")
    host.strangers = {str(ben.id), str(group)}
    await telegram.fault("error", "sendMessage", status=500)
    await telegram.fault("error", "leaveChat", status=500)
    await telegram.set_bot_status(group, "member", by=ben)
    await asked(channel, host, ana, "next")
    assert f"could not leave the chat {group}" in caplog.text


async def test_an_anonymous_admin_speaks_as_the_group(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    await ana.send(f"{MENTION}who am I?", chat=group, anonymous=True)
    (event,) = await host.wait_for(1)
    assert isinstance(event, MessageReceived)
    assert (event.sender.id, event.sender.is_anonymous) == (str(group), True)


async def test_who_put_the_bot_out_gets_nothing_and_who_takes_it_back_is_answered(telegram, channel, host, ana) -> None:
    for where, status in (
        (await telegram.group(ana), "kicked"),
        (await telegram.group(ana), "left"),
        (ana.id, "kicked"),
    ):
        turn = await asked(channel, host, ana, f"{MENTION}go", chat=where)
        await turn.show(working("half"))
        await telegram.set_bot_status(where, status, by=ana)
        with pytest.raises(ChatGone):
            await turn.show_at_last(final("whole"))
        await telegram.set_bot_status(where, "member", by=ana)
        back = await asked(channel, host, ana, f"{MENTION}again", chat=where)
        await back.show_at_last(final("here I am"))
        assert (await texts(telegram, where))[-1] == "here I am"


async def test_what_the_house_refuses_in_a_group_is_not_answered_by_the_channel(telegram, channel, ana) -> None:
    host = MemoryHost(outcome=Outcome.REFUSED)
    group = await telegram.group(ana)
    second = made_channel(telegram)
    await channel.stop()
    await second.start(host)
    await ana.send(f"{MENTION}hello", chat=group)
    await host.wait_for(1)
    assert await posted(telegram, group) == ()
    await second.stop()
    await second.close()
