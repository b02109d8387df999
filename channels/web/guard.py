"""Who may ask what: the person's cookie, the conversation's owner, and no request forged by another site."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson
from aiohttp import web

from channels.contract import ChannelHost, ConversationKey
from channels.web.ids import CHANNEL, is_id, make_key
from channels.web.seals import Seals

COOKIE = "threadbridge_person"
COOKIE_SECONDS = 400 * 24 * 3600  # the longest a browser keeps one
# Another site's form cannot set a header, and its script only after a preflight that is not granted.
CSRF_HEADER = "X-Threadbridge"

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_NOBODY_READS = 499  # what nginx calls it in its log
_AWAY = "The bridge is starting or stopping. Try again in a moment."


class Refusal(Exception):
    """The request is answered with `status` and a sentence for the person."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a known person."""

    request: web.Request
    host: ChannelHost
    seals: Seals
    person: str


@dataclass(frozen=True, slots=True)
class ConversationVisit(Visit):
    """A request about a conversation that belongs to the person."""

    conversation: ConversationKey


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guard:
    """Lets requests through while the channel is open, and remembers who owns what.

    After `refuse_posts` what stands can still be read, but nothing new is taken.
    """

    def __init__(self, *, remembered: int = 10_000) -> None:
        self._inside: tuple[ChannelHost, Seals] | None = None
        self._takes_posts = False
        self._remembered = remembered
        self._owned: OrderedDict[ConversationKey, None] = OrderedDict()

    def open(self, host: ChannelHost, seals: Seals) -> None:
        """Let requests through to this host."""
        self._inside = (host, seals)
        self._takes_posts = True

    def refuse_posts(self) -> None:
        """Answer every further post with 503."""
        self._takes_posts = False

    def close(self) -> None:
        """Answer every further request with 503."""
        self._inside = None
        self._takes_posts = False

    @property
    def is_open(self) -> bool:
        """Whether people are heard."""
        return self._takes_posts

    def person_of(self, request: web.Request) -> tuple[str | None, Seals]:
        """The person of the request's cookie, if it is ours."""
        _, seals = self._require_open()
        return seals.open_person(request.cookies.get(COOKIE, "")), seals

    def visit(self, handler: Callable[[Visit], Awaitable[web.StreamResponse]]) -> Handler:
        """A route for a known person."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            return await handler(await self._admit(request))

        return refusing(guarded)

    def conversation(self, handler: Callable[[ConversationVisit], Awaitable[web.StreamResponse]]) -> Handler:
        """A route for the owner of the conversation in the path; for anybody else it does not exist."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            return await handler(await self._admit_owner(request))

        return refusing(guarded)

    def remember(self, key: ConversationKey) -> None:
        """This conversation exists; its owner stands in the key."""
        self._owned[key] = None
        self._owned.move_to_end(key)
        while len(self._owned) > self._remembered:
            self._owned.popitem(last=False)

    async def _admit(self, request: web.Request) -> Visit:
        host, seals = self._require_open()
        if request.method == "POST":
            self._check_post(request)
        person = seals.open_person(request.cookies.get(COOKIE, ""))
        if person is None:
            raise Refusal(401, "This browser is not known here. Reload the page.")
        return Visit(request, host, seals, person)

    def _check_post(self, request: web.Request) -> None:
        if not self._takes_posts:
            raise Refusal(503, _AWAY)
        if CSRF_HEADER not in request.headers:
            raise Refusal(403, f"The header {CSRF_HEADER} is missing.")

    async def _admit_owner(self, request: web.Request) -> ConversationVisit:
        visit = await self._admit(request)
        conversation = request.match_info["conversation"]
        if not is_id(conversation) or not await self._is_owner(visit, make_key(visit.person, conversation)):
            raise Refusal(404, "There is no such conversation.")
        return ConversationVisit(request, visit.host, visit.seals, visit.person, make_key(visit.person, conversation))

    async def _is_owner(self, visit: Visit, key: ConversationKey) -> bool:
        if key not in self._owned:
            for summary in await visit.host.conversations(CHANNEL, visit.person, visit.person):
                self.remember(summary.key)
        return key in self._owned

    def _require_open(self) -> tuple[ChannelHost, Seals]:
        if self._inside is None:
            raise Refusal(503, _AWAY)
        return self._inside


def refusing(handler: Handler) -> Handler:
    """A route whose Refusal becomes its answer. That somebody went away before they had it is no error of ours."""

    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            return answer({"detail": refusal.detail}, refusal.status)
        except ConnectionError:
            if not _is_gone(request):
                raise
            return answer({"detail": "The browser went away."}, _NOBODY_READS)

    return answered


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def answer(content: object, status: int = 200) -> web.Response:
    """A JSON answer that nobody keeps."""
    return web.Response(
        body=orjson.dumps(content),
        status=status,
        content_type="application/json",
        headers={**SECURITY_HEADERS, "Cache-Control": "no-store"},
    )
