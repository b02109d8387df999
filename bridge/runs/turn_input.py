"""What the agent is told: the messages of a turn, with their files fetched."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.messages import HIDDEN, HUMAN_INPUT_RESPONSE
from bridge.files.uploads import Refused, Upload, Uploads, as_message_files
from bridge.persistence.inbox import StoredEvent
from bridge.persistence.transcript import Said
from channels.contract import Channel, ChatKind, InboundEvent, MessageReceived

logger = logging.getLogger(__name__)

_FETCH_SECONDS = 300.0
_OVERHEARD = "[Said here before, not to you:]"
_WITH_ANSWER = "[These files came with my answer.]"

_Files = Mapping[str, Sequence[Upload]]


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent is told, and which files came with which of the person's messages."""

    messages: list[dict[str, Any]]
    files: _Files


class TurnInput:
    """Makes the input of a run out of what people sent."""

    def __init__(self, uploads: Uploads, channels: Mapping[str, Channel]) -> None:
        self._uploads = uploads
        self._channels = channels

    async def tell(self, thread_id: str, events: Sequence[StoredEvent]) -> Told:
        """One human message for all events of the turn; its id is the first event's, so that a repeat replaces it."""
        texts = [
            said(stored.event) for stored in events if isinstance(stored.event, MessageReceived) and stored.event.text
        ]
        files, refusals = await self._files(thread_id, events)
        return _told(events[0].id, [*texts, *refusals], files)

    async def tell_files(self, thread_id: str, events: Sequence[StoredEvent]) -> Told | None:
        """A message about the files alone, where the text goes elsewhere (an answer to the graph's own interrupt()); None without files."""
        files, refusals = await self._files(thread_id, events)
        return _told(events[0].id, [_WITH_ANSWER, *refusals], files) if files else None

    async def written_down(self, thread_id: str) -> None:
        """The turn's input is stored: its files will not be asked for again."""
        await self._uploads.fetch_done(thread_id)

    async def _files(self, thread_id: str, events: Sequence[StoredEvent]) -> tuple[_Files, Sequence[str]]:
        """(what came, by message; a sentence for each file that did not)."""
        files: dict[str, Sequence[Upload]] = {}
        refusals: list[str] = []
        for stored in events:
            event = stored.event
            if isinstance(event, MessageReceived) and event.files:
                files[event.message_id], refused = await self._fetch(thread_id, stored.id, event)
                refusals += [f"[The file {file.name!r} did not come: {file.reason}]" for file in refused]
        return files, refusals

    async def _fetch(self, thread_id: str, event_id: int, event: MessageReceived) -> tuple[list[Upload], list[Refused]]:
        channel = self._channels[event.conversation.channel]
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                return await self._uploads.fetch(thread_id, channel, event.files, event_id=event_id)
        except TimeoutError:
            logger.warning("the files of a message did not come in time")
        return [], [Refused(file.name, "the platform did not deliver it") for file in event.files]


def _told(event_id: int, texts: Sequence[str], files: _Files) -> Told:
    uploads = [upload for came in files.values() for upload in came]
    return Told([human_message(event_id, "\n\n".join(texts), uploads)], files)


def human_message(event_id: int, text: str, uploads: Sequence[Upload] = ()) -> dict[str, Any]:
    """A person's message as the agent reads it; `id` is stable, so that telling it again changes nothing."""
    message: dict[str, Any] = {"type": "human", "content": text or "(no text)", "id": message_id(event_id)}
    if uploads:
        message["additional_kwargs"] = {"files": as_message_files(uploads)}
    return message


def message_id(event_id: int) -> str:
    """The id of the human message an event becomes."""
    return f"inbound-{event_id}"


def as_said(event: InboundEvent) -> Said:
    """A message as the transcript keeps it; its files are named when they have come."""
    if not isinstance(event, MessageReceived):
        return Said("")
    return Said(event.text, event.sender.name, event.message_id)


def said(event: MessageReceived) -> str:
    """The text; in a group it says who speaks, since several people share the thread, and what was said before."""
    if event.chat_kind is not ChatKind.GROUP or not event.sender.name:
        return event.text
    before = "\n".join([_OVERHEARD, *event.overheard, ""]) if event.overheard else ""
    return f"{before}{event.sender.name}: {event.text}"


def answer_message(event_id: int, answer: str, response: Mapping[str, Any]) -> dict[str, Any]:
    """A person's answer to a question, as the agent reads it; clients of the API show it at the question, not as a message."""
    message = human_message(event_id, answer)
    message["additional_kwargs"] = {HIDDEN: True, HUMAN_INPUT_RESPONSE: dict(response)}
    return message


def linked(message: Mapping[str, Any], request_id: str) -> dict[str, Any]:
    """A message that answers a question in the person's own words, with its link to it."""
    response = {
        "version": 1,
        "kind": HUMAN_INPUT_RESPONSE,
        "source": "ask_clarification",
        "request_id": request_id,
        "response_kind": "text",
        "value": message["content"],
    }
    return {**message, "additional_kwargs": {**message.get("additional_kwargs", {}), HUMAN_INPUT_RESPONSE: response}}
