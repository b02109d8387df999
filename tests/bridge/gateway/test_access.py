"""Who gets in, from where, and under which name."""

import asyncio
import logging

import pytest
from aiohttp import web
from pydantic import ValidationError

from bridge.gateway.access import COOKIE
from bridge.gateway.config import GatewayConfig

TOKEN = "correct-horse-battery-staple"
API = "/api/threads/t"


@pytest.fixture
async def closed(start_house):
    house = await start_house(access_token=TOKEN)
    await house.thread()
    return house


def test_beyond_loopback_without_a_token_the_configuration_is_refused_and_says_what_to_set():
    with pytest.raises(ValidationError, match=r"set gateway\.access_token"):
        GatewayConfig(host="0.0.0.0")


def test_an_empty_token_is_no_token():
    with pytest.raises(ValidationError, match=r"gateway\.access_token"):
        GatewayConfig(host="::", access_token=" ")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.0.1"])
def test_loopback_needs_no_token(host):
    assert GatewayConfig(host=host).is_loopback


async def test_loopback_without_a_token_is_open(house):
    await house.thread()
    assert (await house.request("GET", API)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
        {"X-Api-Key": ""},
        {"X-Api-Key": TOKEN[:-1]},
        {"X-Api-Key": "schlüssel"},
        {"Cookie": f"{COOKIE}=browser.forged.signature"},
        {"Cookie": f"{COOKIE}={TOKEN}"},
    ],
)
async def test_without_the_token_the_api_answers_401_and_says_how(closed, headers):
    response = await closed.request("GET", API, headers=headers)
    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert "access token" in (await response.json())["detail"]


@pytest.mark.parametrize("headers", [{"Authorization": f"bearer {TOKEN}"}, {"X-Api-Key": TOKEN}])
async def test_the_token_opens_the_api(closed, headers):
    assert (await closed.request("GET", API, headers=headers)).status == 200


@pytest.mark.parametrize("path", ["/health", "/health/live"])
async def test_health_needs_no_token(closed, path):
    assert (await closed.request("GET", path)).status == 200


async def test_a_browser_is_led_to_the_sign_in_page_and_back_to_where_it_wanted(closed):
    sent_away = await closed.request("GET", "/chat?c=1", headers={"Accept": "text/html"})
    assert (sent_away.status, sent_away.headers["Location"]) == (303, "/access?next=/chat?c%3D1")
    form = await closed.request("GET", sent_away.headers["Location"])
    assert 'value="/chat?c=1"' in await form.text()
    back = await closed.request("POST", "/access", data={"token": TOKEN, "next": "/chat?c=1"})
    assert (back.status, back.headers["Location"]) == (303, "/chat?c=1")
    cookie = back.cookies[COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert TOKEN not in cookie.value
    assert (await closed.request("GET", API, headers={"Cookie": f"{COOKIE}={cookie.value}"})).status == 200


async def test_a_wrong_token_in_the_form_gives_no_cookie(closed):
    response = await closed.request("POST", "/access", data={"token": "wrong", "next": "/"})
    assert response.status == 403
    assert COOKIE not in response.cookies


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""]
)
async def test_signing_in_never_leads_to_another_site(closed, target):
    response = await closed.request("POST", "/access", data={"token": TOKEN, "next": target})
    assert response.headers["Location"] == "/"


async def test_what_a_link_brings_into_the_form_is_escaped(closed):
    text = await (await closed.request("GET", "/access", params={"next": '/"><script>'})).text()
    assert "<script>" not in text


async def test_a_cookie_dies_with_the_token_that_signed_it(closed, start_house):
    cookie = (await closed.request("POST", "/access", data={"token": TOKEN})).cookies[COOKIE].value
    other = await start_house(access_token="another-token")
    assert (await other.request("GET", API, headers={"Cookie": f"{COOKIE}={cookie}"})).status == 401


