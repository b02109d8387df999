"""Everything a channel may raise.

ChannelError
├── ChannelNotConfigured     the section is incomplete or the credentials are wrong; needs a person
├── ChannelConflict          somebody else is connected with the same credentials
├── RateLimited              retryable, not before `retry_after_seconds`
├── ChannelUnavailable       retryable; nothing happened on the platform
├── OutcomeUnknown           the request may or may not have taken effect; never repeat it blindly
├── ContentRejected          the platform refuses this content for good
├── ChatMoved                the chat goes on under another id, `new_chat`
├── ChatGone                 blocked, kicked, deleted: nothing can be said there any more
└── FileUnavailable          a file cannot be fetched or sent; `user_message` says why
"""

from typing import ClassVar


class ChannelError(Exception):
    """Root of what goes wrong at a door.

    `retryable` is for the house; `user_message` may be shown to the person and never holds a secret.
    """

    code: ClassVar[str] = "channel_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, user_message: str | None = None) -> None:
        super().__init__(message)
        self.user_message = user_message


class ChannelNotConfigured(ChannelError):
    """The section is incomplete or the platform refuses the credentials; the message says which key to mend."""

    code = "channel_not_configured"


class ChannelConflict(ChannelError):
    """Another process is connected with the same credentials."""

    code = "channel_conflict"
    retryable = True


class RateLimited(ChannelError):
    """The platform asks for silence of `retry_after_seconds`."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after_seconds: float, user_message: str | None = None) -> None:
        super().__init__(message, user_message=user_message)
        self.retry_after_seconds = retry_after_seconds


class ChannelUnavailable(ChannelError):
    """The platform could not be reached, or said it is unwell, before anything took effect."""

    code = "channel_unavailable"
    retryable = True


class OutcomeUnknown(ChannelError):
    """The reply to a request was lost: it may have taken effect."""

    code = "outcome_unknown"


class ContentRejected(ChannelError):
    """The platform will never take this content (too long, not parsable, forbidden)."""

    code = "content_rejected"


class ChatMoved(ChannelError):
    """The chat has another id by now, under which everything goes on."""

    code = "chat_moved"

    def __init__(self, message: str, *, new_chat: str) -> None:
        super().__init__(message)
        self.new_chat = new_chat


class ChatGone(ChannelError):
    """The bot was blocked or removed, or the chat no longer exists."""

    code = "chat_gone"


class FileUnavailable(ChannelError):
    """A file cannot be fetched from the platform or sent to it."""

    code = "file_unavailable"
