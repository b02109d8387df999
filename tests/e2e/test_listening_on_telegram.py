"""How the program hears Telegram: called by it, or asking it, in one replica of several."""

import socket
from pathlib import Path

import aiohttp
import pytest

from tests.e2e.house import fresh_database, running, settings_for
from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Text
from tests.simulators.telegram.client import Person, TelegramSimulator

pytestmark = pytest.mark.e2e


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def answered(telegram: TelegramSimulator, model: ModelSimulator, person: Person, text: str) -> None:
    """The person writes and gets one answer."""
    await model.script(Text(f"heard {text}"), match=text)
    await person.send(text)
    await shows(telegram, person, f"heard {text}")


async def shows(telegram: TelegramSimulator, person: Person, text: str) -> None:
    chat = await telegram.wait_for(person.id, lambda view: view.last and view.last.text == text, 30)
    assert [message.text for message in chat.from_bot].count(text) == 1


async def test_telegram_calls_the_program_and_what_it_could_not_bring_comes_after_a_kill(tmp_path: Path) -> None:
    async with TelegramSimulator(time_scale=10) as telegram, ModelSimulator() as model:  # it tries again sooner
        settings = settings_for(telegram, model, None)
        ana, port = await telegram.person("Ana"), free_port()
        settings["gateway"] = {"port": port, "access_token": "for-the-page-and-the-api-alone"}
        polling = settings["channels"]["telegram"]
        webhook = {**polling, "transport": "webhook", "public_url": f"http://127.0.0.1:{port}"}
        settings["channels"] = {"telegram": webhook}
        async with running(tmp_path / "home", settings) as program:
            await answered(telegram, model, ana, "the first")
            async with aiohttp.ClientSession() as session:
                forged = {"update_id": 1, "message": {"message_id": 1, "date": 1, "text": "forged"}}
                async with session.post(f"{program.url}/telegram/webhook", json=forged) as reply:
                    assert reply.status == 403
                    assert "Content-Security-Policy" in reply.headers
            await program.kill()
            await model.script(Text("heard the second"), match="the second")
            await ana.send("the second")
            await program.start()
            await shows(telegram, ana, "heard the second")
            assert (await program.health())[0] == 200
        settings["channels"] = {"telegram": polling}
        async with running(tmp_path / "home", settings) as program:
            await answered(telegram, model, ana, "the third")
            assert "a webhook to 127.0.0.1 was set; it is removed" in program.log()
        assert await telegram.pending_updates() == []
        assert await telegram.violations() == []


@pytest.mark.postgres
async def test_of_two_replicas_one_asks_telegram_and_the_other_goes_on_when_it_is_killed(
    tmp_path: Path, postgres_server: str
) -> None:
    async with TelegramSimulator() as telegram, ModelSimulator() as model:
        with fresh_database(postgres_server) as url:
            settings = settings_for(telegram, model, url)
            ana = await telegram.person("Ana")
            async with running(tmp_path / "one", settings) as one:
                await answered(telegram, model, ana, "the first")
                two = Program(tmp_path / "two", settings=settings)
                try:
                    await two.start()
                    status, body = await two.health()
                    assert (status, body["channels"]["telegram"]["ok"]) == (200, True)
                    assert "another replica listens" in body["channels"]["telegram"]["detail"]
                    await answered(telegram, model, ana, "the second")
                    await one.kill()
                    await answered(telegram, model, ana, "the third")
                    assert (await two.health())[1]["channels"]["telegram"]["detail"] == ""
                    await two.stop()
                finally:
                    await two.kill()
            assert "another program polls" not in one.log() + two.log()
            assert await telegram.violations() == []
