"""Headless Chromium for the tests of the page, and what people and the agent do in it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from channels.contract import Notice, NoticeKind, Text
from tests.channels.web.house import Turn

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright leaves its driver's pipes to the collector
]

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
ARTIFACTS = Path("artifacts", "page")
OpenPage = Callable[..., Awaitable[Page]]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def complaints() -> AsyncIterator[list[str]]:
    """What the browser complained about: errors of scripts, violations of the policy. None is the rule."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
async def open_page(
    request: pytest.FixtureRequest, browser: Browser, server: TestServer, complaints: list[str]
) -> AsyncIterator[OpenPage]:
    """Opens pages; what they show in the end is kept as a picture in `artifacts/`."""
    pages: list[Page] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "net::ERR" not in message.text:
            complaints.append(message.text)

    async def opened(**context: Any) -> Page:
        page = await (await browser.new_context(**context)).new_page()
        page.set_default_timeout(8_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(str(server.make_url("/")))
        pages.append(page)
        return page

    yield opened
    for number, page in enumerate(pages):
        if not page.is_closed():
            await page.screenshot(path=ARTIFACTS / f"{request.node.name}-{number}.png")


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def words(turn: Turn, text: str, *before: Any, delay: float = 0.03) -> None:
    parts = text.split(" ")
    for count in range(1, len(parts) + 1):
        await turn.show(*before, Text("m", " ".join(parts[:count])))
        await asyncio.sleep(delay)
        if turn.is_stopped:
            await turn.finish(*turn.parts, Notice(NoticeKind.STOPPED, "Stopped."))
            return
    await turn.finish()
