"""Every route refuses what is malformed, unknown, too large or not meant for it, always in the same form."""

import asyncio
import logging

import pytest
from aiohttp import web
from yarl import URL

from bridge.errors import BridgeError, ShuttingDown
from bridge.gateway.middlewares.errors import GENERIC_DETAIL
from bridge.gateway.server import API_PREFIXES

TOKEN = "a-token"
ROUTES = [
    ("POST", "/threads"),
    ("GET", "/threads/t"),
    ("DELETE", "/threads/t"),
    ("GET", "/threads/t/state"),
    ("GET", "/threads/t/state/c"),
    ("POST", "/threads/t/state/checkpoint"),
    ("GET", "/threads/t/history"),
    ("POST", "/threads/t/history"),
    ("POST", "/threads/t/runs"),
    ("POST", "/threads/t/runs/stream"),
    ("POST", "/threads/t/runs/wait"),
    ("GET", "/threads/t/runs"),
    ("GET", "/threads/t/runs/r"),
    ("DELETE", "/threads/t/runs/r"),
    ("GET", "/threads/t/runs/r/join"),
    ("GET", "/threads/t/runs/r/stream"),
    ("POST", "/threads/t/runs/r/cancel"),
    ("GET", "/ok"),
    ("GET", "/info"),
]
WITH_BODY = [path for method, path in ROUTES if method == "POST" and not path.endswith("/cancel")]
OF_A_THREAD = [(method, path) for method, path in ROUTES if path.startswith("/threads/t")]
OF_A_RUN = [
    (method, path) for method, path in ROUTES if path.startswith("/threads/t/runs/r/") or path.endswith("/runs/r")
]
RUN = {"assistant_id": "lead_agent", "checkpoint": {}}


async def detail(response):
    body = await response.json()
    assert list(body) == ["detail"]
    assert body["detail"]
    return body["detail"]


def test_the_list_of_routes_is_complete(house):
    served = {
        (route.method, route.resource.canonical)
        for route in house.gateway._runner.app.router.routes()
        if route.method != "HEAD"
    }
    api = {(method, path) for method, path in served if path.startswith("/api")}
    assert {path for _, path in served} - {path for _, path in api} == {"/health", "/health/live"}
    assert len(api) == len(ROUTES) * len(API_PREFIXES)


@pytest.mark.parametrize("prefix", API_PREFIXES)
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_nothing_is_served_without_the_token(start_house, prefix, method, path):
    house = await start_house(access_token=TOKEN)
    for headers in ({}, {"X-Api-Key": "wrong"}):
        response = await house.request(method, prefix + path, headers=headers)
        assert response.status == 401
        await detail(response)


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_nothing_is_served_to_foreign_hosts_and_origins(house, method, path):
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        response = await house.request(method, "/api" + path, headers=headers)
        assert response.status == 403
        await detail(response)


@pytest.mark.parametrize("path", sorted({path for _, path in ROUTES}))
async def test_a_method_a_route_does_not_know_is_405_and_names_those_it_knows(house, path):
    response = await house.request("PUT", "/api" + path)
    assert response.status == 405
    known = {method for method, other in ROUTES if other == path}
    assert known <= set(response.headers["Allow"].split(","))
    await detail(response)


async def test_nobody_waits_for_the_headers_of_an_answer_that_stays_open(house):
    for sequel in ("join", "stream"):
        assert (await house.request("HEAD", f"/api/threads/t/runs/r/{sequel}")).status == 405


async def test_an_unknown_path_is_404(house):
    response = await house.request("GET", "/api/nothing/here")
    assert response.status == 404
    await detail(response)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'"text"', b"\xff\xfe", b'{"x": NaN}', b'{"a": "\\u0000"}', b'{"a": "\\ud800"}']
)
@pytest.mark.parametrize("path", WITH_BODY)
async def test_a_malformed_body_is_422(house, path, body):
    await house.thread()
    response = await house.request("POST", "/api" + path, data=body)
    assert response.status == 422
    await detail(response)


@pytest.mark.parametrize("depth", [300, 2000, 100_000])
async def test_a_body_nested_too_deeply_is_422(house, depth):
    body = b'{"metadata": {"a": ' + b"[" * depth + b"]" * depth + b"}}"
    response = await house.request("POST", "/api/threads", data=body)
    assert response.status == 422
    await detail(response)


async def test_a_body_with_many_brackets_that_is_not_deep_is_taken(house):
    metadata = {"a": [[] for _ in range(1000)]}
    response = await house.request("POST", "/api/threads", json={"metadata": metadata})
    assert (await response.json())["metadata"] == metadata


async def test_an_escaped_backslash_before_u0000_is_only_text(house):
    response = await house.request("POST", "/api/threads", data=rb'{"metadata": {"a": "\\u0000"}}')
    assert (await response.json())["metadata"] == {"a": "\\u0000"}


@pytest.mark.parametrize("path", WITH_BODY)
async def test_an_oversized_body_is_413(start_house, path):
    house = await start_house(body_limit_bytes=1000)
    await house.thread()
    response = await house.request("POST", "/api" + path, json={"metadata": {"x": "y" * 1000}})
    assert response.status == 413
    await detail(response)


async def test_a_client_that_does_not_finish_its_body_is_408(start_house):
    house = await start_house(stalled_client_seconds=0.1)

    async def dawdle():
        yield b'{"metadata":'
        await forever.wait()

    forever = asyncio.Event()
    response = await house.request("POST", "/api/threads", data=dawdle())
    assert response.status == 408
    forever.set()


