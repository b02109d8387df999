import asyncio
import gzip
import io

import aiohttp
import pytest

from channels.contract import MessageReceived
from channels.web.ids import new_id
from tests.channels.web.conftest import CSRF, Visitor
from tests.channels.web.house import OUTPUTS, UPLOADS, MemoryHouse

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def form(content: bytes, name: str = "a.csv") -> aiohttp.FormData:
    data = aiohttp.FormData()
    data.add_field("file", io.BytesIO(content), filename=name)
    return data


async def upload(visitor: Visitor, conversation: str, data: object) -> aiohttp.ClientResponse:
    return await visitor.post(f"/web/api/conversations/{conversation}/uploads", json=None, data=data, headers=CSRF)


async def fetch(visitor: Visitor, conversation: str, path: str, **options: object) -> aiohttp.ClientResponse:
    return await visitor.get(f"/web/api/conversations/{conversation}/files", params={"path": path, **options})


async def test_an_uploaded_file_comes_with_the_message_that_mentions_it(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    response = await upload(visitor, conversation, form(b"a,b\n1,2\n"))
    assert response.status == 201
    receipt = await response.json()
    assert (receipt["name"], receipt["size_bytes"]) == ("a.csv", 8)
    body = {"client_id": new_id(), "text": "", "files": [receipt["ticket"]]}
    assert (await visitor.post(f"/web/api/conversations/{conversation}/messages", body)).status == 202
    [event] = house.events
    assert isinstance(event, MessageReceived)
    assert [file.ref for file in event.files] == [str(UPLOADS / "a.csv")]
    assert await (await fetch(visitor, conversation, str(UPLOADS / "a.csv"))).read() == b"a,b\n1,2\n"


async def test_a_large_file_is_streamed_beyond_the_limit_of_json(house: MemoryHouse, visitor: Visitor) -> None:
    house.upload_limit_bytes = 8_000_000
    conversation = await visitor.new_conversation()
    content = bytes(range(256)) * 16_384
    assert (await upload(visitor, conversation, form(content))).status == 201
    assert await (await fetch(visitor, conversation, str(UPLOADS / "a.csv"))).read() == content


async def test_a_file_the_house_finds_too_large_is_refused_with_its_sentence(
    house: MemoryHouse, visitor: Visitor
) -> None:
    house.upload_limit_bytes = 100
    conversation = await visitor.new_conversation()
    response = await upload(visitor, conversation, form(b"x" * 101))
    assert response.status == 413
    assert (await response.json())["detail"] == "a.csv is too large."


async def test_a_ticket_of_another_conversation_or_a_forged_one_is_refused(
    house: MemoryHouse, visitor: Visitor
) -> None:
    here, there = await visitor.new_conversation(), await visitor.new_conversation()
    ticket = (await (await upload(visitor, here, form(b"x"))).json())["ticket"]
    for conversation, file in ((there, ticket), (here, ticket[:-1]), (here, "/mnt/user-data/outputs/x")):
        body = {"client_id": new_id(), "text": "look", "files": [file]}
        assert (await visitor.post(f"/web/api/conversations/{conversation}/messages", body)).status == 422
    assert house.events == []


@pytest.mark.parametrize("name", ["../evil.csv", "..%2fevil.csv", "/etc/evil.csv", "..\\evil.csv"])
async def test_a_name_that_leads_elsewhere_leads_nowhere(house: MemoryHouse, visitor: Visitor, name: str) -> None:
    conversation = await visitor.new_conversation()
    response = await upload(visitor, conversation, form(b"x", name))
    assert response.status == 400 or "/" not in (await response.json())["name"]
    written = [path.relative_to(house.files) for path in house.files.rglob("*") if path.is_file()]
    assert all(path.parts[:4] == (conversation, "mnt", "user-data", "uploads") for path in written)


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"", "multipart/form-data", 400),
        (b"no boundary here", "multipart/form-data; boundary=xyz", 400),
        (b"--xyz\r\nContent-Disposition: form-data; name=other\r\n\r\nx\r\n--xyz--\r\n", "multipart/form-data; boundary=xyz", 400),
        (b"--xyz\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--xyz--\r\n", "multipart/form-data; boundary=xyz", 400),
        (b"--xyz--\r\n", "multipart/form-data; boundary=xyz", 400),
    ],
)  # fmt: skip
async def test_a_malformed_upload_is_refused(visitor: Visitor, data: bytes, content_type: str, status: int) -> None:
    conversation = await visitor.new_conversation()
    headers = {**CSRF, "Content-Type": content_type}
    path = f"/web/api/conversations/{conversation}/uploads"
    response = await visitor.post(path, json=None, data=data, headers=headers)
    assert response.status == status
    assert (await response.json())["detail"]


