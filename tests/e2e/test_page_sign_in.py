"""The page behind an access token: its sign-in looks like it, and leads to it."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.e2e.house import running
from tests.e2e.program import Program

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ARTIFACTS = Path("artifacts", "page")
TOKEN = "correct-horse-battery-staple"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright leaves its driver's pipes to the collector
]

LOOK = """() => {
    const body = getComputedStyle(document.body);
    const button = getComputedStyle(document.querySelector("form button:last-of-type"));
    return [body.backgroundColor, body.color, body.fontFamily, button.backgroundColor, button.color];
}"""


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with running(tmp_path / "home", {"gateway": {"port": 0, "access_token": TOKEN}}) as program:
        yield program


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        await browser.close()


async def test_one_signs_in_by_keyboard_on_any_screen_and_it_looks_like_the_page(
    program: Program, browser: Browser
) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        context = await browser.new_context(viewport={"width": 360, "height": 640}, color_scheme=scheme)
        page = await context.new_page()
        page.set_default_timeout(20_000)
        await page.goto(program.url)
        await give(page, "wrong")
        await expect(page.get_by_role("alert")).to_have_text("That is not the access token. Check it and try again.")
        await expect(page.get_by_label("Access token")).to_have_attribute("aria-invalid", "true")
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        await page.screenshot(path=ARTIFACTS / f"sign-in-{scheme}.png")
        sign_in = await page.evaluate(LOOK)
        await give(page, TOKEN)
        await expect(page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("so that the button has its colour")
        await page.locator("#send").evaluate("button => button.getAnimations().forEach(change => change.finish())")
        assert sign_in == await page.evaluate(LOOK)
        await context.close()


async def give(page: Page, token: str) -> None:
    await expect(page.get_by_label("Access token")).to_be_focused()
    await page.keyboard.type(token)
    await page.keyboard.press("Enter")
