"""The HTTP layer raises what python-telegram-bot expects, tells more where it can, and never shows the token."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from telegram import Bot
from telegram.error import (
    BadRequest,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from channels.contract import (
    ChannelConflict,
    ChannelUnavailable,
    ChatGone,
    ContentRejected,
    OutcomeUnknown,
    RateLimited,
)
from channels.telegram.ids import Address
from channels.telegram.markup import styled
from channels.telegram.outbound import EditTargetGone, Outbound, TopicGone
from channels.telegram.render import Button
from channels.telegram.request import AiohttpRequest, NoSuchFile, NotSent, ServerUnwell, proxy_from_environment

TOKEN = "4242:SECRET-TOKEN"


class Server:
    """Answers every request as it was told to."""

    def __init__(self) -> None:
        self.status, self.answer, self.mood = 200, {"ok": True, "result": True}, "answers"
        self.bodies: list[object] = []

    async def reply(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json() if request.content_type == "application/json" else None)
        if self.mood == "hangs":
            await asyncio.sleep(5)
        if self.mood == "hangs up":
            assert request.transport is not None
            request.transport.close()
        if self.mood == "talks nonsense":
            return web.Response(status=self.status, text="<html>")
        return web.json_response(self.answer, status=self.status)

    def refuse(self, status: int, description: str, **parameters: object) -> None:
        self.status = status
        self.answer = {"ok": False, "error_code": status, "description": description, "parameters": parameters}


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, str]]:
    behaviour = Server()
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", behaviour.reply)
    running = TestServer(application)
    await running.start_server(access_log=None)
    yield behaviour, str(running.make_url("")).rstrip("/")
    await running.close()


@pytest.fixture
async def request_layer() -> AsyncIterator[AiohttpRequest]:
    layer = AiohttpRequest(read_timeout_seconds=0.3, connect_timeout_seconds=0.3)
    await layer.initialize()
    yield layer
    await layer.shutdown()


def bot_at(url: str, layer: AiohttpRequest) -> Bot:
    return Bot(TOKEN, f"{url}/bot", f"{url}/file/bot", request=layer, get_updates_request=layer)


@pytest.mark.parametrize(
    ("status", "description", "kind", "ours"),
    [
        (400, "Bad Request: chat not found", BadRequest, ChatGone),
        (400, "Bad Request: message thread not found", BadRequest, TopicGone),
        (400, "Bad Request: TOPIC_CLOSED", BadRequest, TopicGone),
        (400, "Bad Request: not enough rights to send text messages to the chat", BadRequest, ChatGone),
        (400, "Bad Request: message to edit not found", BadRequest, EditTargetGone),
        (400, "Bad Request: message is too long", BadRequest, ContentRejected),
        (401, "Unauthorized", InvalidToken, None),
        (403, "Forbidden: bot was blocked by the user", Forbidden, ChatGone),
        (409, "Conflict: terminated by other getUpdates request", Conflict, ChannelConflict),
        (500, "Internal Server Error", ServerUnwell, ChannelUnavailable),
        (502, "Bad Gateway", NetworkError, OutcomeUnknown),
    ],
)
async def test_every_refusal_is_the_librarys_error_and_then_ours(
    server, request_layer, status: int, description: str, kind: type[TelegramError], ours: type[Exception] | None
) -> None:
    behaviour, url = server
    behaviour.refuse(status, description)
    bot = bot_at(url, request_layer)
    with pytest.raises(kind):
        await bot.send_message(7, "x")
    if ours is not None:
        with pytest.raises(ours):
            await Outbound(bot).send(Address(7), styled("x"), (), None)


async def test_a_429_says_how_long(server, request_layer) -> None:
    behaviour, url = server
    behaviour.refuse(429, "Too Many Requests: retry after 7", retry_after=7)
    with pytest.raises(RetryAfter):
        await bot_at(url, request_layer).send_message(7, "x")
    with pytest.raises(RateLimited) as caught:
        await Outbound(bot_at(url, request_layer)).send(Address(7), styled("x"), (), None)
    assert caught.value.retry_after_seconds == 7


async def test_what_is_refused_is_shown_without_formatting_and_then_without_buttons(server, request_layer) -> None:
    behaviour, url = server
    behaviour.refuse(400, "Bad Request: can't parse entities: unsupported entity")
    keyboard = ((Button("Yes", "c:t:0"),),)
    with pytest.raises(ContentRejected):
        await Outbound(bot_at(url, request_layer)).send(Address(7), styled("**x**"), keyboard, None)
    assert [("entities" in body, "reply_markup" in body) for body in behaviour.bodies] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert {body["text"] for body in behaviour.bodies} == {"x"}


async def test_what_has_nothing_to_do_with_the_content_is_not_tried_again(server, request_layer) -> None:
    behaviour, url = server
    behaviour.refuse(400, "Bad Request: chat not found")
    with pytest.raises(ChatGone):
        await Outbound(bot_at(url, request_layer)).send(Address(7), styled("**x**"), (), None)
    assert len(behaviour.bodies) == 1


async def test_an_edit_that_changes_nothing_is_done(server, request_layer) -> None:
    behaviour, url = server
    behaviour.refuse(400, "Bad Request: message is not modified: specified new message content is the same")
    await Outbound(bot_at(url, request_layer)).edit(Address(7), 1, styled("x"), ())


@pytest.mark.parametrize(("mood", "kind"), [("hangs", TimedOut), ("hangs up", NetworkError)])
async def test_what_may_have_taken_effect_is_unknown_for_a_post_and_harmless_for_an_edit(
    server, request_layer, mood: str, kind: type[TelegramError]
) -> None:
    behaviour, url = server
    behaviour.mood = mood
    bot = bot_at(url, request_layer)
    with pytest.raises(kind) as caught:
        await bot.send_message(7, "x")
    assert not isinstance(caught.value, NotSent)
    with pytest.raises(OutcomeUnknown):
        await Outbound(bot).send(Address(7), styled("x"), (), None)
    with pytest.raises(ChannelUnavailable):
        await Outbound(bot).edit(Address(7), 1, styled("x"), ())


async def test_without_a_connection_nothing_can_have_happened(request_layer) -> None:
    bot = bot_at("http://127.0.0.1:9", request_layer)
    with pytest.raises(NotSent):
        await bot.send_message(7, "x")
    with pytest.raises(ChannelUnavailable):
        await Outbound(bot).send(Address(7), styled("x"), (), None)


async def test_a_closed_session_sends_nothing(request_layer) -> None:
    await request_layer.shutdown()
    with pytest.raises(NotSent):
        await bot_at("http://127.0.0.1:9", request_layer).send_message(7, "x")


async def test_a_file_that_is_not_there_is_said_to_be_so(server, request_layer) -> None:
    behaviour, url = server
    behaviour.status = 404
    with pytest.raises(NoSuchFile):
        async for _ in request_layer.download(f"{url}/file/bot{TOKEN}/x"):
            pass


@pytest.mark.parametrize("mood", ["hangs", "hangs up", "talks nonsense", "answers", "unreachable", "impossible"])
async def test_the_token_is_in_no_log_and_no_error(server, request_layer, caplog, mood: str) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("telegram").setLevel(logging.INFO)
    behaviour, url = server
    behaviour.mood = mood
    behaviour.refuse(404, "Not Found")
    url = {"unreachable": "http://127.0.0.1:9", "impossible": "http://no.such.host.invalid"}.get(mood, url)
    bot = bot_at(url, request_layer)

    async def fetched() -> None:
        async for _ in request_layer.download(f"{url}/file/bot{TOKEN}/x"):
            pass

    for attempt in (bot.get_me, lambda: bot.send_message(7, "x"), fetched):
        with pytest.raises(TelegramError) as caught:
            await attempt()
        assert "SECRET" not in "".join(_everything_in(caught.value))
    assert "SECRET" not in caplog.text


def _everything_in(error: BaseException | None) -> list[str]:
    if error is None:
        return []
    return [f"{error!r} {error}", *_everything_in(error.__cause__), *_everything_in(error.__context__)]


def test_the_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "localhost")
    assert proxy_from_environment("https://api.telegram.org") == "http://proxy.example:3128"
    assert proxy_from_environment("http://api.telegram.org") is None
    assert proxy_from_environment("https://localhost:8081") is None
