"""What the agent is told: the messages of a turn, with their files fetched and what was spoken in writing."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.messages import HIDDEN, HUMAN_INPUT_RESPONSE
from bridge.files.uploads import Refused, Upload, Uploads, as_message_files
from bridge.persistence.inbox import StoredEvent
from bridge.persistence.transcript import Said
from bridge.runs.voices import Voices
from channels.contract import Channel, ChatKind, InboundEvent, MessageReceived

logger = logging.getLogger(__name__)

_FETCH_SECONDS = 300.0
_OVERHEARD = "[Said here before, not to you:]"
_PROBLEMS = "problems"
_WITH_ANSWER = "[These files came with my answer.]"


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent is told, and what came with which of the person's messages: files, and the words that were spoken."""

    messages: list[dict[str, Any]]
    files: Mapping[str, Sequence[Upload]]
    spoken: Mapping[str, str]

    @property
    def is_more_than_text(self) -> bool:
        """Whether making it took something that is not to be done again."""
        return bool(self.files) or bool(problems({"messages": self.messages}))


@dataclass(frozen=True, slots=True)
class _Arrival:
    """One message with what came along."""

    event: MessageReceived
    uploads: Sequence[Upload] = ()
    spoken: str = ""
    problems: Sequence[str] = ()

    @property
    def said(self) -> str:
        """What the person wrote and spoke."""
        text = "\n\n".join(filter(None, (self.event.text, as_spoken(self.spoken))))
        return said(replace(self.event, text=text)) if text else ""


class TurnInput:
    """Makes the input of a run out of what people sent."""

    def __init__(self, uploads: Uploads, channels: Mapping[str, Channel], voices: Voices) -> None:
        self._uploads = uploads
        self._channels = channels
        self._voices = voices

    async def tell(self, thread_id: str, events: Sequence[StoredEvent]) -> Told:
        """One human message for all events of the turn; its id is the first event's, so that a repeat replaces it."""
        arrivals = await self._arrivals(thread_id, events)
        return _told(events[0].id, [text for arrival in arrivals if (text := arrival.said)], arrivals)

    async def tell_files(self, thread_id: str, events: Sequence[StoredEvent]) -> Told | None:
        """A message about the files alone, where the text goes elsewhere (an answer to the graph's own interrupt()); None without files."""
        arrivals = await self._arrivals(thread_id, events)
        texts = [_WITH_ANSWER] if any(arrival.uploads for arrival in arrivals) else []
        told = _told(events[0].id, [*texts, *filter(None, (as_spoken(each.spoken) for each in arrivals))], arrivals)
        return told if told.is_more_than_text else None

    async def written_down(self, thread_id: str) -> None:
        """The turn's input is stored: its files will not be asked for again."""
        await self._uploads.fetch_done(thread_id)

    async def _arrivals(self, thread_id: str, events: Sequence[StoredEvent]) -> Sequence[_Arrival]:
        messages = [(stored.id, stored.event) for stored in events if isinstance(stored.event, MessageReceived)]
        return [await self._arrival(thread_id, event_id, event) for event_id, event in messages]

    async def _arrival(self, thread_id: str, event_id: int, event: MessageReceived) -> _Arrival:
        if not event.files:
            return _Arrival(event)
        uploads, refused = await self._fetch(thread_id, event_id, event)
        problems = [f"The file {file.name!r} did not come: {file.reason.rstrip('.')}." for file in refused]
        spoken, unheard = await self._voices.transcribed(thread_id, uploads, is_all=not event.text)
        return _Arrival(event, uploads, spoken, [*problems, *unheard])

    async def _fetch(self, thread_id: str, event_id: int, event: MessageReceived) -> tuple[list[Upload], list[Refused]]:
        channel = self._channels[event.conversation.channel]
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                return await self._uploads.fetch(thread_id, channel, event.files, event_id=event_id)
        except TimeoutError:
            logger.warning("the files of a message did not come in time")
        return [], [Refused(file.name, "the platform did not deliver it") for file in event.files]


def _told(event_id: int, texts: Sequence[str], arrivals: Sequence[_Arrival]) -> Told:
    failed = [problem for arrival in arrivals for problem in arrival.problems]
    uploads = [upload for arrival in arrivals for upload in arrival.uploads]
    message = human_message(event_id, "\n\n".join([*texts, *(f"[{problem}]" for problem in failed)]), uploads)
    if failed:
        message.setdefault("additional_kwargs", {})[_PROBLEMS] = failed
    files = {arrival.event.message_id: arrival.uploads for arrival in arrivals if arrival.uploads}
    spoken = {arrival.event.message_id: arrival.spoken for arrival in arrivals if arrival.spoken}
    return Told([message], files, spoken)


def problems(given: Mapping[str, Any] | None) -> Sequence[str]:
    """What went wrong with the files of a turn, in sentences for the person, out of the input that `TurnInput` made."""
    messages = (given or {}).get("messages") or ()
    return [problem for message in messages for problem in message.get("additional_kwargs", {}).get(_PROBLEMS, ())]


def as_spoken(text: str) -> str:
    """How the agent is told what was spoken; nothing for nothing."""
    return f"[Spoken, and put into writing by a machine:] {text}" if text else ""


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
    if event.chat_kind is not ChatKind.GROUP:
        return event.text
    before = "\n".join([_OVERHEARD, *event.overheard, ""]) if event.overheard else ""
    name = f"{event.sender.name}: " if event.sender.name else ""
    return f"{before}{name}{event.text}"


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
