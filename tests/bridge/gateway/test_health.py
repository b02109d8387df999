"""What monitors, containers and clients are told about the server."""

import pytest

from bridge.errors import CannotListen
from channels.contract import ChannelHealth


async def test_health_is_200_while_everything_enabled_works(start_house):
    house = await start_house(health={"web": ChannelHealth(ok=True), "telegram": ChannelHealth(ok=True)})
    response = await house.request("GET", "/health")
    assert response.status == 200
    assert (await response.json())["status"] == "ok"


async def test_health_is_503_and_names_the_channel_that_does_not_work(start_house):
    channels = {"web": ChannelHealth(ok=True), "telegram": ChannelHealth(ok=False, detail="no answer for 60 s")}
    house = await start_house(health=channels)
    response = await house.request("GET", "/health")
    assert response.status == 503
    body = await response.json()
    assert body["detail"] == "telegram: no answer for 60 s"
    assert body["channels"]["web"]["ok"]


async def test_the_process_is_alive_whatever_its_channels_do(start_house):
    house = await start_house(health={"telegram": ChannelHealth(ok=False)})
    assert (await house.request("GET", "/health/live")).status == 200


async def test_clients_are_told_what_answers_them(house):
    assert await (await house.request("GET", "/api/ok")).json() == {"ok": True}
    info = await (await house.request("GET", "/api/langgraph/info")).json()
    assert info["version"]
    assert info["langgraph_py_version"]


async def test_a_port_that_is_taken_is_said_at_the_start(start_house):
    first = await start_house()
    with pytest.raises(CannotListen, match=rf"gateway\.port: 127\.0\.0\.1:{first.gateway.port} is taken"):
        await start_house(port=first.gateway.port)


async def test_a_host_that_is_another_machines_is_said_at_the_start(start_house):
    with pytest.raises(CannotListen, match=r"gateway\.host: '203\.0\.113\.77' is no address of this machine"):
        await start_house(host="203.0.113.77", access_token="correct-horse")


async def test_a_gateway_says_where_it_listens_and_two_can_listen_at_once(start_house):
    first, second = await start_house(), await start_house(host="localhost")
    assert first.gateway.port != second.gateway.port
    assert second.gateway.url == f"http://localhost:{second.gateway.port}"
