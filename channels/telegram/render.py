"""A Reply → the messages and files it should be on Telegram, by slot."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from channels.contract import (
    ActivityState,
    Artifact,
    Clarification,
    Notice,
    NoticeKind,
    Reply,
    ReplyPhase,
    Text,
    TextUnit,
    Todo,
    Todos,
    ToolActivity,
)
from channels.shared.chunking import measure
from channels.telegram.ids import MOST_CALLBACK_BYTES, SendNowPress, StopPress, ThumbPress, callback_data
from channels.telegram.markup import styled
from channels.telegram.questions import Button, Keyboard, question_rows, question_text
from channels.telegram.styled_text import Mark, Styled, chunks, joined, plain

TEXT_LIMIT = 4096  # UTF-16 units after entities parsing, Bot API sendMessage
UPLOAD_LIMIT_BYTES = 50_000_000
PHOTO_LIMIT_BYTES = 10_000_000
REPEAT_LINE = "⚠️ This may be a repeat: Telegram did not confirm the earlier copy."
_CHUNK_LIMIT = TEXT_LIMIT - 96  # leaves room for the line above
_PLACEHOLDER = "…"
_DONE = "✓"
_MOST_ROWS = 90  # keyboards take a hundred buttons in practice, and the last row may have several
_MOST_ACTIVITIES = 4
_ACTIVITY_SIGNS = {ActivityState.RUNNING: "⏳", ActivityState.DONE: "✓", ActivityState.FAILED: "✗"}
_TODO_SIGNS = {"pending": "☐", "in_progress": "▸", "completed": "☑"}
_NOTICE_SIGNS = {
    NoticeKind.INFO: "ℹ️",
    NoticeKind.WAITING: "⏳",
    NoticeKind.STOPPED: "⏹",
    NoticeKind.ERROR: "⚠️",
}


@dataclass(frozen=True, slots=True)
class TextPayload:
    """One message of text, at most 4,096 UTF-16 units."""

    slot: str
    content: Styled
    keyboard: Keyboard = ()

    @property
    def digest(self) -> str:
        """A short name of what the message shows."""
        return _digest(repr((self.content, self.keyboard)))

    def as_repeat(self) -> "TextPayload":
        """The same message, saying that it may stand there twice."""
        line = Styled(REPEAT_LINE, (Mark("italic", 0, len(REPEAT_LINE)),))
        return TextPayload(self.slot, joined([line, self.content]), self.keyboard)


@dataclass(frozen=True, slots=True)
class FilePayload:
    """One file, sent as a picture or as a document."""

    slot: str
    artifact: Artifact

    @property
    def as_photo(self) -> bool:
        """Whether Telegram can show it in place; a GIF would lose its movement."""
        artifact = self.artifact
        return artifact.is_image and artifact.mime_type != "image/gif" and artifact.size_bytes <= PHOTO_LIMIT_BYTES


@dataclass(frozen=True, slots=True)
class Rendered:
    """All that should stand in the chat for one snapshot. Slots of text are numbered from `text:0`."""

    texts: tuple[TextPayload, ...] = ()
    files: tuple[FilePayload, ...] = ()


def render(reply: Reply, *, thumbs: bool = False) -> Rendered:
    """What the snapshot is on Telegram. While the turn works, its steps stand below the text; in the end only the answer stays.

    With `thumbs` an answer that may be rated has the buttons for it.
    A turn that waits has its notice in slots of its own (`waiting:0`), which disappear when its answer begins.
    """
    body = joined(_body(reply))
    texts = chunks(body, _CHUNK_LIMIT)
    if reply.phase is ReplyPhase.WORKING:
        texts = _with_footer(texts, joined(_footer(reply), "\n"))
    if not texts and reply.phase is not ReplyPhase.QUEUED:
        texts = [plain(_empty_text(reply))]
    prefix = "waiting" if reply.phase is ReplyPhase.QUEUED else "text"
    keyboard = _keyboard(reply, thumbs=thumbs)
    last = len(texts) - 1
    return Rendered(
        tuple(
            TextPayload(f"{prefix}:{number}", text, keyboard if number == last else ())
            for number, text in enumerate(texts)
        ),
        tuple(_files(reply)) if reply.is_final else (),
    )


def _empty_text(reply: Reply) -> str:
    if not reply.is_final:
        return _PLACEHOLDER
    return "\n".join(f"📎 {file.artifact.name}" for file in _files(reply)) or _DONE


def _body(reply: Reply) -> Iterator[Styled]:
    for part in reply.parts:
        match part:
            case Text(_, markdown):
                yield styled(markdown)
            case Notice(notice, text):
                yield plain(f"{_NOTICE_SIGNS[notice]} {text}")
            case Clarification():
                yield question_text(part)
            case Artifact() if part.size_bytes > UPLOAD_LIMIT_BYTES:
                yield plain(f"📎 {part.name}: too large to send ({part.size_bytes / 1e6:.0f} MB; Telegram takes 50 MB)")
            case Todos(items) if reply.is_final and any(todo.status != "completed" for todo in items):
                yield plain(_plan(items))


def _footer(reply: Reply) -> Iterator[Styled]:
    for part in reply.parts:
        if isinstance(part, Todos) and part.items:
            yield plain(_plan(part.items))
    activities = [part for part in reply.parts if isinstance(part, ToolActivity)]
    for activity in activities[-_MOST_ACTIVITIES:]:
        detail = f" · {activity.detail}" if activity.detail else ""
        yield plain(f"{_ACTIVITY_SIGNS[activity.state]} {activity.name}{detail}")


def _plan(items: tuple[Todo, ...]) -> str:
    return "\n".join(f"{_TODO_SIGNS[todo.status]} {todo.text}" for todo in items)


def _with_footer(texts: list[Styled], footer: Styled) -> list[Styled]:
    """The steps under the last text where there is room; what stands above must not move as they change."""
    if not texts:
        return chunks(footer, _CHUNK_LIMIT)[:1]
    whole = joined([texts[-1], footer])
    if measure(whole.text, TextUnit.UTF16) > _CHUNK_LIMIT:
        return texts
    return [*texts[:-1], whole]


def _keyboard(reply: Reply, *, thumbs: bool) -> Keyboard:
    rows = [row for part in reply.parts if isinstance(part, Clarification) for row in question_rows(part)]
    del rows[_MOST_ROWS - 1 :]  # whoever finds none for the answer can write it
    if reply.can_stop:
        rows.append((Button("⏹ Stop", callback_data(StopPress(reply.run_id))),))
    if thumbs and reply.can_rate and reply.run_id is not None:
        up, down = (callback_data(ThumbPress(reply.run_id, rating)) for rating in (1, -1))
        if len(up.encode()) <= MOST_CALLBACK_BYTES:
            rows.append((Button("👍", up), Button("👎", down)))
    if reply.waits and reply.run_id is not None:
        send_now = Button("▶️ Send now", callback_data(SendNowPress(reply.run_id)))
        rows.append((send_now, Button("✖️ Drop", callback_data(StopPress(reply.run_id)))))
    return tuple(rows)


def _files(reply: Reply) -> Iterator[FilePayload]:
    """One slot for each path, whatever the order: a file handed over twice is the same file."""
    artifacts = {
        part.path: part for part in reply.parts if isinstance(part, Artifact) and part.size_bytes <= UPLOAD_LIMIT_BYTES
    }
    for path, artifact in artifacts.items():
        yield FilePayload(f"file:{_digest(path)}", artifact)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
