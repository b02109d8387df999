import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from channels.contract import FileRef
from channels.web.ids import make_key, new_id
from channels.web.seals import Seals, load_secret

SEALS = Seals(b"s" * 32)
FILE = FileRef("/mnt/user-data/uploads/a.csv", "a.csv", "text/csv", 12)


def test_a_person_is_read_back_only_from_what_was_sealed_here() -> None:
    person = new_id()
    cookie = SEALS.seal_person(person)
    assert SEALS.open_person(cookie) == person
    assert SEALS.open_person(cookie[:-2]) is None
    assert SEALS.open_person(person) is None
    assert SEALS.open_person("") is None
    assert SEALS.open_person("ü.x") is None
    assert Seals(b"t" * 32).open_person(cookie) is None


def test_a_signed_text_that_is_no_person_is_nobody() -> None:
    assert SEALS.open_person(SEALS.seal_person("admin")) is None


def test_a_file_is_read_back_only_in_its_conversation() -> None:
    here, there = make_key(new_id(), new_id()), make_key(new_id(), new_id())
    ticket = SEALS.seal_file(here, FILE)
    assert SEALS.open_file(here, ticket) == FILE
    assert SEALS.open_file(there, ticket) is None
    assert SEALS.open_file(here, ticket + "x") is None
    assert SEALS.open_file(here, SEALS.seal_person(new_id())) is None


def test_the_secret_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "web-secret"
    secret = load_secret(path)
    assert len(secret) == 32
    assert load_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["web-secret"]


def test_those_who_race_for_the_first_secret_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(load_secret, [tmp_path / "web-secret"] * 16))
    assert len(secrets) == 1
