"""Sends to Telegram: one method a request, API errors → ChannelError."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, TelegramError

from channels.contract import (
    ChannelConflict,
    ChannelError,
    ChannelNotConfigured,
    ChannelUnavailable,
    ChatGone,
    ChatMoved,
    ContentRejected,
    FileUnavailable,
    OutcomeUnknown,
    RateLimited,
)
from channels.telegram.ids import Address
from channels.telegram.questions import Keyboard
from channels.telegram.request import Flooded, NoSuchFile, NotSent, ServerUnwell
from channels.telegram.styled_text import Styled

_Result = TypeVar("_Result")
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_DRAFT_READ_SECONDS = 3.0  # the answer waits for a draft that is under way
_NOT_MODIFIED = "message is not modified"
_GONE = (
    "chat not found",
    "user not found",
    "user is deactivated",
    "group chat was upgraded",
    "peer_id_invalid",
    "chat_write_forbidden",
    "not enough rights to send",
    "have no rights to send",
)
_TOPIC_GONE = ("message thread not found", "topic_closed", "topic_deleted", "topic_id_invalid")
_UNDELETABLE = ("message to delete not found", "message can't be deleted")
_EDIT_TARGET_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")


class EditTargetGone(ContentRejected):
    """The message to edit is no longer there: what it should show must be posted anew."""


class PhotoRefused(ContentRejected):
    """Telegram can't show this picture; as a document it may still take it."""


class TopicGone(ContentRejected):
    """The topic was deleted or is closed: what belongs there may still stand in the chat itself."""


class Outbound:
    """The requests the channel makes. None is repeated here but one that Telegram refused for its formatting."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    async def send(self, address: Address, content: Styled, keyboard: Keyboard, reply_to: int | None) -> int:
        """Post a message; its id. Raises ChannelError; OutcomeUnknown when it may stand there nevertheless."""

        async def attempt(shown: Styled, buttons: Keyboard) -> int:
            message = await self._bot.send_message(
                address.chat_id,
                _well_formed(shown.text),
                entities=_entities(shown),
                reply_markup=_markup(buttons),
                message_thread_id=address.topic,
                reply_parameters=_reply(reply_to),
                link_preview_options=_NO_PREVIEW,
            )
            return message.message_id

        return await _degraded(attempt, content, keyboard)

    async def edit(self, address: Address, message_id: int, content: Styled, keyboard: Keyboard) -> None:
        """Make a message show this; doing it twice is harmless. Raises EditTargetGone and other ChannelErrors."""

        async def attempt(shown: Styled, buttons: Keyboard) -> None:
            await self._bot.edit_message_text(
                _well_formed(shown.text),
                chat_id=address.chat_id,
                message_id=message_id,
                entities=_entities(shown),
                reply_markup=_markup(buttons),
                link_preview_options=_NO_PREVIEW,
            )

        with _repeatable():
            try:
                await _degraded(attempt, content, keyboard)
            except ContentRejected as error:
                if _NOT_MODIFIED not in str(error).lower():
                    raise

    async def draft(self, address: Address, draft_id: int, content: Styled, *, can_stop: bool) -> None:
        """Show text that is still being written (private chats; it stays 30 seconds). Raises ChannelError."""

        async def attempt(shown: Styled, _buttons: Keyboard) -> None:
            await self._bot.send_message_draft(
                address.chat_id,
                draft_id,
                _well_formed(shown.text),
                entities=_entities(shown),
                message_thread_id=address.topic,
                api_kwargs={"can_stop": True} if can_stop else None,
                read_timeout=_DRAFT_READ_SECONDS,
            )

        with _repeatable():
            await _degraded(attempt, content)

    async def delete(self, address: Address, message_id: int) -> None:
        """Take a message back; one that is gone, or too old for it, is let be. Raises ChannelError."""
        with _repeatable(), translated():
            try:
                await self._bot.delete_message(address.chat_id, message_id)
            except BadRequest as error:
                if not any(sign in error.message.lower() for sign in _UNDELETABLE):
                    raise

    async def upload(self, address: Address, file: InputFile, *, as_photo: bool, caption: str | None) -> int:
        """Post a file; the message's id. Raises PhotoRefused and other ChannelErrors."""
        with translated():
            try:
                if not as_photo:
                    message = await self._bot.send_document(
                        address.chat_id, file, caption=caption, message_thread_id=address.topic
                    )
                    return message.message_id
                message = await self._bot.send_photo(
                    address.chat_id, file, caption=caption, message_thread_id=address.topic
                )
            except BadRequest as error:
                if as_photo and _is_about_the_picture(error):
                    raise PhotoRefused(error.message) from None
                raise
            return message.message_id

    async def typing(self, address: Address) -> None:
        """Show "typing" for five seconds. Raises ChannelError."""
        with _repeatable(), translated():
            await self._bot.send_chat_action(address.chat_id, ChatAction.TYPING, message_thread_id=address.topic)

    async def react(self, address: Address, message_id: int, emoji: str) -> None:
        """Replace the bot's reaction. Raises ChannelError."""
        with _repeatable(), translated():
            await self._bot.set_message_reaction(address.chat_id, message_id, emoji)

    async def leave(self, address: Address) -> None:
        """Go out of a group. Raises ChannelError."""
        with _repeatable(), translated():
            await self._bot.leave_chat(address.chat_id)

    async def answer_press(self, query_id: str, text: str, *, alert: bool) -> None:
        """Answer a press within its 15 seconds; one too old to be answered is let go. Raises ChannelError."""
        with _repeatable(), translated():
            try:
                await self._bot.answer_callback_query(query_id, text[:200], show_alert=alert)
            except BadRequest as error:
                if "query is too old" not in error.message.lower():
                    raise


