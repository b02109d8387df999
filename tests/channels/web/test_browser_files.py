"""Files on the page, both ways, in headless Chromium against a real server."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from channels.contract import (
    Artifact,
    MessageReceived,
)
from tests.channels.web.browsing import NEEDS_BROWSER, OpenPage, say
from tests.channels.web.house import OUTPUTS, MemoryHouse, Turn

pytestmark = NEEDS_BROWSER

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63606060f80f0001040100"
    "5fe5c34b0000000049454e44ae426082"
)


async def test_files_are_uploaded_removed_and_sent_with_the_message(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    await page.set_input_files(
        "#file-input",
        [
            {"name": "sales.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"},
            {"name": "wrong.csv", "mimeType": "text/csv", "buffer": b"x"},
        ],
    )
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(2)
    await page.get_by_role("button", name="Remove: wrong.csv").click()
    await say(page, "What is in it?")
    await expect(page.locator(".message .file-name")).to_have_text("sales.csv")
    event = await asyncio.wait_for(house.wait_for(lambda event: isinstance(event, MessageReceived)), 5)
    assert isinstance(event, MessageReceived)
    assert [file.name for file in event.files] == ["sales.csv"]
    await expect(page.locator(".attachment")).to_have_count(0)


async def test_files_are_dropped_and_pasted(house: MemoryHouse, open_page: OpenPage) -> None:
    page = await open_page()
    give = """([kind, name]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["a,b"], name, { type: "text/csv" }));
        const options = { bubbles: true, cancelable: true, dataTransfer: transfer, clipboardData: transfer };
        const event = kind === "paste" ? new ClipboardEvent(kind, options) : new DragEvent(kind, options);
        document.getElementById(kind === "paste" ? "composer-text" : "stage").dispatchEvent(event);
    }"""
    await page.evaluate(give, ["dragenter", "dropped.csv"])
    await expect(page.locator("#drop-zone")).to_be_visible()
    await page.evaluate(give, ["drop", "dropped.csv"])
    await expect(page.locator("#drop-zone")).to_be_hidden()
    await expect(page.locator(".attachment[data-state=done]")).to_have_count(1)
    await page.evaluate(give, ["paste", "pasted.csv"])
    await expect(page.locator(".attachment[data-state=done] .file-name")).to_have_text(["dropped.csv", "pasted.csv"])


async def test_a_file_of_the_agent_is_downloaded_and_a_picture_shown(
    house: MemoryHouse, open_page: OpenPage, tmp_path: Path
) -> None:
    async def agent(turn: Turn) -> None:
        for name, content in (("report.md", b"# Report"), ("chart.png", PIXEL)):
            turn.house.put_file(turn.event.conversation, OUTPUTS / name, content)
        await turn.finish(
            Artifact(str(OUTPUTS / "report.md"), "report.md", "text/markdown", 8),
            Artifact(str(OUTPUTS / "chart.png"), "chart.png", "image/png", len(PIXEL)),
        )

    house.agent = agent
    page = await open_page()
    await say(page, "write it")
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name="report.md").click()
    download = await waiting.value
    assert download.suggested_filename == "report.md"
    await download.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == b"# Report"
    picture = page.get_by_role("img", name="chart.png")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
