"""Files into a thread: named safely, never over another one, bounded, nothing left behind."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import stamina
from hypothesis import example, given
from hypothesis import strategies as st

from agent.paths import ThreadPaths
from bridge.errors import InvalidRequest, TooLarge
from bridge.files import uploads as uploads_module
from bridge.files.config import UploadsConfig
from bridge.files.uploads import Refused, Upload, Uploads, safe_name
from channels.contract import ChannelUnavailable, FileRef, FileUnavailable

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


class Platform:
    """A channel that only gives files."""

    def __init__(self, **files: bytes | Exception | list[bytes | Exception]) -> None:
        self.files = files
        self.asked: list[str] = []

    async def download(self, ref: FileRef, destination: Path) -> None:
        self.asked.append(ref.ref)
        content = self.files[ref.ref]
        content = content.pop(0) if isinstance(content, list) else content
        if isinstance(content, Exception):
            raise content
        await asyncio.to_thread(destination.write_bytes, content)


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.fixture
def paths(tmp_path: Path) -> ThreadPaths:
    return ThreadPaths(tmp_path)


@pytest.fixture
def uploads(paths: ThreadPaths) -> Uploads:
    return Uploads(paths, UploadsConfig(max_file_bytes=100, max_files=3))


@pytest.fixture
def quick_retries() -> Iterator[None]:
    with stamina.set_testing(True, attempts=4):
        yield


def left(paths: ThreadPaths) -> dict[str, bytes]:
    """Every file below the thread's folder."""
    root = paths.root("t")
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_file_is_put_together_and_described(uploads: Uploads, paths: ThreadPaths) -> None:
    assert await uploads.save("t", "notes.txt", pieces(b"one ", b"two")) == Upload(
        "/mnt/user-data/uploads/notes.txt", "notes.txt", 7, "text/plain"
    )
    assert (await uploads.save("t", "x.bin", pieces(PNG))).is_image
    assert left(paths) == {"uploads/notes.txt": b"one two", "uploads/x.bin": PNG}


async def test_a_name_that_is_taken_gets_a_number_and_nothing_is_overwritten(
    uploads: Uploads, paths: ThreadPaths
) -> None:
    saved = await asyncio.gather(*(uploads.save("t", "a.txt", pieces(str(n).encode())) for n in range(5)))
    assert sorted(upload.name for upload in saved) == ["a.txt", "a_1.txt", "a_2.txt", "a_3.txt", "a_4.txt"]
    assert sorted(left(paths).values()) == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_link_under_the_name_is_not_followed(uploads: Uploads, paths: ThreadPaths, tmp_path: Path) -> None:
    await paths.create("t")
    (tmp_path / "victim").write_text("untouched")
    (paths.uploads("t") / "a.txt").symlink_to(tmp_path / "victim")
    assert (await uploads.save("t", "a.txt", pieces(b"new"))).name == "a_1.txt"
    assert (tmp_path / "victim").read_text() == "untouched"


