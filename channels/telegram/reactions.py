"""Thumbs that people put on a message as a reaction: pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from telegram import MessageReactionUpdated, ReactionType, ReactionTypeEmoji, Update

from channels.contract import ChatKind, ConversationKey, FeedbackGiven, Sender, ShownAnswer
from channels.telegram.ids import Address
from channels.telegram.inbound import chat_kind, person_of

Rating = Literal[-1, 0, 1]
_THUMBS: dict[str, Rating] = {"👍": 1, "👎": -1}


@dataclass(frozen=True, slots=True)
class Reacted:
    """What somebody's reactions to a message say of it now: up (1), down (-1), or neither (0). Telegram does not tell the topic."""

    chat: ConversationKey
    chat_kind: ChatKind
    message_id: str
    sender: Sender
    rating: Rating
    dedupe_key: str
    occurred_at: datetime

    def feedback(self, answer: ShownAnswer) -> FeedbackGiven:
        """The same, as an opinion of the answer that the message shows."""
        return FeedbackGiven(
            conversation=answer.conversation,
            chat_kind=self.chat_kind,
            sender=self.sender,
            dedupe_key=self.dedupe_key,
            occurred_at=self.occurred_at,
            run_id=answer.run_id,
            rating=self.rating,
            toggles=False,
        )


def reacted(update: Update, bot_id: int) -> Reacted | None:
    """What a change of reactions says, or None where no thumb came or went."""
    change = update.message_reaction
    if change is None:
        return None
    sender, kind, rating = _sender(change), chat_kind(change.chat.type), _rating(change.new_reaction)
    if sender is None or kind is None or rating == _rating(change.old_reaction):
        return None
    return Reacted(
        chat=Address(change.chat.id).conversation(bot_id),
        chat_kind=kind,
        message_id=str(change.message_id),
        sender=sender,
        rating=rating,
        dedupe_key=str(update.update_id),
        occurred_at=change.date,
    )


def _sender(change: MessageReactionUpdated) -> Sender | None:
    """The person, or the chat in whose name an anonymous admin reacts."""
    if (chat := change.actor_chat) is not None:
        return Sender(str(chat.id), chat.title or "", chat.username, is_anonymous=True)
    return None if change.user is None or change.user.is_bot else person_of(change.user)


def _rating(reactions: Sequence[ReactionType]) -> Rating:
    """The only thumb among several reactions; both thumbs say nothing."""
    thumbs = {_THUMBS[one.emoji] for one in reactions if isinstance(one, ReactionTypeEmoji) and one.emoji in _THUMBS}
    return thumbs.pop() if len(thumbs) == 1 else 0
