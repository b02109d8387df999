"""The page's requests: list, read, say, choose, stop, send now, rate."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from channels.contract import (
    ChatKind,
    Clarification,
    ClarificationState,
    ConversationKey,
    ConversationSummary,
    FileRef,
    InboundEvent,
    Outcome,
    Reply,
    ReplyPart,
    TranscriptEntry,
)
from channels.web import inbound, render
from channels.web.guard import ConversationVisit, Guard, Refusal, Visit, answer
from channels.web.ids import CHANNEL, make_key
from channels.web.outbound import LiveReplies

Posted = TypeVar("Posted", bound=BaseModel)
_OPENINGS_KEPT = 10_000
_UNTITLED = frozenset({"", "New conversation"})  # the second when a conversation began with nothing but a file


class Conversations:
    """The JSON routes. Whatever the host raises goes through to the gateway, which has one table for all of it."""

    def __init__(self, guard: Guard, live: LiveReplies, *, takes_feedback: bool = True) -> None:
        self._guard = guard
        self._live = live
        self._takes_feedback = takes_feedback
        self._openings: OrderedDict[ConversationKey, str] = OrderedDict()

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """Routes below `/web/api`."""
        visit, conversation = self._guard.visit, self._guard.conversation
        one = "/web/api/conversations/{conversation}"
        return [
            web.get("/web/api/conversations", visit(self._list)),
            web.post("/web/api/conversations", visit(self._create)),
            web.get(f"{one}/messages", conversation(self._read)),
            web.post(f"{one}/messages", conversation(self._say)),
            web.post(f"{one}/press", conversation(self._press)),
            web.post(f"{one}/stop", conversation(self._stop)),
            web.post(f"{one}/feedback", conversation(self._rate)),
            web.post(f"{one}/send-now", conversation(self._send_now)),
        ]

    async def _list(self, visit: Visit) -> web.Response:
        summaries = await visit.host.conversations(CHANNEL, visit.person, visit.person)
        titled = [await self._titled(visit, summary) for summary in summaries]
        return answer({"conversations": [render.summary(summary) for summary in titled]})

    async def _titled(self, visit: Visit, summary: ConversationSummary) -> ConversationSummary:
        """With a title also before the agent gave one: how the person began."""
        if summary.title not in _UNTITLED:
            return summary
        if summary.key not in self._openings:
            entries = await visit.host.transcript(summary.key)
            first = next((entry for entry in entries if entry.reply is None), None)
            if first is None:
                return summary
            self._keep_opening(summary.key, render.opening_words(first))
        return replace(summary, title=self._openings[summary.key])

    def _keep_opening(self, key: ConversationKey, title: str) -> None:
        self._openings[key] = title
        while len(self._openings) > _OPENINGS_KEPT:
            self._openings.popitem(last=False)

    async def _create(self, visit: Visit) -> web.Response:
        posted = await _body(visit.request, inbound.PostedConversation)
        key = make_key(visit.person, posted.id)
        await visit.host.open_conversation(key, ChatKind.PRIVATE, visit.person)
        self._guard.remember(key)
        return answer({"id": key.chat}, 201)

    async def _read(self, visit: ConversationVisit) -> web.Response:
        key = visit.conversation
        entries = [await _as_it_stands(visit, entry) for entry in await _transcript(visit)]
        thumbs = self._takes_feedback
        items = await asyncio.to_thread(render.timeline, entries, self._live.of(key), key, thumbs=thumbs)
        summaries = await visit.host.conversations(CHANNEL, visit.person, visit.person)
        is_running = any(summary.is_running for summary in summaries if summary.key == key)
        ratings = await visit.host.ratings(key, visit.person) if thumbs else {}
        return answer({"items": items, "running": is_running, "ratings": ratings})

    async def _say(self, visit: ConversationVisit) -> web.Response:
        posted = await _body(visit.request, inbound.PostedMessage)
        files = tuple(_file(visit, ticket) for ticket in posted.files)
        return await _submit(visit, inbound.message_received(posted, visit.conversation, files, datetime.now(UTC)))

    async def _press(self, visit: ConversationVisit) -> web.Response:
        posted = await _body(visit.request, inbound.PostedPress)
        question = await visit.host.clarification(posted.token)
        if question is None or not await self._is_asked_here(visit, posted.token):
            raise Refusal(404, "There is no such question.")
        if question.state is not ClarificationState.OPEN:
            raise Refusal(409, render.closed_words(question))
        pressed = inbound.choice_selected(posted, visit.conversation, datetime.now(UTC))
        if problem := inbound.misfit(pressed, question):
            raise Refusal(422, problem)
        return await _submit(visit, pressed)

    async def _is_asked_here(self, visit: ConversationVisit, token: str) -> bool:
        """Whether the question stands in this conversation: another person's must not be found by its token."""
        shown = [live.reply for live in self._live.of(visit.conversation)]
        if any(question.token == token for reply in shown for question in _questions(reply)):
            return True
        said = [entry.reply for entry in await _transcript(visit) if entry.reply]
        return any(question.token == token for reply in said for question in _questions(reply))

    async def _stop(self, visit: ConversationVisit) -> web.Response:
        posted = await _body(visit.request, inbound.PostedStop)
        return await _submit(visit, inbound.stop_requested(posted, visit.conversation, datetime.now(UTC)))

    async def _rate(self, visit: ConversationVisit) -> web.Response:
        if not self._takes_feedback:
            raise Refusal(404, "Feedback is switched off here.")
        posted = await _body(visit.request, inbound.PostedFeedback)
        return await _submit(visit, inbound.feedback_given(posted, visit.conversation, datetime.now(UTC)))

    async def _send_now(self, visit: ConversationVisit) -> web.Response:
        posted = await _body(visit.request, inbound.PostedSendNow)
        return await _submit(visit, inbound.send_now_requested(posted, visit.conversation, datetime.now(UTC)))