async def test_an_upload_that_breaks_off_leaves_no_file(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    reader, writer = await asyncio.open_connection("127.0.0.1", visitor.server.port)
    cookie = visitor.session.cookie_jar.filter_cookies(visitor.server.make_url("/"))["threadbridge_person"].value
    head = (
        f"POST /web/api/conversations/{conversation}/uploads HTTP/1.1\r\nHost: x\r\nX-Threadbridge: 1\r\n"
        f"Cookie: threadbridge_person={cookie}\r\nContent-Length: 5000\r\n"
        "Content-Type: multipart/form-data; boundary=xyz\r\n\r\n"
        '--xyz\r\nContent-Disposition: form-data; name="file"; filename="half.csv"\r\n\r\nhalf of it'
    )
    writer.write(head.encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    await reader.read()
    await asyncio.sleep(0.1)
    assert (await fetch(visitor, conversation, str(UPLOADS / "half.csv"))).status == 404


async def test_a_picture_is_shown_in_place_and_everything_else_is_a_download(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    for name, content in (("a.png", PNG), ("a.svg", b"<svg/>"), ("a.html", b"<script>"), ("a.csv", b"a")):
        house.put_file(visitor.key(conversation), OUTPUTS / name, content)
    kinds = {}
    for name in ("a.png", "a.svg", "a.html", "a.csv"):
        response = await fetch(visitor, conversation, str(OUTPUTS / name))
        kinds[name] = (response.headers["Content-Disposition"].split(";")[0], response.content_type)
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in response.headers["Content-Security-Policy"]
    assert kinds["a.png"] == ("inline", "image/png")
    assert {kinds[name] for name in ("a.svg", "a.html", "a.csv")} == {("attachment", "application/octet-stream")}
    asked = await fetch(visitor, conversation, str(OUTPUTS / "a.png"), download="1")
    assert asked.headers["Content-Disposition"].startswith("attachment")


async def test_a_name_in_any_script_survives_the_download(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    house.put_file(visitor.key(conversation), OUTPUTS / '報告 "1";.txt', b"x")
    response = await fetch(visitor, conversation, str(OUTPUTS / '報告 "1";.txt'))
    assert response.content_disposition is not None
    assert response.content_disposition.filename == '報告 "1";.txt'


async def test_a_part_of_a_file_can_be_asked_for(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    house.put_file(visitor.key(conversation), OUTPUTS / "a.txt", b"0123456789")
    url = f"/web/api/conversations/{conversation}/files?path={OUTPUTS}/a.txt"
    part = await visitor.get(url, headers={"Range": "bytes=2-4"})
    assert (part.status, await part.read()) == (206, b"234")
    beyond = await visitor.get(url, headers={"Range": "bytes=50-"})
    assert beyond.status == 416
    whole = await visitor.get(url)
    again = await visitor.get(url, headers={"If-None-Match": whole.headers["ETag"]})
    assert again.status == 304


async def test_a_packed_file_beside_it_is_not_taken_for_the_file(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    house.put_file(visitor.key(conversation), OUTPUTS / "a.txt", b"the file")
    house.put_file(visitor.key(conversation), OUTPUTS / "a.txt.gz", gzip.compress(b"another file"))
    assert await (await fetch(visitor, conversation, str(OUTPUTS / "a.txt"))).read() == b"the file"


@pytest.mark.parametrize("path", ["/mnt/user-data/outputs/../../../etc/passwd", "/etc/passwd", "nothing", "/"])
async def test_a_path_that_leads_elsewhere_finds_nothing(visitor: Visitor, path: str) -> None:
    assert (await fetch(visitor, await visitor.new_conversation(), path)).status == 404


@pytest.mark.parametrize("query", ["", "?path=", "?path=/a%00b"])
async def test_no_path_is_a_bad_request(visitor: Visitor, query: str) -> None:
    conversation = await visitor.new_conversation()
    assert (await visitor.get(f"/web/api/conversations/{conversation}/files{query}")).status == 400
