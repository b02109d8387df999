import re
from pathlib import Path

import pytest

from tests.channels.web.conftest import Visit, Visitor
from tests.channels.web.house import MemoryHouse, open_house

STATIC = Path(__file__).parents[3] / "channels" / "web" / "static"


async def test_the_first_visit_makes_a_person_and_the_next_finds_the_same(visitor: Visitor, visit: Visit) -> None:
    first = visitor.person()
    await visitor.get("/")
    assert visitor.person() == first
    assert (await visit()).person() != first


async def test_the_cookie_is_kept_from_scripts_and_other_sites(visitor: Visitor) -> None:
    cookie = (await visitor.get("/")).headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}


async def test_a_forged_cookie_is_nobody(visitor: Visitor) -> None:
    forged = {"Cookie": f"threadbridge_person={'a' * 32}.{'b' * 43}"}
    visitor.session.cookie_jar.clear()
    assert (await visitor.get("/web/api/conversations", headers=forged)).status == 401


async def test_a_person_survives_a_restart(house: MemoryHouse, visitor: Visitor, tmp_path: Path) -> None:
    conversation = await visitor.new_conversation()
    port = visitor.server.port
    await visitor.server.close()
    visitor.server = await open_house(house, tmp_path / "state", port=port)
    try:
        assert (await visitor.get(f"/web/api/conversations/{conversation}/messages")).status == 200
    finally:
        await visitor.server.close()


async def test_the_page_allows_no_script_from_elsewhere_and_none_inline(visitor: Visitor) -> None:
    response = await visitor.get("/")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    html = await response.text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


async def test_everything_the_page_and_its_modules_load_is_there(visitor: Visitor) -> None:
    html = await (await visitor.get("/")).text()
    wanted = set(re.findall(r'(?:src|href)="(web/static/[^"]+)"', html))
    for module in STATIC.glob("*.js"):
        wanted |= {f"web/static/{name}" for name in re.findall(r'from "\./([^"]+)"', module.read_text())}
    assert len(wanted) > 10
    for path in wanted:
        response = await visitor.get(f"/{path}")
        assert response.status == 200, path
        assert response.content_type in {"text/javascript", "text/css", "image/svg+xml"}


async def test_a_file_the_browser_has_is_not_sent_again(visitor: Visitor) -> None:
    first = await visitor.get("/web/static/main.js")
    again = await visitor.get("/web/static/main.js", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304
    assert await again.read() == b""
    assert first.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["..%2Fconfig.py", "%2e%2e%2fadapter.py", "nothing.js", "..%5cconfig.py"])
async def test_only_the_pages_files_are_served(visitor: Visitor, path: str) -> None:
    assert (await visitor.get(f"/web/static/{path}")).status == 404


async def test_the_page_is_not_posted_to(visitor: Visitor) -> None:
    assert (await visitor.post("/")).status == 405


async def test_after_the_stop_one_can_read_but_not_write_and_after_the_close_neither(
    visitor: Visitor, house: MemoryHouse
) -> None:
    assert house.channel is not None
    await house.channel.stop()
    assert (await visitor.get("/web/api/conversations")).status == 200
    assert (await visitor.post("/web/api/conversations", {})).status == 503
    await house.channel.close()
    assert (await visitor.get("/web/api/conversations")).status == 503
    assert (await visitor.get("/")).status == 503
