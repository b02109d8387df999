"""A Reply → the messages and files it should be on Telegram, by slot."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from channels.shared.overflow import BELOW, FOLLOWS, MIME_TYPE, document
from channels.telegram.ids import MOST_CALLBACK_BYTES, SendNowPress, StopPress, ThumbPress, callback_data
from channels.telegram.markup import styled
from channels.telegram.questions import Button, Keyboard, question_rows, question_text
from channels.telegram.styled_text import Mark, Styled, chunks, joined, plain, quiet

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

    def as_file(self, caption: str) -> "FilePayload":
        """The same text as a file."""
        name = f"{self.slot.replace(':', '-')}.txt"
        content = self.content.text.encode(errors="replace")
        artifact = Artifact("", name, "text/plain", len(content))
        return FilePayload(f"file:{self.slot}:{self.digest}", artifact, content, caption)


@dataclass(frozen=True, slots=True)
class FilePayload:
    """One file, sent as a picture or as a document; `content` holds it where it is not a file of the thread."""

    slot: str
    artifact: Artifact
    content: bytes | None = None
    caption: str | None = None

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
    overflow: FilePayload | None = None
    """The whole answer, of which `texts` are the beginning."""


def render(reply: Reply, *, most_messages: int = 0, thumbs: bool = False) -> Rendered:
    """What the snapshot is on Telegram. While the turn works, its steps stand below the text; in the end only the answer stays.

    A turn that waits has its notice in slots of its own (`waiting:0`), which disappear when its answer begins. Of a text that takes
    more than `most_messages` (0: any number) the beginning stands in that many, and the whole of it is a file in the end. With `thumbs` an
    answer that may be rated has the buttons for it.
    """
    texts = chunks(quiet(joined(_body(reply))), _CHUNK_LIMIT)
    overflow = None
    if 0 < most_messages < len(texts):
        texts, overflow = _shortened(reply, texts, most_messages)
    if reply.phase is ReplyPhase.WORKING:
        texts = _with_footer(texts, quiet(joined(_footer(reply), "\n")))
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
        overflow if reply.is_final else None,
    )


def _shortened(reply: Reply, texts: list[Styled], most_messages: int) -> tuple[list[Styled], FilePayload | None]:
    """The beginning of the text, then whatever is no text of the agent's: questions and notices are not left to a file."""
    said = chunks(quiet(joined(styled(part.markdown) for part in reply.parts if isinstance(part, Text))), _CHUNK_LIMIT)
    whole = document(reply, messages=len(said), most_messages=most_messages, upload_limit_bytes=UPLOAD_LIMIT_BYTES)
    if whole is None:
        return texts, None
    others = replace(reply, parts=tuple(part for part in reply.parts if not isinstance(part, Text)))
    word = plain(BELOW if reply.is_final else FOLLOWS)
    *first, last = said[:most_messages]
    last = chunks(last, _CHUNK_LIMIT - measure(f"\n\n{word.text}", TextUnit.UTF16))[0]
    end = chunks(joined([last, word, quiet(joined(_body(others)))]), _CHUNK_LIMIT)
    artifact = Artifact("", whole.name, MIME_TYPE, len(whole.content))
    return [*first, *end], FilePayload(f"file:answer:{_digest(whole.content.decode())}", artifact, whole.content)


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
