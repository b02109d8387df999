"""ThreadPaths: whole segments both ways, and no way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import PathOutside
from agent.paths import ThreadPaths

THREAD = "thread-1"


@pytest.fixture
async def paths(tmp_path: Path) -> ThreadPaths:
    paths = ThreadPaths(tmp_path / "home")
    await paths.create(THREAD)
    return paths


async def test_directories_are_made_once_and_again(paths: ThreadPaths) -> None:
    await paths.create(THREAD)
    assert paths.workspace(THREAD).is_dir()
    assert paths.uploads(THREAD).is_dir()
    assert paths.outputs(THREAD).is_dir()


@pytest.mark.parametrize("area", ["workspace", "uploads", "outputs"])
def test_a_path_goes_there_and_back(paths: ThreadPaths, area: str) -> None:
    for virtual in (f"/mnt/user-data/{area}", f"/mnt/user-data/{area}/a b/ü.txt"):
        real = paths.resolve(THREAD, virtual)
        assert real.is_relative_to(paths.root(THREAD) / area)
        assert paths.virtual(THREAD, real) == virtual


@given(name=st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=40))
def test_every_file_name_goes_there_and_back(name: str) -> None:
    paths = ThreadPaths(Path("/nowhere/home"))
    virtual = f"/mnt/user-data/outputs/{name}"
    if name in {".", ".."}:
        return
    assert paths.virtual(THREAD, paths.resolve(THREAD, virtual)) == virtual


@pytest.mark.parametrize(
    "virtual",
    [
        "",
        "/",
        "report.md",
        "./workspace/report.md",
        "/etc/passwd",
        "/mnt",
        "/mnt/user-data",
        "/mnt/user-data/",
        "/mnt/user-data/secret",
        "/mnt/user-data/.staging/x",
        "/mnt/user-data2/workspace/x",
        "/mnt/user-data/workspace2/x",
        "/mnt/user-data/workspace/../../../other/workspace/x",
        "/mnt/user-data/workspace/../uploads/x",
        "/mnt/user-data/workspace/a/../b",
        "/mnt/user-data/../../etc/passwd",
        "/mnt/user-data/outputs/..",
        "/mnt/user-data/outputs/a\0b",
        "//mnt/user-data/workspace/x",
        "~/x",
        "file:///mnt/user-data/workspace/x",
    ],
)
def test_what_is_not_below_a_virtual_directory_is_outside(paths: ThreadPaths, virtual: str) -> None:
    with pytest.raises(PathOutside):
        paths.resolve(THREAD, virtual)


def test_links_do_not_lead_out(paths: ThreadPaths, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    work = paths.workspace(THREAD)
    (work / "file").symlink_to(secret / "key")
    (work / "dir").symlink_to(secret)
    (work / "chain").symlink_to(work / "dir")
    (work / "up").symlink_to("../..")
    (work / "future").symlink_to(tmp_path / "not-yet")
    (work / "neighbour").symlink_to(paths.root("thread-2"))
    (work / "uploads").symlink_to(paths.uploads(THREAD))
    (work / "prefix").symlink_to(paths.root(THREAD) / "workspace2")
    for name in (
        "prefix",
        "prefix/x",
        "file",
        "dir",
        "dir/key",
        "dir/new",
        "chain/key",
        "up",
        "up/x",
        "future",
        "neighbour",
        "uploads/x",
    ):
        with pytest.raises(PathOutside):
            paths.resolve(THREAD, f"/mnt/user-data/workspace/{name}")


def test_links_that_stay_inside_are_followed(paths: ThreadPaths) -> None:
    work = paths.workspace(THREAD)
    (work / "real.txt").write_text("x")
    (work / "link.txt").symlink_to(work / "real.txt")
    assert paths.resolve(THREAD, "/mnt/user-data/workspace/link.txt") == work / "real.txt"


def test_links_in_a_circle_lead_nowhere(paths: ThreadPaths, tmp_path: Path) -> None:
    work = paths.workspace(THREAD)
    (work / "a").symlink_to("b")
    (work / "b").symlink_to("a")
    (work / "out").symlink_to("a/../../../../secret")
    for name in ("a", "b", "out", "a/x"):
        with pytest.raises(PathOutside):
            paths.resolve(THREAD, f"/mnt/user-data/workspace/{name}")


def test_a_directory_that_is_itself_a_link_is_refused(paths: ThreadPaths, tmp_path: Path) -> None:
    paths.outputs(THREAD).rmdir()
    paths.outputs(THREAD).symlink_to(tmp_path)
    with pytest.raises(PathOutside):
        paths.resolve(THREAD, "/mnt/user-data/outputs/x")


async def test_a_home_behind_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    paths = ThreadPaths(tmp_path / "home")
    await paths.create(THREAD)
    real = paths.resolve(THREAD, "/mnt/user-data/outputs/x")
    assert paths.virtual(THREAD, real) == "/mnt/user-data/outputs/x"


@pytest.mark.parametrize("thread_id", ["", ".", "..", "a/b", "../x", "a" * 65, "a b", "ä", "a\n", "a\0"])
def test_a_thread_id_is_letters_digits_and_two_signs(paths: ThreadPaths, thread_id: str) -> None:
    with pytest.raises(PathOutside):
        paths.root(thread_id)


@pytest.mark.parametrize(
    "real", ["../thread-2/outputs/x", "secret", ".", "outputs2/x", ".staging/x", "outputs/../../x"]
)
def test_what_is_none_of_the_threads_has_no_virtual_path(paths: ThreadPaths, real: str) -> None:
    with pytest.raises(PathOutside):
        paths.virtual(THREAD, paths.root(THREAD) / real)


def test_errors_do_not_name_the_machines_paths(paths: ThreadPaths, tmp_path: Path) -> None:
    (paths.workspace(THREAD) / "out").symlink_to(tmp_path)
    with pytest.raises(PathOutside) as caught:
        paths.resolve(THREAD, "/mnt/user-data/workspace/out/x")
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(PathOutside) as caught:
        paths.virtual(THREAD, tmp_path)
    assert str(tmp_path) not in str(caught.value)


async def test_a_deleted_thread_is_gone_and_its_neighbour_is_not(paths: ThreadPaths) -> None:
    await paths.create("thread-2")
    (paths.outputs(THREAD) / "x").write_text("x")
    await paths.delete(THREAD)
    await paths.delete(THREAD)
    assert not paths.root(THREAD).exists()
    assert paths.outputs("thread-2").is_dir()
