"""What groups do to a conversation, through the real program and the real Telegram SDK."""

from pathlib import Path

import pytest

from tests.e2e.evidence import rows
from tests.e2e.house import House, open_house
from tests.simulators.model.script import Gate, Text
from tests.simulators.telegram.client import Person

pytestmark = pytest.mark.e2e


async def test_a_conversation_outlives_what_happens_to_its_chat(tmp_path: Path) -> None:
    """One start for all: each of them takes people and places of its own."""
    async with open_house(tmp_path / "home", None, {}, {}) as house:
        ana = await house.telegram.person("Ana")
        await _the_group_becomes_a_supergroup_in_mid_answer(house, ana)
        await _the_topic_is_deleted_in_mid_answer(house, ana)
        await _the_bot_is_blocked_in_mid_answer(house, ana)
        await house.assert_within_the_rules()
        assert "failed for good" not in house.program.log()


async def _the_group_becomes_a_supergroup_in_mid_answer(house: House, ana: Person) -> None:
    telegram, model = house.telegram, house.model
    mention = f"@{telegram.bot_username}"
    await model.script(Text("Once upon "), Gate("tale"), Text("a time."), match="tell a tale")
    group = await telegram.group(ana, kind="group")
    await ana.send(f"{mention} tell a tale", chat=group)
    await telegram.wait_for(group, lambda view: view.last and "Once upon" in view.last.text, 30)
    supergroup = await ana.migrate(group)
    await model.release("tale")
    chat = await telegram.wait_for(supergroup, lambda view: view.last and view.last.text == "Once upon a time.", 30)
    assert len(chat.from_bot) == 1
    await model.script(Text("A princess."), match="who was in it")
    await ana.send(f"{mention} who was in it?", chat=supergroup)
    await telegram.wait_for(supergroup, lambda view: view.last and view.last.text == "A princess.", 30)
    asked = (await model.requests())[-1]["body"]["messages"]
    assert "Once upon a time." in str(asked)
    assert len(rows(house.program, "SELECT thread_id FROM conversations")) == 1


async def _the_topic_is_deleted_in_mid_answer(house: House, ana: Person) -> None:
    telegram, model = house.telegram, house.model
    await model.script(Text("First "), Gate("plan"), Text("and then."), match="make a plan")
    forum = await telegram.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    await ana.send(f"@{telegram.bot_username} make a plan", chat=forum, topic=topic)
    await telegram.wait_for(forum, lambda view: view.last and "First" in view.last.text, 30)
    await ana.delete_topic(topic, chat=forum)
    await model.release("plan")
    chat = await telegram.wait_for(forum, lambda view: view.last and view.last.text == "First and then.", 30)
    assert [message.topic for message in chat.from_bot] == [None, None]
    assert "closed or gone" in chat.from_bot[0].text


async def _the_bot_is_blocked_in_mid_answer(house: House, ana: Person) -> None:
    telegram, model = house.telegram, house.model
    await model.script(Text("I must say "), Gate("speech"), Text("goodbye."), match="make a speech")
    await ana.send("make a speech")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "I must say" in view.drafts[0].text, 30)
    await ana.block()
    await model.release("speech")
    await model.script(Text("You had blocked me."), match="are you there")
    await ana.unblock()
    await ana.send("are you there?")
    chat = await telegram.wait_for(ana.id, lambda view: view.last and view.last.text == "You had blocked me.", 30)
    asked = (await model.requests())[-1]["body"]["messages"]
    assert "I must say goodbye." in str(asked)
    assert len(chat.from_bot) <= 2