async def test_behind_a_proxy_with_tls_the_cookie_is_secure(closed):
    response = await closed.request("POST", "/access", data={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"})
    assert response.cookies[COOKIE]["secure"]


async def test_the_token_is_in_no_log_and_no_answer(closed, caplog):
    caplog.set_level(logging.DEBUG)
    closed.threads.failure = RuntimeError("broken")
    seen = [
        await (await closed.request("GET", API, headers={"X-Api-Key": TOKEN})).text(),
        await (await closed.request("GET", API, headers={"X-Api-Key": f"{TOKEN}x"})).text(),
        await (await closed.request("POST", "/access", data={"token": f"{TOKEN}x"})).text(),
        caplog.text,
    ]
    assert "broken" in caplog.text
    assert not any(TOKEN in text for text in seen)


@pytest.mark.parametrize("header", [b"X-Api-Key: ", b"Authorization: Bearer ", f"Cookie: {COOKIE}=".encode()])
async def test_bytes_that_are_no_text_are_a_wrong_token(closed, header):
    reader, writer = await asyncio.open_connection("127.0.0.1", closed.gateway.port)
    writer.write(b"GET /api/ok HTTP/1.1\r\nHost: localhost\r\n" + header + b"\xff\xfe\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"token=\xff", "application/x-www-form-urlencoded", 400),
        (b"token=a", "application/x-www-form-urlencoded; charset=nonsense", 400),
        (b"{}", "application/json", 415),
        (b"token=a", "multipart/form-data", 415),
    ],
)
async def test_a_form_that_is_none_is_refused(closed, body, content_type, status):
    response = await closed.request("POST", "/access", data=body, headers={"Content-Type": content_type})
    assert response.status == status


async def test_without_a_token_there_is_no_sign_in_page(house):
    assert (await house.request("GET", "/access")).status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]", ""])
async def test_an_open_server_does_not_answer_to_foreign_host_names(house, host):
    await house.thread()
    response = await house.request("GET", API, headers={"Host": host})
    assert response.status == 403
    assert "host name" in (await response.json())["detail"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8001", "127.0.0.1:1", "[::1]:8001"])
async def test_an_open_server_answers_to_the_names_of_loopback(house, host):
    await house.thread()
    assert (await house.request("GET", API, headers={"Host": host})).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
async def test_pages_of_other_origins_reach_nothing(house, method, origin):
    await house.thread()
    response = await house.request(method, API, headers={"Origin": origin})
    assert response.status == 403
    assert "t" in house.threads.rows


async def test_our_own_page_reaches_the_api(house):
    await house.thread()
    headers = {"Origin": house.gateway.url, "Sec-Fetch-Site": "same-origin"}
    assert (await house.request("DELETE", API, headers=headers)).status == 204


async def test_our_own_page_reaches_the_api_through_a_proxy_that_renames_the_host(house):
    await house.thread()
    headers = {"Origin": "https://bridge.example", "X-Forwarded-Host": "bridge.example"}
    assert (await house.request("DELETE", API, headers=headers)).status == 204


@pytest.mark.parametrize("origin", ["", "null", "http://[", "file://"])
async def test_an_origin_that_is_none_is_foreign(house, origin):
    await house.thread()
    assert (await house.request("DELETE", API, headers={"Origin": origin})).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200),
    ],
)
async def test_a_foreign_page_may_link_here_but_not_load_anything(house, headers, status):
    await house.thread()
    assert (await house.request("GET", API, headers=headers)).status == status


async def test_a_foreign_form_cannot_sign_anybody_in(closed):
    response = await closed.request(
        "POST", "/access", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}
    )
    assert response.status == 403
    assert COOKIE not in response.cookies


async def _hook(request):
    """As a platform's is: it lets in only what the platform has signed."""
    return web.Response(text="heard" if request.headers.get("X-Signature") == "good" else "forged")


async def test_a_platform_reaches_its_webhook_without_the_token_and_nothing_else(start_house):
    """Symptom: a platform that calls us was sent away with 401, for it knows no token of ours."""
    house = await start_house(
        access_token=TOKEN, webhooks=[web.post("/hooks/demo", _hook)], routes=[web.post("/pages/demo", _hook)]
    )
    signed = {"X-Signature": "good"}
    called = await house.request("POST", "/hooks/demo", headers=signed)
    assert (called.status, await called.text()) == (200, "heard")
    assert await (await house.request("POST", "/hooks/demo")).text() == "forged"
    for method, path in (("GET", "/hooks/demo"), ("POST", "/hooks/demo/x"), ("POST", "/pages/demo"), ("GET", API)):
        assert (await house.request(method, path, headers=signed)).status == 401, (method, path)


async def test_a_webhook_is_called_by_the_servers_public_name_and_nothing_else_is(start_house):
    house = await start_house(webhooks=[web.post("/hooks/demo", _hook)])
    public = {"Host": "bot.example.org", "X-Signature": "good"}
    assert (await house.request("POST", "/hooks/demo", headers=public)).status == 200
    assert (await house.request("GET", "/health", headers=public)).status == 403
    assert (
        await house.request("POST", "/hooks/demo", headers={**public, "Origin": "https://evil.example"})
    ).status == 403
