"""Who may write to the bot, through the real program and the real Telegram SDK."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.evidence import rows
from tests.e2e.house import running, settings_for
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Text
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e
CODE = re.compile(r"\b[A-HJ-NP-Z2-9]{8}\b")


async def command(config: Path, *arguments: str) -> str:
    """What `threadbridge …` prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bridge", *arguments, "--config", str(config), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    return printed.decode()


async def a_stranger_in_groups_meets_silence_and_the_bot_leaves(telegram: TelegramSimulator) -> None:
    carl = await telegram.person("Carl")
    group, other = await telegram.group(carl), await telegram.group(carl, bot_status="left")
    await carl.send(f"@{telegram.bot_username} hello", chat=group)
    await telegram.set_bot_status(other, "member", by=carl)
    chat = await telegram.wait_for(other, lambda view: view.members.get(str(telegram.bot_id)) == "left", 20)
    assert [message.text.partition(",")[0] for message in chat.from_bot] == [
        "I was brought here by somebody I do not know"
    ]
    assert (await telegram.chat(group)).from_bot == ()


async def test_a_stranger_is_let_in_on_the_terminal_and_lets_the_next_one_in_from_the_chat(tmp_path: Path) -> None:
    async with TelegramSimulator() as telegram, ModelSimulator() as model:
        settings = settings_for(telegram, model, None)
        ana, ben = await telegram.person("Ana"), await telegram.person("Ben")
        settings["channels"]["telegram"]["access"] = "pairing"
        async with running(tmp_path / "home", settings) as program:
            await a_stranger_in_groups_meets_silence_and_the_bot_leaves(telegram)
            await ana.send("hello")
            refused = await telegram.wait_for(ana.id, lambda view: CODE.search(view.messages[-1].text), 20)
            (code,) = CODE.findall(refused.messages[-1].text)[:1]
            config = tmp_path / "config.yaml"
            config.write_text(yaml.safe_dump({**settings, "home": str(tmp_path / "home")}))
            assert "Ana may write" in await command(config, "access", "approve", code)
            await telegram.wait_for(ana.id, lambda view: "let in" in view.messages[-1].text, 20)
            await model.script(Text("Hello Ana."), match="hello again")
            await ana.send("hello again")
            await telegram.wait_for(ana.id, lambda view: view.messages[-1].text == "Hello Ana.", 20)
            noted = set(await asyncio.to_thread(rows, program, "SELECT action, person_id, done_by FROM access_log"))
            assert {("refused", str(ana.id), None), ("admitted", str(ana.id), "terminal")} <= noted
        settings["channels"]["telegram"]["admins"] = [ana.id]
        async with running(tmp_path / "home", settings):
            await ben.send("hi")
            refused = await telegram.wait_for(ben.id, lambda view: CODE.search(view.messages[-1].text), 20)
            (code,) = CODE.findall(refused.messages[-1].text)[:1]
            await ana.send(f"/pair {code}")
            await telegram.wait_for(ana.id, lambda view: "Ben" in view.messages[-1].text, 20)
            await telegram.wait_for(ben.id, lambda view: "let in" in view.messages[-1].text, 20)
            everybodys, anas = sorted(await telegram.commands(), key=len)
            assert "pair" not in {command["command"] for command in everybodys}
            assert "pair" in {command["command"] for command in anas}
        assert await telegram.violations() == []
