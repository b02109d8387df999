"""The main job in a browser: the page, the real program and its demo model, as a newcomer meets them."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.e2e.house import running
from tests.e2e.program import Program

CHROMIUM = shutil.which("chromium")
ARTIFACTS = Path("artifacts", "page")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright leaves its driver's pipes to the collector
]


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    settings = {"gateway": {"port": 0}, "runs": {"lease_seconds": 4, "heartbeat_seconds": 1, "drain_seconds": 2}}
    async with running(tmp_path / "home", settings) as program:
        yield program


@pytest.fixture
async def page(program: Program) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await (await browser.new_context(viewport={"width": 1100, "height": 760})).new_page()
        page.set_default_timeout(20_000)
        await page.goto(program.url)
        yield page
        await browser.close()


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def test_the_five_minutes_of_a_newcomer(program: Program, page: Page) -> None:
    await say(page, "hello")
    await expect(page.get_by_role("heading", name="hello", exact=True)).to_be_visible()
    await expect(page.locator(".reply").last).to_contain_text("demo model")
    await expect(page.locator(".line .line-title")).to_have_text("hello")  # the first turn goes on
    await say(page, "make a report")  # while the first is being written: it waits, then asks
    await expect(page.get_by_role("button", name="A detailed report")).to_be_visible(timeout=30_000)
    await page.screenshot(path=ARTIFACTS / "question.png")
    await page.get_by_role("button", name="A detailed report").click()
    await expect(page.locator("a[download], a[href*='download']").first).to_be_visible(timeout=30_000)
    async with page.expect_download() as download:
        await page.locator("a[download], a[href*='download']").first.click()
    assert "report" in (await (await download.value).path()).read_text().casefold()
    await page.screenshot(path=ARTIFACTS / "file.png")
    table = {"name": "sales.csv", "mimeType": "text/csv", "buffer": b"city,units\nOslo,3\nRome,5\n"}
    await page.locator("input[type=file]").set_input_files(table)
    await say(page, "what is in this file?")
    await expect(page.locator(".reply[data-phase=final]").last).to_contain_text("2 rows", timeout=30_000)
    await expect(page.locator(".reply").last.locator("td", has_text="Oslo")).to_be_visible()
    await page.screenshot(path=ARTIFACTS / "table.png")


async def test_an_answer_outlives_a_killed_program_and_a_reload(program: Program, page: Page) -> None:
    port = program.url.rpartition(":")[2]
    await say(page, "help")
    await expect(page.locator(".reply").last).to_contain_text("demo")
    await program.kill()
    program.listen_on(int(port))
    await program.start()
    await page.reload()
    await expect(page.locator(".reply[data-phase=final]").last).to_contain_text("models:", timeout=30_000)
    await expect(page.locator(".reply")).to_have_count(1)


async def test_stop_ends_the_answer(program: Program, page: Page) -> None:
    await say(page, "help")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".reply[data-phase=final]").last).to_contain_text("Stopped.")
