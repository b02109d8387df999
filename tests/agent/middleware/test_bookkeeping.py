"""Small rules of uploads, titles and dates."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphInterrupt

from agent.middleware.bookkeeping.current_uploads import announce, readable_size, uploads_block
from agent.middleware.bookkeeping.title import UNTITLED, local_title
from agent.middleware.config import TitleConfig
from agent.middleware.tool_calls.tool_error_handling import ToolErrorHandlingMiddleware
from agent.state import UploadedFile, ordered_union


def file(name: str, size: int = 10) -> UploadedFile:
    return UploadedFile(filename=name, size=size, path=f"/mnt/user-data/uploads/{name}")


def test_beyond_ten_files_the_others_are_counted_by_kind() -> None:
    block = uploads_block([file(f"{n}.csv") for n in range(12)] + [file("a.png"), file("README")])
    assert block.count("- ") == 11
    assert "- and 4 more (2 .csv, 1 .png, 1 without extension)" in block


def test_a_message_is_announced_once_and_its_images_keep_their_place() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    message = HumanMessage([{"type": "text", "text": "look"}, image])
    once = announce(message, [file("a.csv")])
    assert once.content[1:] == message.content
    assert once.additional_kwargs["original_user_content"] == "look"
    assert announce(once, [file("b.csv")]) is once
    assert announce(message, []) is message


@pytest.mark.parametrize(("size", "written"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (5 * 1024**2, "5.0 MB")])
def test_sizes_read_as_people_write_them(size: int, written: str) -> None:
    assert readable_size(size) == written


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", UNTITLED),
        ("two words", "two words"),
        ("one two three four five six", "one two three four five six"),
        ("one two three four five six seven", "one two three four five six…"),
        ("x" * 100, "x" * 59 + "…"),
    ],
)
def test_a_title_is_cut_with_its_ellipsis_inside_the_limit(text: str, title: str) -> None:
    assert local_title(text, TitleConfig()) == title
    assert len(title) <= TitleConfig().max_chars


def test_artifacts_keep_the_order_in_which_they_came() -> None:
    assert ordered_union(["b", "a"], ["c", "a"]) == ["b", "a", "c"]
    assert ordered_union(None, None) == []


async def test_a_signal_of_the_graph_is_no_failure_of_the_tool() -> None:
    async def interrupts(request: object) -> object:
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        await ToolErrorHandlingMiddleware().awrap_tool_call(None, interrupts)  # type: ignore[arg-type]