async def _transcript(visit: ConversationVisit) -> list[TranscriptEntry]:
    """All that was said; the host gives it in portions."""
    entries: list[TranscriptEntry] = []
    while portion := await visit.host.transcript(visit.conversation, entries[-1].seq if entries else 0):
        entries += portion
    return entries


async def _submit(visit: ConversationVisit, event: InboundEvent) -> web.Response:
    accepted = await visit.host.submit(event)
    if accepted.outcome is Outcome.REFUSED:
        raise Refusal(403, f"You may not write here yet. Your id, for the administrator: {visit.person}")
    return answer({"outcome": accepted.outcome}, 202)


async def _body(request: web.Request, model: type[Posted]) -> Posted:
    """The request's JSON, of the right type and shape. Another site can send JSON only after a preflight."""
    if request.content_type != "application/json":
        raise Refusal(415, "The body must be application/json.")
    try:
        return model.model_validate_json(await request.read())
    except web.HTTPRequestEntityTooLarge as error:
        raise Refusal(413, "That is too long to send at once.") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Refusal(422, f"{where}: {first['msg']}" if where else first["msg"]) from error


def _file(visit: ConversationVisit, ticket: str) -> FileRef:
    file = visit.seals.open_file(visit.conversation, ticket)
    if file is None:
        raise Refusal(422, "A file of this message was not uploaded here. Remove it and attach it again.")
    return file


def _questions(reply: Reply) -> list[Clarification]:
    return [part for part in reply.parts if isinstance(part, Clarification)]


async def _as_it_stands(visit: ConversationVisit, entry: TranscriptEntry) -> TranscriptEntry:
    """The entry with its questions as they are now: the answer came after the entry was written."""
    if entry.reply is None or not any(
        question.state is ClarificationState.OPEN for question in _questions(entry.reply)
    ):
        return entry
    parts = tuple([await _part_as_it_stands(visit, part) for part in entry.reply.parts])
    return replace(entry, reply=replace(entry.reply, parts=parts))


async def _part_as_it_stands(visit: ConversationVisit, part: ReplyPart) -> ReplyPart:
    if not isinstance(part, Clarification) or part.state is not ClarificationState.OPEN:
        return part
    return await visit.host.clarification(part.token) or part
