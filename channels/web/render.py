"""Reply and transcript → the JSON the page draws from."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from channels.contract import (
    Artifact,
    Clarification,
    ClarificationState,
    ConversationKey,
    ConversationSummary,
    FormField,
    Notice,
    Option,
    Reply,
    ReplyPart,
    ReplyPhase,
    Text,
    Todos,
    ToolActivity,
    TranscriptEntry,
)
from channels.web.markup import to_html

Json = dict[str, Any]

_TITLE_WORDS = 6  # as many as the agent takes, so that the name stays when the first turn has ended
_TITLE_LENGTH = 60
_ELLIPSIS = "…"
# A head that has no row below it yet would be shown as bare pipes until the line of dashes comes.
_HEAD_OF_A_TABLE = re.compile(r"(?:\A|\n\n)\|[^\n]*(?:\n[|: -]*)?\Z")


@dataclass(frozen=True, slots=True)
class FileLinks:
    """The addresses of a conversation's files."""

    conversation: str

    def __call__(self, path: str) -> str:
        """The file's address, relative to the page (which may live under a base path)."""
        return f"web/api/conversations/{self.conversation}/files?{urlencode({'path': path})}"


@dataclass(frozen=True, slots=True)
class LiveReply:
    """A reply as it was last delivered. `version` grows with every change of any reply while this process lives."""

    delivery_id: str
    reply_to: str | None
    reply: Reply
    version: int

    @property
    def reply_id(self) -> str:
        """What the page knows the reply by: the same in a snapshot and in the transcript."""
        return self.reply.run_id or self.delivery_id


def closed_words(question: Clarification) -> str:
    """Why a question takes no answer any more; empty while it does."""
    match question.state:
        case ClarificationState.OPEN:
            return ""
        case ClarificationState.EXPIRED:
            return "This question has expired."
        case ClarificationState.WITHDRAWN:
            return "This question was withdrawn."
        case ClarificationState.ANSWERED:
            return f"This was answered already: {question.answer}" if question.answer else "This was answered already."


def opening_words(entry: TranscriptEntry) -> str:
    """A title made of what a person said: the first words, or the name of the first file."""
    words = entry.text.split()
    title = " ".join(words[:_TITLE_WORDS])
    if len(words) > _TITLE_WORDS or len(title) > _TITLE_LENGTH:
        title = title[: _TITLE_LENGTH - len(_ELLIPSIS)].rstrip() + _ELLIPSIS
    return title or next((file.name for file in entry.files), "")


def summary(conversation: ConversationSummary) -> Json:
    """A line of the conversation list."""
    return {
        "id": conversation.key.chat,
        "title": conversation.title,
        "updated_at": conversation.updated_at.isoformat(),
        "running": conversation.is_running,
    }


def snapshot(live: LiveReply, conversation: ConversationKey, *, thumbs: bool = True) -> Json:
    """A reply that may still change; with `thumbs` it may be rated once it is whole."""
    return {"reply_to": live.reply_to, **_reply(live.reply_id, live.reply, conversation, thumbs=thumbs)}


def timeline(
    entries: Sequence[TranscriptEntry],
    live: Sequence[LiveReply],
    conversation: ConversationKey,
    *,
    thumbs: bool = True,
) -> list[Json]:
    """All there is to see, in order: what a run answers stands below the last message it answers."""
    items = _newest_of_each(entries, live, conversation, thumbs=thumbs)
    messages = {item["message_id"]: item for item in items if item["kind"] == "message"}
    groups: dict[str, list[Json]] = {}
    for item in items:
        groups.setdefault(_group(item, messages), []).append(item)
    return [item for group in groups.values() for item in sorted(group, key=lambda item: item["kind"] == "reply")]


def _group(item: Json, messages: dict[str, Json]) -> str:
    """What belongs together: the messages of a run and what answers them."""
    asked = messages.get(item.get("reply_to") or "")
    if asked is not None:
        return _group(asked, messages)
    return str(item["run_id"] or item.get("message_id") or item["reply_id"])


