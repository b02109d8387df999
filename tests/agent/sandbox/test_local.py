"""The local sandbox on real files."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from agent.errors import AgentError, ClassNotLoaded, PathOutside, ToolFailed
from agent.paths import ThreadPaths
from agent.sandbox import FileText, Sandbox, SandboxConfig, open_sandbox_provider
from agent.sandbox.local import LocalSandbox

THREAD = "thread-1"
WORK = "/mnt/user-data/workspace"


@pytest.fixture
async def paths(tmp_path: Path) -> ThreadPaths:
    paths = ThreadPaths(tmp_path)
    await paths.create(THREAD)
    return paths


async def opened(paths: ThreadPaths, thread_id: str = THREAD, **limits: int) -> Sandbox:
    return await open_sandbox_provider(SandboxConfig.model_validate(limits), paths).acquire(thread_id)


@pytest.fixture
async def sandbox(paths: ThreadPaths) -> Sandbox:
    return await opened(paths)


async def test_a_file_is_read_as_it_was_written(sandbox: Sandbox, paths: ThreadPaths) -> None:
    content = "first\r\n/mnt/user-data/workspace stays as it is\n\ttab ü 🌍\rlast"
    await sandbox.write(f"{WORK}/deep/er/a b.txt", content)
    assert (await sandbox.read(f"{WORK}/deep/er/a b.txt")).text == content
    assert (paths.workspace(THREAD) / "deep/er/a b.txt").read_bytes() == content.encode()


async def test_append_adds_and_write_replaces(sandbox: Sandbox) -> None:
    path = f"{WORK}/a.txt"
    await sandbox.write(path, "one", append=True)
    await sandbox.write(path, " two", append=True)
    assert (await sandbox.read(path)).text == "one two"
    await sandbox.write(path, "three")
    assert (await sandbox.read(path)).text == "three"


RANGES = [
    ((1, None), FileText("a\nb\nc", None)),
    ((2, None), FileText("b\nc", None)),
    ((1, 2), FileText("a\nb\n", None)),
    ((3, 3), FileText("c", None)),
    ((3, 99), FileText("c", None)),
]


@pytest.mark.parametrize(("lines", "expected"), RANGES)
async def test_lines_are_read_by_number(sandbox: Sandbox, lines: tuple[int, int | None], expected: FileText) -> None:
    await sandbox.write(f"{WORK}/a.txt", "a\nb\nc")
    assert await sandbox.read(f"{WORK}/a.txt", start_line=lines[0], end_line=lines[1]) == expected


@pytest.mark.parametrize("lines", [(0, None), (-1, None), (3, 2), (4, None), (9, 12)])
async def test_a_range_that_is_none_is_refused(sandbox: Sandbox, lines: tuple[int, int | None]) -> None:
    await sandbox.write(f"{WORK}/a.txt", "a\nb\nc\n")
    with pytest.raises(ToolFailed, match="line"):
        await sandbox.read(f"{WORK}/a.txt", start_line=lines[0], end_line=lines[1])


async def test_an_empty_file_is_read_as_empty(sandbox: Sandbox) -> None:
    await sandbox.write(f"{WORK}/a.txt", "")
    assert await sandbox.read(f"{WORK}/a.txt") == FileText("", None)


async def test_a_long_file_is_read_in_stretches_that_make_the_whole(paths: ThreadPaths) -> None:
    sandbox = await opened(paths, read_max_chars=100)
    lines = [f"line {number}\n" for number in range(50)]
    await sandbox.write(f"{WORK}/a.txt", "".join(lines))
    text, at = "", 1
    for _ in range(20):
        stretch = await sandbox.read(f"{WORK}/a.txt", start_line=at)
        assert len(stretch.text) <= 100
        text += stretch.text
        if stretch.next_line is None:
            break
        at = stretch.next_line
    assert text == "".join(lines)


async def test_a_line_beyond_the_limit_is_cut_and_says_so(paths: ThreadPaths) -> None:
    sandbox = await opened(paths, read_max_chars=100)
    await sandbox.write(f"{WORK}/a.txt", "x" * 150 + "\nend\n")
    assert await sandbox.read(f"{WORK}/a.txt") == FileText("x" * 100, 2, cut=True)
    assert (await sandbox.read(f"{WORK}/a.txt", start_line=2)).text == "end\n"


async def test_a_binary_file_is_not_text(sandbox: Sandbox, paths: ThreadPaths) -> None:
    (paths.uploads(THREAD) / "a.png").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(ToolFailed, match="not a text file"):
        await sandbox.read("/mnt/user-data/uploads/a.png")


async def test_text_of_another_encoding_is_read_as_well_as_it_goes(sandbox: Sandbox, paths: ThreadPaths) -> None:
    (paths.uploads(THREAD) / "a.csv").write_bytes("Zürich,1\n".encode("cp1252"))
    assert (await sandbox.read("/mnt/user-data/uploads/a.csv")).text == "Z\ufffdrich,1\n"


async def test_one_occurrence_is_replaced(sandbox: Sandbox) -> None:
    await sandbox.write(f"{WORK}/a.txt", "one two three")
    assert await sandbox.edit(f"{WORK}/a.txt", "two", "2") == 1
    assert (await sandbox.read(f"{WORK}/a.txt")).text == "one 2 three"


async def test_several_occurrences_are_refused_unless_all_are_meant(sandbox: Sandbox) -> None:
    await sandbox.write(f"{WORK}/a.txt", "a b a")
    with pytest.raises(ToolFailed, match="2 times"):
        await sandbox.edit(f"{WORK}/a.txt", "a", "x")
    assert (await sandbox.read(f"{WORK}/a.txt")).text == "a b a"
    assert await sandbox.edit(f"{WORK}/a.txt", "a", "x", replace_all=True) == 2
    assert (await sandbox.read(f"{WORK}/a.txt")).text == "x b x"


@pytest.mark.parametrize(("old", "told"), [("gone", "is not in"), ("", "is empty"), ("b\nc", r"end in \\r\\n")])
async def test_a_replacement_that_cannot_be_made_is_refused(sandbox: Sandbox, old: str, told: str) -> None:
    await sandbox.write(f"{WORK}/a.txt", "a b\r\nc")
    with pytest.raises(ToolFailed, match=told):
        await sandbox.edit(f"{WORK}/a.txt", old, "x")


async def test_an_edit_leaves_bytes_it_does_not_mean(sandbox: Sandbox, paths: ThreadPaths) -> None:
    file = paths.workspace(THREAD) / "a.txt"
    file.write_bytes(b"\xff\xfe old \r\n\xe9")
    await sandbox.edit(f"{WORK}/a.txt", "old", "new")
    assert file.read_bytes() == b"\xff\xfe new \r\n\xe9"


async def test_parallel_edits_of_one_file_are_all_kept(paths: ThreadPaths) -> None:
    provider = open_sandbox_provider(SandboxConfig(), paths)
    first = await provider.acquire(THREAD)
    await first.write(f"{WORK}/a.txt", " ".join(f"<{n}>" for n in range(40)))

    async def edit(number: int) -> None:
        sandbox = await provider.acquire(THREAD)
        await sandbox.edit(f"{WORK}/a.txt", f"<{number}>", f"[{number}]")

    await asyncio.gather(*(edit(number) for number in range(40)))
    assert (await first.read(f"{WORK}/a.txt")).text == " ".join(f"[{n}]" for n in range(40))


async def test_parallel_appends_are_all_kept(sandbox: Sandbox) -> None:
    await asyncio.gather(*(sandbox.write(f"{WORK}/log", f"{n}\n", append=True) for n in range(40)))
    assert sorted((await sandbox.read(f"{WORK}/log")).text.split(), key=int) == [str(n) for n in range(40)]


async def test_a_cancelled_edit_does_not_lose_the_next_one(sandbox: Sandbox) -> None:
    await sandbox.write(f"{WORK}/a.txt", "<1> <2>" + " x" * 30_000)
    task = asyncio.create_task(sandbox.edit(f"{WORK}/a.txt", "<1>", "[1]"))
    await asyncio.sleep(0)
    task.cancel()
    await sandbox.edit(f"{WORK}/a.txt", "<2>", "[2]")
    await asyncio.sleep(0.1)
    text = (await sandbox.read(f"{WORK}/a.txt")).text
    assert text.startswith(("[1] [2]", "<1> [2]"))


async def test_limits_are_kept(paths: ThreadPaths) -> None:
    sandbox = await opened(paths, write_max_bytes=1000, file_max_bytes=1500)
    with pytest.raises(ToolFailed, match="append"):
        await sandbox.write(f"{WORK}/a.txt", "ü" * 501)
    await sandbox.write(f"{WORK}/a.txt", "x" * 1000)
    await sandbox.write(f"{WORK}/a.txt", "x" * 1000, append=True)
    with pytest.raises(ToolFailed, match="too large"):
        await sandbox.write(f"{WORK}/a.txt", "x", append=True)
    with pytest.raises(ToolFailed, match="too large"):
        await sandbox.edit(f"{WORK}/a.txt", "x", "y", replace_all=True)
    await sandbox.write(f"{WORK}/a.txt", "small again")


async def test_half_a_character_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ToolFailed, match="surrogate"):
        await sandbox.write(f"{WORK}/a.txt", "\ud83d")


async def test_a_listing_is_sorted_two_levels_deep_and_leaves_rubbish_out(sandbox: Sandbox, paths: ThreadPaths) -> None:
    for name in ("b.txt", "a/x.txt", "a/deep/er.txt", "node_modules/m.js", ".git/config"):
        await sandbox.write(f"{WORK}/{name}", "12345")
    (paths.workspace(THREAD) / "inside").symlink_to("b.txt")
    (paths.workspace(THREAD) / "outside").symlink_to("/etc")
    listed = await sandbox.ls(WORK)
    assert [entry.path.removeprefix(f"{WORK}/") for entry in listed] == ["a", "a/deep", "a/x.txt", "b.txt", "inside"]
    assert [entry.is_directory for entry in listed] == [True, True, False, False, False]
    assert listed[3].size_bytes == 5


async def test_the_root_lists_the_three_directories(sandbox: Sandbox) -> None:
    await sandbox.write("/mnt/user-data/outputs/a.txt", "x")
    listed = [entry.path for entry in await sandbox.ls("/mnt/user-data/")]
    root = "/mnt/user-data"
    assert listed == [f"{root}/outputs", f"{root}/outputs/a.txt", f"{root}/uploads", f"{root}/workspace"]


async def test_a_thread_without_directories_lists_nothing_and_can_be_written_to(paths: ThreadPaths) -> None:
    sandbox = await opened(paths, "thread-new")
    assert await sandbox.ls(WORK) == []
    await sandbox.write(f"{WORK}/a.txt", "x")
    assert [entry.path for entry in await sandbox.ls(WORK)] == [f"{WORK}/a.txt"]


async def test_threads_do_not_see_each_other(sandbox: Sandbox, paths: ThreadPaths) -> None:
    await sandbox.write(f"{WORK}/a.txt", "mine")
    other = await opened(paths, "thread-2")
    with pytest.raises(ToolFailed, match="there is no"):
        await other.read(f"{WORK}/a.txt")


OUTSIDE = [
    "/etc/passwd",
    "relative.txt",
    "/mnt/user-data/workspace/../../x",
    "/mnt/user-data/workspace/out/x",
    "/mnt/user-data/workspace/out",
    "/mnt/user-data/.staging/x",
    "/mnt/user-data2/workspace/x",
    "/mnt/user-data/workspace/a\0b",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_call_leads_out(sandbox: Sandbox, paths: ThreadPaths, tmp_path: Path, path: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("secret")
    (paths.workspace(THREAD) / "out").symlink_to(tmp_path / "elsewhere")
    calls = (
        sandbox.read(path),
        sandbox.write(path, "x"),
        sandbox.write(path, "x", append=True),
        sandbox.edit(path, "secret", "x"),
        sandbox.stat(path),
        sandbox.ls(path),
    )
    for call in calls:
        with pytest.raises(PathOutside) as caught:
            await call
        assert str(tmp_path) not in str(caught.value)
    assert (tmp_path / "elsewhere" / "x").read_text() == "secret"


async def test_no_error_names_the_machines_paths(sandbox: Sandbox, paths: ThreadPaths, tmp_path: Path) -> None:
    await sandbox.write(f"{WORK}/file", "x")
    os.mkfifo(paths.workspace(THREAD) / "pipe")
    calls = (
        sandbox.read(f"{WORK}/gone"),
        sandbox.read(WORK),
        sandbox.read(f"{WORK}/file/below"),
        sandbox.read(f"{WORK}/pipe"),
        sandbox.read(f"{WORK}/{'n' * 300}"),
        sandbox.write(WORK, "x"),
        sandbox.write(f"{WORK}/pipe", "x", append=True),
        sandbox.write(f"{WORK}/file/below", "x"),
        sandbox.write(f"{WORK}/{'n' * 300}", "x"),
        sandbox.edit(f"{WORK}/gone", "a", "b"),
        sandbox.ls(f"{WORK}/gone"),
        sandbox.ls(f"{WORK}/file"),
        sandbox.stat(f"{WORK}/gone"),
    )
    for call in calls:
        with pytest.raises(AgentError) as caught:
            await call
        assert str(tmp_path) not in str(caught.value)
        assert "/mnt/user-data/workspace" in str(caught.value)


async def test_a_failed_write_leaves_the_old_file_and_no_rubbish(
    sandbox: Sandbox, paths: ThreadPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.write(f"{WORK}/a.txt", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolFailed, match="No space left"):
        await sandbox.write(f"{WORK}/a.txt", "new")
    assert (await sandbox.read(f"{WORK}/a.txt")).text == "old"
    assert list(paths.staging(THREAD).iterdir()) == []


async def test_a_writer_killed_half_way_leaves_the_old_file_and_nothing_to_be_seen(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    await sandbox.write(f"{WORK}/a.txt", "0123456789" * 100)
    program = textwrap.dedent("""
        import asyncio, shutil, sys, time
        from pathlib import Path
        from agent.paths import ThreadPaths
        from agent.sandbox import SandboxConfig, open_sandbox_provider

        def stop_half_way(source, target):
            target.write(source.read(500))
            target.flush()
            print("half way", flush=True)
            time.sleep(60)

        async def main():
            provider = open_sandbox_provider(SandboxConfig(), ThreadPaths(Path(sys.argv[1])))
            sandbox = await provider.acquire("thread-1")
            shutil.copyfileobj = stop_half_way
            await sandbox.write("/mnt/user-data/workspace/a.txt", "more", append=True)

        asyncio.run(main())
    """)
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(tmp_path), stdout=PIPE)
    assert writer.stdout is not None
    assert await writer.stdout.readline() == b"half way\n"
    writer.kill()
    await writer.wait()
    assert (await sandbox.read(f"{WORK}/a.txt")).text == "0123456789" * 100
    assert [entry.path for entry in await sandbox.ls("/mnt/user-data")][-1] == f"{WORK}/a.txt"
    await sandbox.write(f"{WORK}/a.txt", "!", append=True)
    assert (await sandbox.read(f"{WORK}/a.txt")).text.endswith("9!")


async def test_the_sandbox_names_its_thread(sandbox: Sandbox) -> None:
    assert isinstance(sandbox, LocalSandbox)
    assert sandbox.id == "local:thread-1"


async def test_a_bad_thread_id_gets_no_sandbox(paths: ThreadPaths) -> None:
    with pytest.raises(PathOutside):
        await opened(paths, "../x")


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassNotLoaded):
        open_sandbox_provider(SandboxConfig(use="agent.sandbox.nothing:X"), ThreadPaths(tmp_path))
