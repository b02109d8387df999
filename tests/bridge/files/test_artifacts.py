"""Files out of a thread: outputs and uploads, nothing else."""

import os
from pathlib import Path

import pytest

from agent.paths import ThreadPaths
from bridge.errors import NotFound
from bridge.files.artifacts import Artifacts


@pytest.fixture
async def paths(tmp_path: Path) -> ThreadPaths:
    paths = ThreadPaths(tmp_path)
    await paths.create("t")
    await paths.create("other")
    (paths.outputs("t") / "a.txt").write_text("hello")
    (paths.outputs("t") / "deep").mkdir()
    (paths.outputs("t") / "deep/b.svg").write_text("<svg/>")
    (paths.uploads("t") / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30)
    (paths.workspace("t") / "secret.txt").write_text("secret")
    (paths.outputs("other") / "secret.txt").write_text("secret")
    (paths.outputs("t") / "out").symlink_to(paths.workspace("t") / "secret.txt")
    (paths.outputs("t") / "away").symlink_to(tmp_path)
    (paths.outputs("t") / "loop").symlink_to(paths.outputs("t") / "loop")
    os.mkfifo(paths.outputs("t") / "pipe")
    return paths


@pytest.mark.parametrize(
    ("virtual", "name", "mime_type", "size"),
    [
        ("/mnt/user-data/outputs/a.txt", "a.txt", "text/plain", 5),
        ("/mnt/user-data/outputs/deep/b.svg", "b.svg", "image/svg+xml", 6),
        ("/mnt/user-data/uploads/c.png", "c.png", "image/png", 38),
    ],
)
async def test_a_file_is_opened_with_its_kind_and_size(
    paths: ThreadPaths, virtual: str, name: str, mime_type: str, size: int
) -> None:
    opened = await Artifacts(paths).open("t", virtual)
    assert (opened.name, opened.mime_type, opened.size_bytes) == (name, mime_type, size)
    assert opened.path.stat().st_size == size


@pytest.mark.parametrize(
    "virtual",
    [
        "/mnt/user-data/workspace/secret.txt",
        "/mnt/user-data/outputs/../workspace/secret.txt",
        "/mnt/user-data/outputs/../../other/outputs/secret.txt",
        "/mnt/user-data/outputs/out",
        "/mnt/user-data/outputs/away/threads/other/outputs/secret.txt",
        "/mnt/user-data/outputs/loop",
        "/mnt/user-data/outputs/pipe",
        "/mnt/user-data/outputs/deep",
        "/mnt/user-data/outputs/",
        "/mnt/user-data/outputs/no-such.txt",
        "/mnt/user-data/outputs/a.txt\0",
        "/mnt/user-data/outputs/" + "x" * 5000,
        "/etc/passwd",
        "a.txt",
        "",
    ],
)
async def test_everything_else_is_not_found_and_says_nothing_of_the_machine(
    paths: ThreadPaths, tmp_path: Path, virtual: str
) -> None:
    with pytest.raises(NotFound) as refused:
        await Artifacts(paths).open("t", virtual)
    assert refused.value.user_message == "There is no such file."
    assert str(tmp_path) not in str(refused.value)


async def test_a_thread_id_that_is_none_is_not_found(paths: ThreadPaths) -> None:
    for thread_id in ("..", "no-such-thread", ""):
        with pytest.raises(NotFound):
            await Artifacts(paths).open(thread_id, "/mnt/user-data/outputs/a.txt")