@pytest.mark.parametrize(("chunks", "error"), [((b"x" * 60, b"x" * 60), TooLarge), ((), InvalidRequest)])
async def test_what_is_refused_leaves_nothing_behind(
    uploads: Uploads, paths: ThreadPaths, chunks: tuple[bytes, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await uploads.save("t", "a.txt", pieces(*chunks))
    assert left(paths) == {}


async def test_a_sender_that_breaks_off_leaves_nothing_behind(uploads: Uploads, paths: ThreadPaths) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await uploads.save("t", "a.txt", broken())
    assert left(paths) == {}


async def test_files_of_a_message_are_fetched_and_each_failure_says_why(uploads: Uploads, paths: ThreadPaths) -> None:
    platform = Platform(
        a=b"A", big=b"x" * 101, gone=FileUnavailable("404", user_message="it has expired"), odd=FileUnavailable("500")
    )
    refs = [FileRef(ref, f"{ref}.txt") for ref in ("a", "gone", "odd")]
    came, refused = await uploads.fetch("t", platform, refs, event_id=1)
    assert [upload.name for upload in came] == ["a.txt"]
    assert refused == [Refused("gone.txt", "it has expired"), Refused("odd.txt", "it could not be fetched")]
    came, refused = await uploads.fetch("t", platform, [FileRef("big", "big.txt")], event_id=2)
    assert came == []
    assert "larger than" in refused[0].reason
    await uploads.fetch_done("t")
    assert left(paths) == {"uploads/a.txt": b"A"}


async def test_a_file_known_to_be_too_large_is_not_even_fetched(uploads: Uploads) -> None:
    platform = Platform()
    _, refused = await uploads.fetch("t", platform, [FileRef("big", "big.txt", size_bytes=101)], event_id=1)
    assert [file.name for file in refused] == ["big.txt"]
    assert platform.asked == []


async def test_more_files_than_may_come_are_named(uploads: Uploads) -> None:
    refs = [FileRef(name, name) for name in "abcde"]
    came, refused = await uploads.fetch("t", Platform(**dict.fromkeys("abcde", b"x")), refs, event_id=1)
    assert [upload.name for upload in came] == ["a", "b", "c"]
    assert [file.name for file in refused] == ["d", "e"]


async def test_a_platform_that_is_down_is_asked_again_for_that_file_only(
    uploads: Uploads, paths: ThreadPaths, quick_retries: None
) -> None:
    """Symptom: after a hiccup the files that had come already were there twice."""
    platform = Platform(a=b"A", b=[ChannelUnavailable("down"), b"B"], c=ChannelUnavailable("down"))
    came, refused = await uploads.fetch("t", platform, [FileRef(ref, f"{ref}.txt") for ref in "abc"], event_id=1)
    assert [upload.name for upload in came] == ["a.txt", "b.txt"]
    assert [file.name for file in refused] == ["c.txt"]
    assert platform.asked == ["a", "b", "b", *["c"] * 4]
    await uploads.fetch_done("t")
    assert left(paths) == {"uploads/a.txt": b"A", "uploads/b.txt": b"B"}


async def test_the_files_of_an_event_come_once_however_often_they_are_fetched(
    uploads: Uploads, paths: ThreadPaths
) -> None:
    """Symptom: after a crash in the wrong moment `a_1.txt` stood beside `a.txt`."""
    platform = Platform(a=b"A", b=b"B")
    refs = [FileRef("a", "same.txt"), FileRef("b", "same.txt")]
    first, _ = await uploads.fetch("t", platform, refs, event_id=1)
    again, _ = await uploads.fetch("t", platform, refs, event_id=1)
    other, _ = await uploads.fetch("t", platform, refs[:1], event_id=2)
    assert [upload.name for upload in first] == ["same.txt", "same_1.txt"]
    assert again == first
    assert [upload.name for upload in other] == ["same_2.txt"]
    assert platform.asked == ["a", "b", "a"]
    await uploads.fetch_done("t")
    assert left(paths) == {"uploads/same.txt": b"A", "uploads/same_1.txt": b"B", "uploads/same_2.txt": b"A"}


async def test_a_file_that_came_and_was_not_given_its_name_gets_it(
    uploads: Uploads, paths: ThreadPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform(a=b"A")
    monkeypatch.setattr(uploads_module, "_publish", _dies)
    with pytest.raises(ConnectionError):
        await uploads.fetch("t", platform, [FileRef("a", "a.txt")], event_id=1)
    monkeypatch.undo()
    (came,), _ = await uploads.fetch("t", platform, [FileRef("a", "a.txt")], event_id=1)
    assert (came.name, platform.asked) == ("a.txt", ["a"])


def _dies(*_: object) -> None:
    raise ConnectionError("the process died")


async def test_a_file_that_is_here_already_is_not_fetched_again(uploads: Uploads) -> None:
    saved = await uploads.save("t", "a.txt", pieces(b"here"))
    platform = Platform()
    came, refused = await uploads.fetch("t", platform, [FileRef(saved.path, "a.txt")], event_id=1)
    assert (came, refused, platform.asked) == ([saved], [], [])


@pytest.mark.parametrize(
    "ref",
    ["/mnt/user-data/uploads/../../other/uploads/a.txt", "/mnt/user-data/uploads/link", "/mnt/user-data/uploads/"],
)
async def test_a_reference_out_of_the_thread_is_refused_like_any_other_file(
    uploads: Uploads, paths: ThreadPaths, tmp_path: Path, ref: str
) -> None:
    """Symptom: a message with a forged reference failed its whole turn."""
    await paths.create("t")
    (tmp_path / "secret").write_text("secret")
    (paths.uploads("t") / "link").symlink_to(tmp_path / "secret")
    platform = Platform(**{ref: FileUnavailable("no such file")})
    came, refused = await uploads.fetch("t", platform, [FileRef(ref, "a.txt")], event_id=1)
    assert came == []
    assert [file.name for file in refused] == ["a.txt"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\cv.doc", "cv.doc"),
        (".bashrc", "bashrc"),
        ("...", "file"),
        ("", "file"),
        ("a\nb\0c\x1b.txt", "abc.txt"),
        ("  spaces .txt ", "spaces .txt"),
        ("Ärger ✓.txt", "Ärger ✓.txt"),
        ("/", "file"),
    ],
)
def test_names_become_plain_file_names(sent: str, kept: str) -> None:
    assert safe_name(sent) == kept


@given(st.text(max_size=400) | st.text("é✓.x/", max_size=400))
@example("a" * 300 + "." + "😀" * 30)
def test_every_name_is_one_a_file_can_have(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert safe not in {".", ".."}
    assert not safe.startswith(".")
    assert not set(safe) & {"/", "\\", "\0", "\n"}
    assert len(safe.encode()) <= 240  # room for a number behind it; a name may have 255 bytes