def _newest_of_each(
    entries: Sequence[TranscriptEntry], live: Sequence[LiveReply], conversation: ConversationKey, *, thumbs: bool
) -> list[Json]:
    newest = {reply.reply_id: reply for reply in live}
    items = []
    for entry in entries:
        delivered = newest.pop(entry.run_id, None) if entry.reply is not None else None
        if delivered:
            items.append(snapshot(delivered, conversation, thumbs=thumbs))
        else:
            items.append(_entry(entry, conversation, thumbs=thumbs))
    return [*items, *(snapshot(reply, conversation, thumbs=thumbs) for reply in newest.values())]


def _entry(entry: TranscriptEntry, conversation: ConversationKey, *, thumbs: bool) -> Json:
    if entry.reply is not None:
        reply_id = entry.run_id or f"seq-{entry.seq}"
        return {"reply_to": None, **_reply(reply_id, entry.reply, conversation, thumbs=thumbs), "run_id": entry.run_id}
    links = FileLinks(conversation.chat)
    return {
        "kind": "message",
        "message_id": entry.message_id or f"seq-{entry.seq}",
        "run_id": entry.run_id,
        "text": entry.text,
        "files": [{"name": file.name, "size_bytes": file.size_bytes, "url": links(file.path)} for file in entry.files],
    }


def _reply(reply_id: str, reply: Reply, conversation: ConversationKey, *, thumbs: bool) -> Json:
    return {
        "kind": "reply",
        "reply_id": reply_id,
        "run_id": reply.run_id,
        "phase": reply.phase,
        "can_stop": reply.can_stop,
        "can_rate": thumbs and reply.can_rate,
        "waits": reply.waits,
        "parts": [_part(part, conversation) for part in _presentable(reply)],
    }


def _presentable(reply: Reply) -> Sequence[ReplyPart]:
    """While it is being written, without what only makes sense with the words that follow."""
    if reply.phase is ReplyPhase.FINAL or not reply.parts or not isinstance(last := reply.parts[-1], Text):
        return reply.parts
    return *reply.parts[:-1], replace(last, markdown=_HEAD_OF_A_TABLE.sub("", last.markdown))


def _part(part: ReplyPart, conversation: ConversationKey) -> Json:
    links = FileLinks(conversation.chat)
    match part:
        case Text():
            return {"kind": part.kind, "id": part.id, "html": to_html(part.markdown, links)}
        case ToolActivity():
            return {"kind": part.kind, "id": part.id, "name": part.name, "state": part.state, "detail": part.detail}
        case Todos():
            return {"kind": part.kind, "items": [{"text": todo.text, "status": todo.status} for todo in part.items]}
        case Clarification():
            return _clarification(part, conversation.account, links)
        case Artifact():
            return {
                "kind": part.kind,
                "name": part.name,
                "size_bytes": part.size_bytes,
                "is_image": part.is_image,
                "url": links(part.path),
            }
        case Notice():
            return {"kind": part.kind, "notice": part.notice, "text": part.text}


def _clarification(part: Clarification, viewer: str, links: Callable[[str], str]) -> Json:
    return {
        "kind": part.kind,
        "token": part.token,
        "icon": part.icon,
        "question_html": to_html(part.question, links),
        "context_html": to_html(part.context, links),
        "options": [_option(option) for option in part.options],
        "multiple": part.multiple,
        "required": part.required,
        "fields": [_field(field) for field in part.fields],
        "step": part.step,
        "filled": part.filled,
        "state": part.state,
        "closed_words": closed_words(part),
        "answer": part.answer,
        "answered_by": "You" if part.answered_by in {"", viewer} else part.answered_by,
        "expires_at": part.expires_at.isoformat() if part.expires_at else None,
    }


def _field(field: FormField) -> Json:
    return {
        "name": field.name,
        "label": field.label,
        "options": [_option(option) for option in field.options],
        "multiple": field.multiple,
        "required": field.required,
    }


def _option(option: Option) -> Json:
    return {"label": option.label, "value": option.value, "description": option.description}