async def _degraded(
    attempt: Callable[[Styled, Keyboard], Awaitable[_Result]], content: Styled, keyboard: Keyboard = ()
) -> _Result:
    """The attempt, and where Telegram refuses what it shows, again without formatting, and then without buttons."""
    unformatted = Styled(content.text)
    simpler = ((content, keyboard), (unformatted, keyboard), (unformatted, ()))
    *early, last = dict.fromkeys(simpler)
    with translated():
        for shown, buttons in early:
            try:
                return await attempt(shown, buttons)
            except BadRequest as error:
                if not _is_about_the_content(error):
                    raise
        return await attempt(*last)


@contextmanager
def translated() -> Iterator[None]:
    """The library's errors as ours."""
    try:
        yield
    except NoSuchFile as error:
        raise FileUnavailable(str(error), user_message="Telegram no longer has this file.") from error
    except TelegramError as error:
        raise _channel_error(error) from error


@contextmanager
def _repeatable() -> Iterator[None]:
    """For requests that do no harm when they take effect twice: an unknown outcome is none at all."""
    try:
        yield
    except OutcomeUnknown as error:
        raise ChannelUnavailable(str(error)) from error


def _channel_error(error: TelegramError) -> ChannelError:
    message = error.message
    match error:
        case Flooded():
            return RateLimited(message, retry_after_seconds=error.seconds)
        case NotSent() | ServerUnwell():
            return ChannelUnavailable(message)
        case ChatMigrated():
            return ChatMoved(message, new_chat=str(error.new_chat_id))
        case Forbidden():
            return ChatGone(message)
        case InvalidToken():
            return ChannelNotConfigured(f"Telegram refuses channels.telegram.bot_token ({message})")
        case Conflict():
            return ChannelConflict(message)
        case BadRequest():
            return _rejection(message)
        case _:
            return OutcomeUnknown(message)


def _rejection(message: str) -> ChannelError:
    lowered = message.lower()
    if any(sign in lowered for sign in _GONE):
        return ChatGone(message)
    if any(sign in lowered for sign in _TOPIC_GONE):
        return TopicGone(message)
    if any(sign in lowered for sign in _EDIT_TARGET_GONE):
        return EditTargetGone(message)
    return ContentRejected(message)


def _is_about_the_content(error: BadRequest) -> bool:
    return type(_rejection(error.message)) is ContentRejected and _NOT_MODIFIED not in error.message.lower()


def _is_about_the_picture(error: BadRequest) -> bool:
    return any(sign in error.message.lower() for sign in ("photo", "image"))


def _well_formed(text: str) -> str:
    """The text without halves of surrogate pairs, which no JSON may hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _entities(content: Styled) -> Sequence[MessageEntity] | None:
    """As plain JSON, which the library hands on as it is: objects of its own would cost more than the request."""
    return cast("Sequence[MessageEntity] | None", content.entities() or None)


def _markup(keyboard: Keyboard) -> InlineKeyboardMarkup | None:
    if not keyboard:
        return None
    return InlineKeyboardMarkup(
        [
            [InlineKeyboardButton(_well_formed(button.label), callback_data=button.data) for button in row]
            for row in keyboard
        ]
    )


def _reply(message_id: int | None) -> ReplyParameters | None:
    return None if message_id is None else ReplyParameters(message_id, allow_sending_without_reply=True)
