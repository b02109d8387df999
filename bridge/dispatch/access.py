"""Who may speak, by the channel's own section of the configuration."""

from dataclasses import dataclass

from channels.contract import Access, ChannelSection, ChatKind, InboundEvent, Membership, Sender


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not; `text` is said to them once, in private only."""

    text: str


@dataclass(frozen=True, slots=True)
class IfAdmitted:
    """The configuration leaves it to the admins: who was let in may speak, who was not may ask to be."""


def judge(section: ChannelSection, sender: Sender) -> Refusal | IfAdmitted | None:
    """None when the person may speak. `allowed_users` and `admins` always may; an empty list adds nobody."""
    if sender.id in section.allowed_users or is_admin(section, sender.id):
        return None
    match section.access:
        case Access.OPEN:
            return None
        case Access.MEMBERS if sender.membership is Membership.MEMBER:
            return None
        case Access.PAIRING:
            return IfAdmitted()
        case _:
            return Refusal(f"This bot is not open to you. If it should be, give its operator your id: {sender.id}")


def is_admin(section: ChannelSection, person_id: str) -> bool:
    """Whether this person may let others in."""
    return person_id in section.admins


def may_be_told(event: InboundEvent) -> bool:
    """A refusal is said in private chats; in groups there is silence."""
    return event.chat_kind is ChatKind.PRIVATE
