"""Who may speak, by the channel's own section of the configuration."""

from dataclasses import dataclass

from channels.contract import Access, ChannelSection, ChatKind, InboundEvent, Membership


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not; `text` is said to them once, in private only."""

    text: str


def refusal(section: ChannelSection, event: InboundEvent) -> Refusal | None:
    """None when the person may speak. `allowed_users` and `admins` always may; an empty list adds nobody."""
    sender = event.sender
    if sender.id in section.allowed_users or sender.id in section.admins:
        return None
    match section.access:
        case Access.OPEN:
            return None
        case Access.MEMBERS if sender.membership is Membership.MEMBER:
            return None
        case Access.PAIRING:
            return Refusal(
                f"This bot answers people it knows. Ask its operator to add your id to `allowed_users`: {sender.id}"
            )
        case _:
            return Refusal(f"This bot is not open to you. If it should be, give its operator your id: {sender.id}")


def may_be_told(event: InboundEvent) -> bool:
    """A refusal is said in private chats; in groups there is silence."""
    return event.chat_kind is ChatKind.PRIVATE
