"""The control side under `/control`: what tests make people do, and what they may look at."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import orjson
from aiohttp import web

from . import people
from .people import Impossible, Written
from .reactions import react
from .server import API
from .world import Chat, Message, StoredFile, User

Json = dict[str, Any]
_LONGEST_WAIT_SECONDS = 30.0


def _json(value: Any) -> web.Response:
    return web.Response(body=orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), content_type="application/json")


class Control:
    """Handlers over one simulator; each takes the request's JSON and gives JSON back."""

    def __init__(self, application: web.Application) -> None:
        self._api = application[API]

    def routes(self) -> list[web.RouteDef]:
        changes: dict[str, Callable[[Json], Awaitable[Any]]] = {
            "people": self.add_person, "groups": self.add_group, "topics": self.add_topic,
            "topic_changes": self.change_topic, "messages": self.write,
            "edits": self.edit, "deletions": self.delete, "presses": self.press, "stops": self.stop,
            "reactions": self.react, "members": self.set_member, "migrations": self.migrate,
            "redeliveries": self.redeliver, "updates": self.inject, "bot": self.set_bot, "faults": self.order_fault,
        }  # fmt: skip
        return [
            *(web.post(f"/control/{name}", _change(handler)) for name, handler in changes.items()),
            web.delete("/control/faults", self.clear_faults),
            web.get("/control/gates/{name}", self.wait_for_gate),
            web.delete("/control/gates/{name}", self.release_gate),
            web.get("/control/chats/{id}", self.chat),
            web.get("/control/presses/{id}", self.press_answers),
            web.get("/control/files/{id}", self.file),
            web.get("/control/effects", self.effects),
            web.get("/control/calls", self.calls),
            web.get("/control/violations", self.violations),
            web.get("/control/updates", self.pending_updates),
            web.get("/control/commands", self.commands),
        ]

    def _chat(self, body: Json) -> Chat:
        return self._api.world.chats[body["chat_id"]]

    def _user(self, body: Json) -> User:
        return self._api.world.users[body["user_id"]]

    def _message(self, body: Json) -> Message:
        message = self._chat(body).message(body["message_id"])
        if message is None:
            raise Impossible("the message is not there")
        return message

    async def add_person(self, body: Json) -> Json:
        world = self._api.world
        user = world.add_user(body["first_name"], body.get("username"), body.get("language_code"))
        chat = world.add_private_chat(user)
        if not body.get("started", True):
            chat.members[world.bot.id] = "left"
        return user.api()

    async def add_group(self, body: Json) -> Json:
        members = {int(user): status for user, status in body["members"].items()}
        if body.get("bot_status", "member") != "left":
            members[self._api.world.bot.id] = body.get("bot_status", "member")
        chat = self._api.world.add_group(body["type"], body["title"], is_forum=body["is_forum"], members=members)
        return chat.api()

    async def add_topic(self, body: Json) -> Json:
        topic = people.add_topic(self._api, self._chat(body), self._user(body), body["name"])
        return {"topic": topic.id}

    async def change_topic(self, body: Json) -> Json:
        chat = self._chat(body)
        topic = chat.topics[body["topic"]]
        if body["change"] == "close":
            people.close_topic(self._api, chat, self._user(body), topic)
        else:
            people.remove_topic(chat, topic)
        return {}

    async def write(self, body: Json) -> Json:
        files = [self._store(file) for file in body.get("files", [])]
        written = Written(
            body.get("text", ""), body.get("entities", []), body.get("reply_to"), body.get("topic"), files,
            body.get("album", False), body.get("anonymous", False),
        )  # fmt: skip
        told = people.write(self._api, self._chat(body), self._user(body), written)
        return {"messages": [{"message_id": message, "update_id": update} for message, update in told]}

    def _store(self, file: Json) -> StoredFile:
        content = base64.b64decode(file["content"])
        return self._api.world.add_file(file["kind"], file["name"], file["mime_type"], content, file.get("size"))

    async def edit(self, body: Json) -> Json:
        return {"update_id": people.edit(self._api, self._message(body), body["text"], body.get("entities", []))}

    async def delete(self, body: Json) -> Json:
        self._message(body).deleted = True
        return {}

    async def press(self, body: Json) -> Json:
        query, update = people.press(self._api, self._message(body), self._user(body), body["data"])
        return {"query_id": query, "update_id": update}

    async def stop(self, body: Json) -> Json:
        return {"update_id": people.stop_draft(self._api, self._chat(body), body.get("topic"))}

    async def react(self, body: Json) -> Json:
        anonymous = body.get("anonymous", False)
        update = react(self._api, self._message(body), self._user(body), body["emojis"], anonymous=anonymous)
        return {"update_id": update}

    async def set_member(self, body: Json) -> Json:
        chat, user = self._chat(body), self._user(body)
        if user is self._api.world.bot:
            actor = self._api.world.users[body["actor_id"]]
            return {"update_id": people.set_bot_status(self._api, chat, actor, body["status"])}
        chat.members[user.id] = body["status"]
        return {"update_id": None}

    async def migrate(self, body: Json) -> Json:
        return people.migrate(self._api, self._chat(body), self._user(body)).api()

    async def redeliver(self, body: Json) -> Json:
        self._api.updates.redeliver(body["update_id"])
        return {}

    async def inject(self, body: Json) -> Json:
        return {"update_id": self._api.updates.inject(body["update"])}

    async def set_bot(self, body: Json) -> Json:
        self._api.world.privacy_mode = body.get("privacy_mode", self._api.world.privacy_mode)
        self._api.world.topics_in_private = body.get("topics_in_private", self._api.world.topics_in_private)
        return self._api.world.bot.api()

    async def order_fault(self, body: Json) -> Json:
        self._api.faults.order(**body)
        return {}

    async def clear_faults(self, request: web.Request) -> web.Response:
        self._api.faults.clear()
        return _json({})

    async def wait_for_gate(self, request: web.Request) -> web.Response:
        await self._api.faults.gates.reached(request.match_info["name"])
        return _json({})

    async def release_gate(self, request: web.Request) -> web.Response:
        self._api.faults.release(request.match_info["name"])
        return _json({})

    async def chat(self, request: web.Request) -> web.Response:
        chat = self._api.world.chats[int(request.match_info["id"])]
        now = self._api.clock.now()
        drafts = [
            {
                "draft_id": draft.id, "topic": draft.topic, "text": draft.content.text, "can_stop": draft.can_stop,
                "entities": draft.content.entities, "updates": draft.updates, "stopped": draft.stopped,
            }
            for draft in chat.live_drafts(now)
        ]  # fmt: skip
        return _json({
            "chat": chat.api(), "now": now, "drafts": drafts, "actions": chat.actions,
            "topics": {topic.id: topic.name for topic in chat.topics.values()}, "members": chat.members,
            "messages": [message.view() for message in chat.messages.values()],
        })  # fmt: skip

    async def press_answers(self, request: web.Request) -> web.Response:
        query = self._api.presses.get(request.match_info["id"])
        return _json({"answers": query.answers if query else []})

    async def file(self, request: web.Request) -> web.Response:
        return web.Response(body=self._api.world.files[request.match_info["id"]].content)

    async def effects(self, request: web.Request) -> web.Response:
        """The effects after a number, at once when there are any, else at the next one."""
        after, timeout = int(request.query.get("after", 0)), float(request.query.get("timeout", 0))
        found = self._api.journal.effects_after(after)
        if not found and timeout > 0:
            await self._api.journal.wait_for_change(min(timeout, _LONGEST_WAIT_SECONDS))
            found = self._api.journal.effects_after(after)
        return _json(found)

    async def calls(self, request: web.Request) -> web.Response:
        after = int(request.query.get("after", 0))
        return _json([asdict(call) for call in self._api.journal.calls if call.number > after])

    async def violations(self, request: web.Request) -> web.Response:
        return _json([asdict(violation) for violation in self._api.journal.violations])

    async def pending_updates(self, request: web.Request) -> web.Response:
        return _json([update.body for update in self._api.updates.pending])

    async def commands(self, request: web.Request) -> web.Response:
        return _json(list(self._api.world.commands.values()))


def _change(handler: Callable[[Json], Awaitable[Any]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            return _json(await handler(await request.json()))
        except (Impossible, KeyError, TypeError) as error:
            return web.Response(status=422, text=f"{type(error).__name__}: {error}")

    return handle
