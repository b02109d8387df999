"""The tests' hand on the simulated Telegram: starts it, acts for people and looks at their screens."""

import asyncio
import base64
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp

from ..process import SimulatorProcess
from .views import ChatView, Upload

Json = dict[str, Any]
TOKEN = "4242:TEST"
BOT_USERNAME = "threadbridge_bot"


class ControlFailed(Exception):
    """The simulator could not do what the test asked; the message says why."""


class TelegramSimulator:
    """A Bot API server in a process of its own; use it as an async context manager."""

    token = TOKEN
    bot_username = BOT_USERNAME

    def __init__(self, *, time_scale: float = 1.0, limits: bool = True) -> None:
        self._arguments = ["--token", TOKEN, "--time-scale", str(time_scale), *([] if limits else ["--no-limits"])]
        self._process: SimulatorProcess | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._process = await SimulatorProcess.start("tests.simulators.telegram", *self._arguments)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        assert self._process is not None
        await self._session.close()
        await self._process.stop()

    @property
    def base_url(self) -> str:
        """The origin, to be followed by `/bot<token>/<method>` or `/file/bot<token>/<path>`."""
        assert self._process is not None
        return f"http://127.0.0.1:{self._process.port}"

    @property
    def bot_id(self) -> int:
        return int(self.token.partition(":")[0])

    async def _request(self, verb: str, path: str, body: Json | None = None, **query: Any) -> Any:
        assert self._session is not None
        url = f"{self.base_url}/control/{path}"
        async with self._session.request(verb, url, json=body, params=query) as reply:
            if not reply.ok:
                raise ControlFailed(await reply.text())
            return await reply.json(content_type=None)

    async def post(self, path: str, **body: Any) -> Any:
        """A change, as `control` describes them."""
        return await self._request("POST", path, body)

    # People and places

    async def person(
        self, first_name: str = "Ana", *, username: str | None = None, language_code: str = "en", started: bool = True
    ) -> "Person":
        """Someone new, with a private chat; `started=False`: who never wrote to the bot."""
        described = await self.post(
            "people", first_name=first_name, username=username, language_code=language_code, started=started
        )
        return Person(self, described["id"])

    async def group(
        self,
        *members: "Person",
        title: str = "Team",
        kind: str = "supergroup",
        forum: bool = False,
        bot_status: str = "member",
    ) -> int:
        """The id of a new `group` or `supergroup`; the first member is its creator."""
        ranks = {str(member.id): "member" if position else "creator" for position, member in enumerate(members)}
        described = await self.post(
            "groups", type=kind, title=title, is_forum=forum, members=ranks, bot_status=bot_status
        )
        return int(described["id"])

    async def set_bot(self, **settings: bool) -> None:
        """`privacy_mode` and `topics_in_private`."""
        await self.post("bot", **settings)

    async def set_bot_status(self, chat: int, status: str, *, by: "Person") -> None:
        """`member`, `administrator`, `left` or `kicked`, with its `my_chat_member` update."""
        await self.post("members", chat_id=chat, user_id=self.bot_id, status=status, actor_id=by.id)

    async def redeliver(self, update_id: int) -> None:
        await self.post("redeliveries", update_id=update_id)

    async def inject(self, **update: Any) -> None:
        """Queue an update of any shape, such as one newer than the program."""
        await self.post("updates", update=update)

    # Looking

    async def chat(self, chat: int) -> ChatView:
        """The chat as people see it now."""
        return ChatView.parsed(await self._request("GET", f"chats/{chat}"), self.bot_id)

    async def wait_for(
        self, chat: int, predicate: Callable[[ChatView], Any], timeout_seconds: float = 10.0
    ) -> ChatView:
        """The chat once `predicate` holds for it; raises TimeoutError that shows the chat."""
        deadline = time.monotonic() + timeout_seconds
        seen = 0
        while True:
            view = await self.chat(chat)
            if predicate(view):
                return view
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError(f"not seen within {timeout_seconds} s; the chat shows {view}")
            effects = await self.effects(after=seen, timeout_seconds=min(remaining, 0.25))
            seen = effects[-1]["number"] if effects else seen

    async def effects(self, *, after: int = 0, timeout_seconds: float = 0.0) -> list[Json]:
        """What became visible anywhere after effect `after`; waits for the first at most the time given."""
        effects: list[Json] = await self._request("GET", "effects", after=after, timeout=timeout_seconds)
        return effects

    async def calls(self, method: str | None = None, *, after: int = 0) -> list[Json]:
        """The Bot API calls so far, all or of one method, each with parameters, times and outcome."""
        calls = await self._request("GET", "calls", after=after)
        return [call for call in calls if method is None or call["method"] == method]

    async def violations(self) -> list[Json]:
        """The rules of the platform that were broken."""
        violations: list[Json] = await self._request("GET", "violations")
        return violations

    async def pending_updates(self) -> list[Json]:
        """Updates whose receipt the bot did not confirm."""
        updates: list[Json] = await self._request("GET", "updates")
        return updates

    async def webhook_info(self) -> Json:
        """What `getWebhookInfo` says."""
        assert self._session is not None
        async with self._session.get(f"{self.base_url}/bot{self.token}/getWebhookInfo") as reply:
            info: Json = (await reply.json())["result"]
            return info

    async def commands(self) -> list[list[Json]]:
        """The command menus that were set."""
        menus: list[list[Json]] = await self._request("GET", "commands")
        return menus

    async def press_answers(self, query_id: str) -> list[Json]:
        """What the person was shown after a press."""
        answers: list[Json] = (await self._request("GET", f"presses/{query_id}"))["answers"]
        return answers

    async def file(self, file_id: str) -> bytes:
        """The bytes of a file, sent by anyone."""
        assert self._session is not None
        async with self._session.get(f"{self.base_url}/control/files/{file_id}") as reply:
            return await reply.read()

    # Faults

    async def fault(self, kind: str, method: str = "*", **order: Any) -> None:
        """Order a fault (see `faults.Fault` for the fields)."""
        await self.post("faults", kind=kind, method=method, **order)

    async def clear_faults(self) -> None:
        await self._request("DELETE", "faults")

    async def hold(self, gate: str, method: str, *, when: str = "before", **order: Any) -> None:
        """Let the next call of `method` wait at `gate`, before or after its effect."""
        await self.fault("hold", method, gate=gate, when=when, **order)

    async def gate_reached(self, gate: str, timeout_seconds: float = 10.0) -> None:
        """Return when a call waits at the gate."""
        async with asyncio.timeout(timeout_seconds):
            await self._request("GET", f"gates/{gate}")

    async def release(self, gate: str) -> None:
        await self._request("DELETE", f"gates/{gate}")


