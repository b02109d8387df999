"""What the agent is told: the messages of a turn, with their files fetched."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.files.uploads import Refused, Upload, Uploads, as_message_files
from bridge.persistence.inbox import StoredEvent
from bridge.persistence.transcript import Said
from channels.contract import Channel, ChatKind, ChoiceSelected, InboundEvent, MessageReceived

logger = logging.getLogger(__name__)

_FETCH_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent is told, and which files came with which of the person's messages."""

    messages: list[dict[str, Any]]
    files: Mapping[str, Sequence[Upload]]


class TurnInput:
    """Makes the input of a run out of what people sent."""

    def __init__(self, uploads: Uploads, channels: Mapping[str, Channel]) -> None:
        self._uploads = uploads
        self._channels = channels

    async def tell(self, thread_id: str, events: Sequence[StoredEvent]) -> Told:
        """One human message for all events of the turn; its id is the first event's, so that a repeat replaces it."""
        received = [stored.event for stored in events if isinstance(stored.event, MessageReceived)]
        files: dict[str, Sequence[Upload]] = {}
        texts = [said(event) for event in received if event.text]
        for event in received:
            if event.files:
                files[event.message_id], refused = await self._fetch(thread_id, event)
                texts += [f"[The file {file.name!r} did not come: {file.reason}]" for file in refused]
        uploads = [upload for came in files.values() for upload in came]
        return Told([human_message(events[0].id, "\n\n".join(texts), uploads)], files)

    async def _fetch(self, thread_id: str, event: MessageReceived) -> tuple[list[Upload], list[Refused]]:
        channel = self._channels[event.conversation.channel]
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                return await self._uploads.fetch(thread_id, channel, event.files)
        except TimeoutError:
            logger.warning("the files of a message did not come in time")
        return [], [Refused(file.name, "the platform did not deliver it") for file in event.files]


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
    """The text; in a group it says who speaks, since several people share the thread."""
    if event.chat_kind is ChatKind.GROUP and event.sender.name:
        return f"{event.sender.name}: {event.text}"
    return event.text


def answer_message(event_id: int, press: ChoiceSelected, answer: str, request_id: str) -> dict[str, Any]:
    """A person's answer to a question, as the agent reads it."""
    message = human_message(event_id, answer)
    response = {"request_id": request_id, "values": dict(press.values), "answer": answer}
    message["additional_kwargs"] = {"human_input_response": response}
    return message
