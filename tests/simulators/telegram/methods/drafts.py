"""Drafts, the growing previews of private chats, and chat actions such as typing."""

from ..api import Arguments, BotApi, check_topic, find_chat, formatted_argument
from ..errors import broken_rule
from ..texts import MESSAGE_LIMIT
from ..world import Draft

_PREVIEW_SECONDS = 30
_ACTION_SECONDS = 5
_ACTIONS_KEPT = 1000
_ACTIONS = {
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
}  # fmt: skip


async def send_draft(api: BotApi, arguments: Arguments) -> bool:
    chat = find_chat(api, arguments["chat_id"])
    if chat.type != "private":
        raise broken_rule("message drafts can be sent only to private chats")
    if arguments["draft_id"] == 0:
        raise broken_rule("draft identifier must be non-zero")
    topic = arguments.get("message_thread_id")
    check_topic(api, chat, topic)
    content = formatted_argument(arguments, "text", limit=MESSAGE_LIMIT, may_be_empty=True)
    draft = Draft(
        arguments["draft_id"],
        topic,
        content,
        bool(arguments.get("can_stop")),
        bool(arguments.get("keep_on_stop")),
        api.clock.now() + _PREVIEW_SECONDS,
    )
    before = next((shown for shown in chat.live_drafts(api.clock.now()) if shown.id == draft.id), None)
    if before is not None:
        draft.updates = before.updates + 1
    chat.drafts[topic] = draft
    api.journal.effect("draft", chat.id, draft_id=draft.id, text=content.text)
    return True


async def send_action(api: BotApi, arguments: Arguments) -> bool:
    chat = find_chat(api, arguments["chat_id"])
    check_topic(api, chat, arguments.get("message_thread_id"))
    if arguments["action"] not in _ACTIONS:
        raise broken_rule("wrong parameter action in request")
    now = api.clock.now()
    chat.actions.append(
        {"action": arguments["action"], "topic": arguments.get("message_thread_id"), "until": now + _ACTION_SECONDS}
    )
    del chat.actions[:-_ACTIONS_KEPT]
    api.journal.effect("action", chat.id, action=arguments["action"])
    return True


METHODS = {"sendMessageDraft": send_draft, "sendChatAction": send_action}
