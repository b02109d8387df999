import asyncio
import io
from dataclasses import replace

import pytest
from aiohttp import FormData

from channels.contract import (
    ChoiceSelected,
    Clarification,
    ClarificationState,
    MessageReceived,
    Option,
    Reply,
    ReplyPhase,
    StopRequested,
    Text,
)
from channels.web.ids import new_id
from tests.channels.web.conftest import CSRF, Visit, Visitor
from tests.channels.web.house import MemoryHouse, Turn, deliver

QUESTION = Clarification("tok1", "Which?", options=(Option("A", "a"), Option("B", "b")))


def message(text: str = "hello", **more: object) -> dict[str, object]:
    return {"client_id": new_id(), "text": text, "files": [], **more}


async def asked(house: MemoryHouse, visitor: Visitor, conversation: str) -> None:
    house.questions["tok1"] = QUESTION
    house.note_reply(visitor.key(conversation), "r1", Reply((QUESTION,), ReplyPhase.FINAL, "r1"))


async def test_a_message_reaches_the_house_once_however_often_it_is_posted(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    said = message("hello")
    answers = [await visitor.post(f"/web/api/conversations/{conversation}/messages", said) for _ in range(3)]
    assert [answer.status for answer in answers] == [202] * 3
    assert [(await answer.json())["outcome"] for answer in answers] == ["accepted", "duplicate", "duplicate"]
    [event] = house.events
    assert isinstance(event, MessageReceived)
    assert (event.text, event.message_id, event.conversation) == ("hello", said["client_id"], visitor.key(conversation))


async def test_the_list_has_ones_own_conversations_only_newest_first(visit: Visit) -> None:
    me, other = await visit(), await visit()
    first, second = await me.new_conversation(), await me.new_conversation()
    await other.new_conversation()
    await me.post(f"/web/api/conversations/{first}/messages", message("about cats"))
    listed = (await me.json("/web/api/conversations"))["conversations"]
    assert [(line["id"], line["title"]) for line in listed] == [(first, "about cats"), (second, "")]


async def test_before_its_first_turn_has_ended_a_conversation_is_called_by_how_it_began(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    words = "Please write a long letter\nto my landlord about the heating"
    await visitor.post(f"/web/api/conversations/{conversation}/messages", message(words))

    async def title() -> str:
        [line] = (await visitor.json("/web/api/conversations"))["conversations"]
        return str(line["title"])

    assert await title() == "Please write a long letter to…"
    house.note_reply(visitor.key(conversation), "r1", Reply((), ReplyPhase.FINAL, "r1"))
    assert await title() == words[:60]


async def test_a_conversation_that_begins_with_a_file_is_called_by_its_name(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    form = FormData()
    form.add_field("file", b"a,b\n", filename="sales.csv")
    uploaded = await visitor.post(f"/web/api/conversations/{conversation}/uploads", data=form, json=None)
    said = {"client_id": new_id(), "files": [(await uploaded.json())["ticket"]]}
    await visitor.post(f"/web/api/conversations/{conversation}/messages", said)
    for _ in range(2):
        [line] = (await visitor.json("/web/api/conversations"))["conversations"]
        assert line["title"] == "sales.csv"
        house.note_reply(visitor.key(conversation), "r1", Reply((), ReplyPhase.FINAL, "r1"))


async def test_creating_a_conversation_twice_makes_one(visitor: Visitor) -> None:
    body = {"id": new_id()}
    assert [(await visitor.post("/web/api/conversations", body)).status for _ in range(2)] == [201, 201]
    assert len((await visitor.json("/web/api/conversations"))["conversations"]) == 1


async def test_the_transcript_has_what_was_said_and_the_answer_that_is_being_given(
    house: MemoryHouse, visitor: Visitor
) -> None:
    shown = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.show(Text("m", "so *far*"))
        shown.set()

    house.agent = agent
    conversation = await visitor.new_conversation()
    await visitor.post(f"/web/api/conversations/{conversation}/messages", message("hello"))
    await asyncio.wait_for(shown.wait(), 2)
    said, answer = (await visitor.json(f"/web/api/conversations/{conversation}/messages"))["items"]
    assert (said["kind"], said["text"]) == ("message", "hello")
    assert (answer["kind"], answer["phase"], answer["can_stop"]) == ("reply", "working", True)
    assert answer["parts"][0]["html"] == "<p>so <em>far</em></p>\n"


async def test_a_long_transcript_comes_whole_though_the_house_gives_it_in_portions(
    house: MemoryHouse, visitor: Visitor
) -> None:
    house.portion = 2
    conversation = await visitor.new_conversation()
    for number in range(5):
        await visitor.post(f"/web/api/conversations/{conversation}/messages", message(str(number)))
    items = (await visitor.json(f"/web/api/conversations/{conversation}/messages"))["items"]
    assert [item["text"] for item in items] == ["0", "1", "2", "3", "4"]


async def test_a_question_in_the_transcript_is_shown_as_it_stands_now(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    await asked(house, visitor, conversation)
    house.questions["tok1"] = replace(QUESTION, state=ClarificationState.ANSWERED, answer="B")
    [item] = (await visitor.json(f"/web/api/conversations/{conversation}/messages"))["items"]
    assert (item["parts"][0]["state"], item["parts"][0]["answer"]) == ("answered", "B")


async def test_a_press_becomes_a_choice_and_a_second_is_told_that_it_is_late(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    await asked(house, visitor, conversation)
    path = f"/web/api/conversations/{conversation}/press"
    assert (await visitor.post(path, {"client_id": new_id(), "token": "tok1", "option": 1})).status == 202
    [event] = house.events
    assert isinstance(event, ChoiceSelected)
    assert (event.token, event.option, event.sender.id) == ("tok1", 1, visitor.person())
    house.questions["tok1"] = replace(QUESTION, state=ClarificationState.ANSWERED, answer="B")
    late = await visitor.post(path, {"client_id": new_id(), "token": "tok1", "option": 0})
    assert late.status == 409
    assert (await late.json())["detail"] == "This was answered already: B"
    assert len(house.events) == 1


async def test_a_question_that_is_only_being_shown_can_be_answered(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    house.questions["tok1"] = QUESTION
    await deliver(house, visitor.key(conversation), Reply((QUESTION,), ReplyPhase.WORKING, "r1"), "d1")
    path = f"/web/api/conversations/{conversation}/press"
    assert (await visitor.post(path, {"client_id": new_id(), "token": "tok1", "option": 0})).status == 202


@pytest.mark.parametrize(
    ("state", "said"), [(ClarificationState.EXPIRED, "expired"), (ClarificationState.WITHDRAWN, "withdrawn")]
)
async def test_a_closed_question_says_why_it_is_closed(
    house: MemoryHouse, visitor: Visitor, state: ClarificationState, said: str
) -> None:
    conversation = await visitor.new_conversation()
    await asked(house, visitor, conversation)
    house.questions["tok1"] = replace(QUESTION, state=state)
    path = f"/web/api/conversations/{conversation}/press"
    late = await visitor.post(path, {"client_id": new_id(), "token": "tok1", "option": 0})
    assert late.status == 409
    assert said in (await late.json())["detail"]


async def test_another_persons_question_cannot_be_found_by_its_token(house: MemoryHouse, visit: Visit) -> None:
    asker, other = await visit(), await visit()
    await asked(house, asker, await asker.new_conversation())
    path = f"/web/api/conversations/{await other.new_conversation()}/press"
    assert (await other.post(path, {"client_id": new_id(), "token": "tok1", "option": 0})).status == 404
    assert house.events == []


async def test_an_answer_that_does_not_fit_changes_nothing(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    await asked(house, visitor, conversation)
    path = f"/web/api/conversations/{conversation}/press"
    assert (await visitor.post(path, {"client_id": new_id(), "token": "tok1", "option": 7})).status == 422
    assert house.events == []


async def test_stop_reaches_the_house_with_the_run_it_was_drawn_for(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    path = f"/web/api/conversations/{conversation}/stop"
    assert (await visitor.post(path, {"client_id": new_id(), "run_id": "r7"})).status == 202
    [event] = house.events
    assert isinstance(event, StopRequested)
    assert event.run_id == "r7"


PER_CONVERSATION = [
    ("GET", "messages", None),
    ("GET", "events", None),
    ("GET", "files?path=/mnt/user-data/outputs/x", None),
    ("POST", "messages", message()),
    ("POST", "press", {"client_id": new_id(), "token": "tok1", "option": 0}),
    ("POST", "stop", {"client_id": new_id()}),
    ("POST", "uploads", None),
]


@pytest.mark.parametrize(("method", "path", "body"), PER_CONVERSATION)
async def test_a_foreign_conversation_does_not_exist(
    house: MemoryHouse, visit: Visit, method: str, path: str, body: object
) -> None:
    owner, stranger = await visit(), await visit()
    conversation = await owner.new_conversation()
    url = f"/web/api/conversations/{conversation}/{path}"
    response = await (stranger.get(url) if method == "GET" else stranger.post(url, body))
    assert response.status == 404
    assert (await response.json())["detail"] == "There is no such conversation."
    assert house.events == []


@pytest.mark.parametrize(("method", "path", "body"), PER_CONVERSATION)
async def test_without_a_cookie_nothing_is_given(
    house: MemoryHouse, visitor: Visitor, method: str, path: str, body: object
) -> None:
    conversation = await visitor.new_conversation()
    visitor.session.cookie_jar.clear()
    url = f"/web/api/conversations/{conversation}/{path}"
    response = await (visitor.get(url) if method == "GET" else visitor.post(url, body))
    assert response.status == 401
    assert house.events == []


@pytest.mark.parametrize(
    ("path", "body"), [("", {"id": new_id()}), *((f"/{{}}/{p}", b) for m, p, b in PER_CONVERSATION if m == "POST")]
)
async def test_a_post_without_the_pages_header_is_refused(
    house: MemoryHouse, visitor: Visitor, path: str, body: object
) -> None:
    conversation = await visitor.new_conversation()
    response = await visitor.post(f"/web/api/conversations{path.format(conversation)}", body, headers={})
    assert response.status == 403
    assert house.events == []


async def test_a_form_of_another_site_is_refused_even_with_the_header(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    path = f"/web/api/conversations/{conversation}/messages"
    headers = {**CSRF, "Content-Type": "text/plain"}
    response = await visitor.post(path, json=None, data=b'{"client_id":"x"}', headers=headers)
    assert response.status == 415
    assert house.events == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"text"', b'{"text": "x"}', b'{"client_id": 5, "text": "x"}', b"\xff\xfe", b"null"]
)
async def test_a_malformed_body_is_refused_with_a_sentence(house: MemoryHouse, visitor: Visitor, body: bytes) -> None:
    conversation = await visitor.new_conversation()
    path = f"/web/api/conversations/{conversation}/messages"
    headers = {**CSRF, "Content-Type": "application/json"}
    response = await visitor.post(path, json=None, data=body, headers=headers)
    assert response.status == 422
    assert (await response.json())["detail"]
    assert house.events == []


async def test_an_oversized_body_is_refused(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    path, headers = f"/web/api/conversations/{conversation}/messages", {**CSRF, "Content-Type": "application/json"}
    response = await visitor.post(path, json=None, data=io.BytesIO(b" " * 2_000_000), headers=headers)
    assert response.status == 413
    assert house.events == []


@pytest.mark.parametrize("conversation", ["nonsense", "A" * 32, "..%2f..", "%00" * 32])
async def test_an_id_of_another_form_is_no_conversation(visitor: Visitor, conversation: str) -> None:
    assert (await visitor.get(f"/web/api/conversations/{conversation}/messages")).status == 404


async def test_a_wrong_method_is_refused(visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    one = f"/web/api/conversations/{conversation}"
    assert (await visitor.get(f"{one}/press")).status == 405
    assert (await visitor.post(f"{one}/events")).status == 405
    assert (await visitor.session.delete(visitor.server.make_url(f"{one}/messages"))).status == 405


async def test_a_refused_person_is_told_the_id_the_administrator_needs(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    house.refuses = True
    response = await visitor.post(f"/web/api/conversations/{conversation}/messages", message())
    assert response.status == 403
    assert visitor.person() in (await response.json())["detail"]


async def test_answers_are_kept_by_nobody(visitor: Visitor) -> None:
    response = await visitor.get("/web/api/conversations")
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
