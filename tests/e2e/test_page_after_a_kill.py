"""The page in a browser, while the program behind it is killed in the middle of an answer."""

import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.e2e.house import running
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Gate, Text

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright leaves its driver's pipes to the collector
]

WHOLE = "The answer begins, and now it ends."


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield await browser.new_page()
        await browser.close()


@pytest.fixture
def page_settings(model: ModelSimulator) -> dict[str, Any]:
    """The page alone, on a port that stays the same over restarts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return {
        "gateway": {"port": port},
        "models": [{"name": "main", "model": "fake", "api_key": model.api_key, "base_url": model.base_url}],
        "runs": {"lease_seconds": 4, "heartbeat_seconds": 1},
    }


async def test_the_page_finds_the_whole_answer_after_a_kill_in_mid_answer(
    tmp_path: Path, page_settings: dict[str, Any], model: ModelSimulator, page: Page
) -> None:
    await model.script(Text("The answer begins, ", 20), Gate("never"), match="question")
    await model.script(Text(WHOLE, 20), match="question")
    async with running(tmp_path / "home", page_settings) as program:
        await page.goto(program.url)
        await page.get_by_label("Message", exact=True).fill("question")
        await page.keyboard.press("Enter")
        shown = page.locator(".prose")
        await expect(shown).to_contain_text("begins", timeout=20_000)
        await program.kill()
        await expect(page.locator("#connection")).to_have_text("Reconnecting…", timeout=20_000)
        await program.start()
        await expect(shown).to_have_text(WHOLE, timeout=40_000)
        await expect(page.locator("#connection")).to_be_hidden(timeout=20_000)
        await page.reload()
        await expect(shown).to_have_text([WHOLE], timeout=20_000)
        await page.close()
    assert await model.asked() == {"question": 2}
