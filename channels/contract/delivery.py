"""What a Reply became on the platform, and the permission to speak."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from channels.contract.conversation import ChatKind, ConversationKey


class PieceState(StrEnum):
    """How sure we are that a piece is on the platform."""

    ATTEMPTING = "attempting"  # about to be posted; after a crash it may or may not be there
    SENT = "sent"  # the platform said so and gave its id
    AMBIGUOUS = "ambiguous"  # the outcome was never learnt and the piece stands again under another slot
    FAILED = "failed"  # the platform refuses it for good; the reason was shown another way


@dataclass(frozen=True, slots=True)
class Piece:
    """One platform message (or upload) a Reply became.

    `slot` is the renderer's own name for the place; `digest` names the content that stands there now.
    """

    slot: str
    state: PieceState
    message_id: str | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryReceipt:
    """All pieces of one delivery, in the order they were begun. Stored, so that an edit survives a restart."""

    pieces: tuple[Piece, ...] = ()

    def piece(self, slot: str) -> Piece | None:
        """The piece that stands in this slot, if any."""
        return next((piece for piece in self.pieces if piece.slot == slot), None)

    def with_piece(self, piece: Piece) -> "DeliveryReceipt":
        """A receipt in which this piece stands in its slot."""
        if self.piece(piece.slot) is None:
            return replace(self, pieces=(*self.pieces, piece))
        return replace(self, pieces=tuple(piece if old.slot == piece.slot else old for old in self.pieces))


@dataclass(frozen=True, slots=True)
class DeliveryTarget:
    """Where a Reply goes and by which right.

    `permit()` is called before each request to the platform and raises when this process may no longer speak for the turn
    (its lease is gone); let it pass through. `record(receipt)` stores a receipt: call it with the piece `attempting` before
    anything new is posted (it cannot be taken back), and with the piece `sent` as soon as its id is known. Edits of a known
    message need no record before them.
    """

    delivery_id: str
    conversation: ConversationKey
    chat_kind: ChatKind
    permit: Callable[[], None]
    record: Callable[[DeliveryReceipt], Awaitable[None]]
    reply_to: str | None = None