@pytest.mark.parametrize(("method", "path"), OF_A_THREAD)
async def test_an_unknown_thread_is_404(house, method, path):
    response = await house.request(method, "/api" + path, json=RUN if method == "POST" else None)
    assert response.status == 404
    await detail(response)


@pytest.mark.parametrize(("method", "path"), OF_A_RUN)
async def test_an_unknown_run_is_404(house, method, path):
    await house.thread()
    assert (await house.request(method, "/api" + path)).status == 404


@pytest.mark.parametrize(("method", "path"), OF_A_RUN)
async def test_a_run_of_another_thread_is_404(house, method, path):
    await house.thread("t")
    await house.thread("other")
    run = await (await house.request("POST", "/api/threads/other/runs", json=RUN)).json()
    assert (await house.request(method, "/api" + path.replace("runs/r", f"runs/{run['run_id']}"))).status == 404


@pytest.mark.parametrize("bad", ["a%2Fb", "a%2F..%2Fb", "a" * 65, "a%00b", "a%20b", "%C3%A9", "a.b"])
@pytest.mark.parametrize(("method", "path"), OF_A_THREAD)
async def test_an_id_no_thread_can_have_is_422(house, method, path, bad):
    response = await house.request(method, "/api" + path.replace("threads/t", f"threads/{bad}"), json=RUN)
    assert response.status == 422
    await detail(response)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"assistant_id": None}, "assistant_id"),
        ({"assistant_id": "nobody"}, "nobody"),
        ({"stream_mode": "events"}, "stream_mode"),
        ({"stream_mode": ["values", "nonsense"]}, "stream_mode.1"),
        ({"multitask_strategy": "queue"}, "multitask_strategy"),
        ({"if_not_exists": "ignore"}, "if_not_exists"),
        ({"on_disconnect": "wait"}, "on_disconnect"),
        ({"durability": "never"}, "durability"),
        ({"config": {"configurable": []}}, "config.configurable"),
        ({"config": []}, "config"),
        ({"input": "text"}, "input"),
        ({"input": {"messages": [{"role": "user", "content": "a"}, {"content": "no role"}]}}, "messages[1]"),
        ({"input": {"messages": [7]}}, "messages[0]"),
        ({"input": {"messages": [{"role": "nobody", "content": "a"}]}}, "messages[0]"),
        ({"input": {"messages": []}, "command": {"resume": 1}}, "together"),
        ({"webhook": "https://example.org/hook"}, "webhook"),
        ({"after_seconds": 5}, "after_seconds"),
    ],
)
@pytest.mark.parametrize("path", ["/runs", "/runs/stream", "/runs/wait"])
async def test_a_run_that_cannot_be_carried_out_is_422_and_names_the_place(house, path, change, place):
    await house.thread()
    response = await house.request("POST", "/api/threads/t" + path, json=RUN | change)
    assert response.status == 422
    assert place in await detail(response)
    assert house.runs.requests == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "offset=-1", "status=nonsense", "offset=99999999999999999999"]
)
async def test_a_list_of_runs_with_a_bad_query_is_422(house, query):
    await house.thread()
    assert (await house.request("GET", f"/api/threads/t/runs?{query}")).status == 422


@pytest.mark.parametrize("query", ["before=%00", "before=a.b", "limit=0", "limit=1001", "metadata=x"])
async def test_a_history_with_a_bad_query_is_422(house, query):
    await house.thread()
    assert (await house.request("GET", f"/api/threads/t/history?{query}")).status == 422


async def test_a_busy_thread_is_409(house):
    await house.thread()
    await house.request("POST", "/api/threads/t/runs", json=RUN)
    response = await house.request("POST", "/api/threads/t/runs", json=RUN)
    assert response.status == 409
    assert "already running" in await detail(response)


async def test_an_unexpected_failure_is_500_and_keeps_its_cause_to_the_log(house, caplog):
    house.threads.failure = RuntimeError("password=hunter2 in /root/secret")
    response = await house.request("GET", "/api/threads/t")
    assert response.status == 500
    assert await detail(response) == GENERIC_DETAIL
    assert "hunter2" in caplog.text


async def test_a_failure_of_ours_that_is_no_fault_of_the_caller_says_nothing_either(house):
    house.threads.failure = BridgeError("row 17 of table secret is broken")
    response = await house.request("GET", "/api/threads/t")
    assert response.status == 500
    assert await detail(response) == GENERIC_DETAIL


async def test_a_stopping_house_says_when_to_come_back(house):
    house.threads.failure = ShuttingDown("draining")
    response = await house.request("GET", "/api/threads/t")
    assert response.status == 503
    assert response.headers["Retry-After"] == "1"


async def test_security_headers_stand_on_every_answer_and_a_route_may_say_it_better(start_house):
    async def page(_request):
        return web.Response(text="page", headers={"Content-Security-Policy": "default-src 'none'"})

    house = await start_house(routes=[web.get("/", page)])
    for path, status in (("/", 200), ("/api/ok", 200), ("/api/threads/t", 404), ("/nothing", 404)):
        response = await house.request("GET", path)
        assert response.status == status
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
    assert (await house.request("GET", "/")).headers["Content-Security-Policy"] == "default-src 'none'"


@pytest.mark.parametrize("path", WITH_BODY)
async def test_who_leaves_in_the_middle_of_a_body_is_no_error(house, path, caplog):
    await house.thread()
    gateway = URL(house.gateway.url)
    head = (
        f"POST /api{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    )
    with caplog.at_level(logging.WARNING):
        _, writer = await asyncio.open_connection(gateway.host, gateway.port)
        writer.write(head.encode() + b'{"thr')
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert (await house.request("GET", "/api/ok")).status == 200
    assert caplog.records == []
