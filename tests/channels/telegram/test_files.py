"""Files come and go."""

import asyncio
import struct
import zlib

import pytest
from blockbuster import blockbuster_ctx

from channels.contract import Addressed, Artifact, ChannelUnavailable, FileUnavailable, MessageReceived, PieceState
from tests.channels.telegram.turns import MENTION, asked, final, posted, texts, working
from tests.simulators.telegram.views import Upload

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_album_arrives_as_parts_of_one_group_all_addressed(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana, bot_status="administrator")
    files = [Upload(f"{name}.png", _png(4, 4), "photo", "image/png") for name in "abc"]
    entities = [{"type": "mention", "offset": 0, "length": len(MENTION) - 1}]
    await ana.send(f"{MENTION}compare", chat=group, files=files, media_group=True, entities=entities)
    events = [event for event in await host.wait_for(3) if isinstance(event, MessageReceived)]
    assert len({event.group for event in events}) == 1
    assert [event.addressed for event in events] == [Addressed.MENTION] * 3
    assert [event.text for event in events] == ["compare", "", ""]


async def test_a_caption_on_any_item_of_an_album_addresses_all_of_them(telegram, channel, host, ana) -> None:
    """Symptom: the pictures before the one with the caption were never heard of."""
    group = await telegram.group(ana, bot_status="administrator")
    picture = {"photo": [{"file_id": "P", "file_unique_id": "u", "width": 4, "height": 4}], "media_group_id": "g-9"}
    said = {
        "caption": f"{MENTION}compare",
        "caption_entities": [{"type": "mention", "offset": 0, "length": len(MENTION) - 1}],
    }
    host.refuse_ambient = True
    for number, extra in enumerate(({}, said, {}), 1):
        message = {
            "message_id": 900 + number, "date": 1_790_000_000, "chat": {"id": group, "type": "supergroup", "title": "Team"},
            "from": {"id": ana.id, "is_bot": False, "first_name": "Ana"}, **picture, **extra,
        }  # fmt: skip
        await telegram.inject(message=message)
    events = await host.wait_for(3)
    assert [event.message_id for event in events] == ["901", "902", "903"]
    assert [event.addressed for event in events] == [Addressed.MENTION] * 3


async def test_a_file_announced_as_too_large_is_not_asked_for(telegram, channel, host, ana, tmp_path) -> None:
    await ana.send("big", files=[Upload("big.bin", b"x", declared_size=25_000_000)])
    event = (await host.wait_for(1))[0]
    assert isinstance(event, MessageReceived)
    before = len(await telegram.calls("getFile"))
    with pytest.raises(FileUnavailable) as caught:
        await channel.download(event.files[0], tmp_path / "big.bin")
    assert "20 MB" in (caught.value.user_message or "")
    assert len(await telegram.calls("getFile")) == before


async def test_a_picture_is_shown_and_a_document_sent_each_once(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    picture, table = _png(40, 30), b"a,b\n1,2\n"
    host.put_file("/o/plot.png", picture, "image/png", tmp_path)
    host.put_file("/o/ünïcode table.csv", table, "text/csv", tmp_path)
    reply = final(
        "Here.",
        Artifact("/o/plot.png", "plot.png", "image/png", len(picture)),
        Artifact("/o/ünïcode table.csv", "ünïcode table.csv", "text/csv", len(table)),
    )
    await turn.show(reply)
    await turn.show(reply)
    sent = [message.file for message in await posted(telegram, ana.id) if message.file]
    assert [file["kind"] for file in sent] == ["photo", "document"]
    assert sent[1]["name"] == "ünïcode table.csv"
    assert await telegram.file(sent[1]["file_id"]) == table
    assert [piece.state for piece in turn.ledger.receipt.pieces] == [PieceState.SENT] * 3


async def test_a_picture_that_telegram_cannot_show_comes_as_a_document(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    wide = _png(2500, 10)
    host.put_file("/o/wide.png", wide, "image/png", tmp_path)
    await turn.show(final("Here.", Artifact("/o/wide.png", "wide.png", "image/png", len(wide))))
    (file,) = [message.file for message in await posted(telegram, ana.id) if message.file]
    assert file["kind"] == "document"
    assert await telegram.file(file["file_id"]) == wide


@pytest.mark.parametrize(
    "name", ['q"uo"te.csv', "new\nline.csv", "semi;colon=.csv", "@name_of_somebody.csv", "日本 語.csv"]
)
async def test_odd_names_arrive_as_they_are(telegram, channel, host, ana, tmp_path, name: str) -> None:
    turn = await asked(channel, host, ana)
    host.put_file("/o/a.csv", b"1,2", "text/csv", tmp_path)
    await turn.show(final("Here.", Artifact("/o/a.csv", name, "text/csv", 3)))
    (file,) = [message.file for message in await posted(telegram, ana.id) if message.file]
    assert (file["name"], await telegram.file(file["file_id"])) == (name.replace("\n", "_"), b"1,2")


async def test_after_a_crash_between_two_files_only_the_second_comes(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    files = [Artifact(f"/o/{name}.csv", f"{name}.csv", "text/csv", 3) for name in "ab"]
    for file in files:
        host.put_file(file.path, b"1,2", "text/csv", tmp_path)
    await telegram.fault("error", "sendDocument", status=500, skip=1)
    with pytest.raises(ChannelUnavailable):
        await turn.show(final("Here.", *files))
    await turn.show(final("Here.", *files))
    sent = [message.file["name"] for message in await posted(telegram, ana.id) if message.file]
    assert sent == ["a.csv", "b.csv"]


async def test_an_upload_whose_reply_was_lost_is_repeated_saying_so(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    host.put_file("/o/a.csv", b"1,2", "text/csv", tmp_path)
    await telegram.fault("lose_reply", "sendDocument")
    await turn.show(final("Here.", Artifact("/o/a.csv", "a.csv", "text/csv", 3)))
    sent = [message for message in await posted(telegram, ana.id) if message.file]
    assert [message.text for message in sent] == [
        "",
        "⚠️ This may be a repeat: Telegram did not confirm the earlier copy.",
    ]


async def test_empty_and_missing_files_become_lines(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    host.put_file("/o/empty.txt", b"", "text/plain", tmp_path)
    reply = final(
        "Here.",
        Artifact("/o/empty.txt", "empty.txt", "text/plain", 0),
        Artifact("/o/gone.txt", "gone.txt", "text/plain", 5),
    )
    await turn.show(reply)
    await turn.show(reply)
    assert await texts(telegram, ana.id) == [
        "Here.",
        "📎 empty.txt: the file is empty, and Telegram takes no empty files.",
        "📎 gone.txt: There is no such file.",
    ]


async def test_nothing_blocks_the_loop(telegram, channel, host, ana, tmp_path) -> None:
    content = b"x" * 300_000
    host.put_file("/o/a.bin", content, "application/octet-stream", tmp_path)
    with blockbuster_ctx("channels"):
        turn = await asked(channel, host, ana)
        await turn.show(working("half"))
        await turn.show(final("whole", Artifact("/o/a.bin", "a.bin", "application/octet-stream", len(content))))
        await ana.send("file", files=[Upload("in.bin", content)])
        event = (await host.wait_for(2))[-1]
        assert isinstance(event, MessageReceived)
        await channel.download(event.files[0], tmp_path / "in.bin")
    assert await asyncio.to_thread((tmp_path / "in.bin").read_bytes) == content
    assert len([message for message in await posted(telegram, ana.id) if message.file]) == 1


def _png(width: int, height: int) -> bytes:
    """A real picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * (width * 3) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