class Person:
    """Someone on the simulated Telegram; `id` is also the id of their private chat with the bot."""

    def __init__(self, telegram: TelegramSimulator, user_id: int) -> None:
        self._telegram = telegram
        self.id = user_id

    async def send(
        self,
        text: str = "",
        *,
        chat: int | None = None,
        entities: Sequence[Json] = (),
        reply_to: int | None = None,
        topic: int | None = None,
        files: Sequence[Upload] = (),
        media_group: bool = False,
        anonymous: bool = False,
    ) -> list[Json]:
        """Write to the bot or into `chat`; the ids of the messages and of their updates."""
        sent = await self._telegram.post(
            "messages", chat_id=chat or self.id, user_id=self.id, text=text, entities=list(entities),
            reply_to=reply_to, topic=topic, files=[_described(file) for file in files], album=media_group,
            anonymous=anonymous,
        )  # fmt: skip
        messages: list[Json] = sent["messages"]
        return messages

    async def edit(self, message_id: int, text: str, *, chat: int | None = None) -> None:
        await self._telegram.post("edits", chat_id=chat or self.id, message_id=message_id, text=text)

    async def delete(self, message_id: int, *, chat: int | None = None) -> None:
        await self._telegram.post("deletions", chat_id=chat or self.id, message_id=message_id)

    async def press(self, message_id: int, data: str, *, chat: int | None = None) -> str:
        """Press the button with that callback data; the id of the query, for `press_answers`."""
        pressed = await self._telegram.post(
            "presses", chat_id=chat or self.id, message_id=message_id, user_id=self.id, data=data
        )
        return str(pressed["query_id"])

    async def press_label(self, message_id: int, label: str, *, chat: int | None = None) -> str:
        """Press the button that shows `label`."""
        message = (await self._telegram.chat(chat or self.id)).message(message_id)
        return await self.press(message_id, message.callback_data(label), chat=chat)

    async def stop(self, *, topic: int | None = None) -> None:
        """Press the stop button of the draft that is shown."""
        await self._telegram.post("stops", chat_id=self.id, topic=topic)

    async def react(
        self, message_id: int, *emojis: str, chat: int | None = None, anonymous: bool = False
    ) -> int | None:
        """Have these reactions, or none, stand there; the id of the update, None where the bot is not told."""
        reacted = await self._telegram.post(
            "reactions", chat_id=chat or self.id, message_id=message_id, user_id=self.id, emojis=emojis,
            anonymous=anonymous,
        )  # fmt: skip
        update: int | None = reacted["update_id"]
        return update

    async def block(self) -> None:
        await self._telegram.set_bot_status(self.id, "kicked", by=self)

    async def unblock(self) -> None:
        await self._telegram.set_bot_status(self.id, "member", by=self)

    async def create_topic(self, name: str, *, chat: int | None = None) -> int:
        created = await self._telegram.post("topics", chat_id=chat or self.id, user_id=self.id, name=name)
        return int(created["topic"])

    async def close_topic(self, topic: int, *, chat: int | None = None) -> None:
        await self._change_topic(topic, "close", chat)

    async def delete_topic(self, topic: int, *, chat: int | None = None) -> None:
        await self._change_topic(topic, "delete", chat)

    async def _change_topic(self, topic: int, change: str, chat: int | None) -> None:
        await self._telegram.post("topic_changes", chat_id=chat or self.id, user_id=self.id, topic=topic, change=change)

    async def migrate(self, group: int) -> int:
        """Turn a group into a supergroup; the new id."""
        return int((await self._telegram.post("migrations", chat_id=group, user_id=self.id))["id"])


def _described(file: Upload) -> Json:
    return {
        "kind": file.kind, "name": file.name, "mime_type": file.mime_type, "size": file.declared_size,
        "content": base64.b64encode(file.content).decode(),
    }  # fmt: skip
