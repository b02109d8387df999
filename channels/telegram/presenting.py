"""Makes a chat show what was rendered, given what stands there already."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO

from telegram import InputFile

from channels.contract import (
    ChannelError,
    ChannelHost,
    ChatGone,
    ChatKind,
    ContentRejected,
    DeliveryReceipt,
    DeliveryTarget,
    FileUnavailable,
    OpenedFile,
    OutcomeUnknown,
    Piece,
    PieceState,
    RateLimited,
)
from channels.shared.pacing import Urgency
from channels.telegram.ids import Address
from channels.telegram.outbound import EditTargetGone, Outbound, PhotoRefused, TopicGone
from channels.telegram.render import REPEAT_LINE, UPLOAD_LIMIT_BYTES, FilePayload, TextPayload
from channels.telegram.styled_text import plain, quiet
from channels.telegram.throttle import Throttle

_LOGGER = logging.getLogger(__name__)
_AGAIN = "~"
_DISPLACED = "displaced"  # the slot of the word that what follows belongs elsewhere
_ELSEWHERE = "ℹ️ The topic in which this was asked is closed or gone, so the answer stands here."
_REFUSED_TEXT = "Telegram does not show this part of the answer as a message."


@dataclass(frozen=True, slots=True)
class Means:
    """What a presentation works with."""

    outbound: Outbound
    throttle: Throttle
    host: ChannelHost


class Presentation:
    """One delivery on its way to the screen. `receipt` says at every moment what is known to stand there."""

    def __init__(self, means: Means, target: DeliveryTarget, receipt: DeliveryReceipt, *, is_final: bool) -> None:
        self._means = means
        self._target = target
        self._address = Address.of(target.conversation)
        self._is_final = is_final
        self._requests = 0
        self.receipt = receipt
        if receipt.piece(_DISPLACED) is not None:
            self._displace()

    async def show_text(self, payload: TextPayload) -> None:
        """Post or edit the message of this slot. Of an answer, a part that Telegram refuses comes as a file. Raises ChannelError."""
        try:
            await self._place_once_more_if_unknown(payload)
        except ContentRejected as error:
            if not self._is_final:
                raise
            _LOGGER.warning("telegram: a message is sent as a file, for it was refused (%s)", error)
            is_there = await self.show_made_file(payload.as_file(f"📄 {_REFUSED_TEXT}"))
            if not is_there or payload.keyboard or self.has_message(payload.slot):
                await self._place(TextPayload(payload.slot, plain(f"⚠️ {_REFUSED_TEXT}"), payload.keyboard))

    async def show_file(self, payload: FilePayload) -> None:
        """Upload the file unless it is there; what can't be sent becomes a line that says why. Raises ChannelError."""
        if self.has_message(payload.slot):
            return
        try:
            await self._upload_once_more_if_unknown(payload)
        except FileUnavailable as error:
            await self._say_instead(payload, error.user_message or "it could not be read.")
        except ContentRejected:
            await self._say_instead(payload, "Telegram does not take this file.")

    async def show_made_file(self, payload: FilePayload) -> bool:
        """Upload a file that is made of the answer, unless it is there; False if Telegram does not take it. Raises ChannelError."""
        standing = self._standing(payload.slot)
        if standing is not None and standing.state in {PieceState.SENT, PieceState.FAILED}:
            return standing.state is PieceState.SENT
        try:
            await self._upload_once_more_if_unknown(payload)
        except ContentRejected:
            await self._note(Piece(payload.slot, PieceState.FAILED))
            return False
        return True

    async def withdraw_others(self, prefixes: tuple[str, ...], kept: set[str]) -> None:
        """Take back messages of slots that nothing belongs to any more."""
        for piece in self.receipt.pieces:
            base = _base(piece.slot)
            if piece.state is not PieceState.SENT or not base.startswith(prefixes) or base in kept:
                continue
            self._target.permit()
            await self._means.outbound.delete(self._address, int(piece.message_id or 0))
            await self._forget(piece.slot)

    def has_message(self, slot: str) -> bool:
        """Whether a message stands in the slot, so that it is edited rather than posted."""
        standing = self._standing(slot)
        return standing is not None and standing.state is PieceState.SENT

    async def _place(self, payload: TextPayload) -> None:
        standing = self._standing(payload.slot)
        match standing:
            case None:
                await self._post_text(payload, payload.slot)
            case Piece(state=PieceState.SENT):
                await self._edit(payload, standing)
            case Piece(state=PieceState.FAILED):  # somebody deleted it
                shown = payload.as_repeat() if self._may_be_a_repeat(payload.slot) else payload
                await self._post_text(shown, _next_slot(standing.slot))
            case _:
                await self._note(replace(standing, state=PieceState.AMBIGUOUS))
                await self._post_text(payload.as_repeat(), _next_slot(standing.slot))

    async def _post_text(self, payload: TextPayload, slot: str) -> None:
        await self._post(
            Piece(slot, PieceState.ATTEMPTING, digest=payload.digest),
            lambda: self._means.outbound.send(self._address, payload.content, payload.keyboard, self._reply_to(slot)),
        )

    async def _edit(self, payload: TextPayload, standing: Piece) -> None:
        shown = payload.as_repeat() if self._may_be_a_repeat(payload.slot) else payload
        if shown.digest == standing.digest:
            return
        await self._turn()
        self._target.permit()
        try:
            with self._heeding_silence():
                await self._means.outbound.edit(
                    self._address, int(standing.message_id or 0), shown.content, shown.keyboard
                )
        except (EditTargetGone, TopicGone):
            await self._note(replace(standing, state=PieceState.FAILED))
            await self._place(payload)
        else:
            await self._note(replace(standing, digest=shown.digest))

    async def _place_once_more_if_unknown(self, payload: TextPayload) -> None:
        try:
            await self._place(payload)
        except OutcomeUnknown:
            await self._place(payload)  # in a new slot, saying so

    async def _upload_once_more_if_unknown(self, payload: FilePayload) -> None:
        try:
            await self._upload(payload)
        except OutcomeUnknown:
            await self._upload(payload)  # in a new slot, saying so

    async def _say_instead(self, payload: FilePayload, reason: str) -> None:
        await self.show_text(TextPayload(payload.slot, quiet(plain(f"📎 {payload.artifact.name}: {reason}"))))

    async def _upload(self, payload: FilePayload) -> None:
        path = (await self._opened(payload)).path if payload.content is None else None
        standing = self._standing(payload.slot)
        caption, slot = payload.caption, payload.slot
        if standing is not None:
            await self._note(replace(standing, state=PieceState.AMBIGUOUS))
            caption, slot = REPEAT_LINE, _next_slot(standing.slot)
        piece = Piece(slot, PieceState.ATTEMPTING, digest=payload.slot)

        async def attempt(*, as_photo: bool) -> int:
            with _unreadable():
                handle = await asyncio.to_thread(path.open, "rb") if path else BytesIO(payload.content or b"")
            try:
                file = InputFile(handle, filename=_name(payload), read_file_handle=False)
                return await self._means.outbound.upload(self._address, file, as_photo=as_photo, caption=caption)
            finally:
                await asyncio.to_thread(handle.close)

        try:
            await self._post(piece, lambda: attempt(as_photo=payload.as_photo))
        except PhotoRefused:
            await self._post(piece, lambda: attempt(as_photo=False))

    async def _opened(self, payload: FilePayload) -> OpenedFile:
        artifact = payload.artifact
        try:
            opened = await self._means.host.open_artifact(self._target.conversation, artifact.path)
        except Exception as error:  # whatever keeps the house from opening it, the person is told
            reason = getattr(error, "user_message", None) or "the file is not there any more."
            raise FileUnavailable(str(error), user_message=reason) from error
        if opened.size_bytes > UPLOAD_LIMIT_BYTES:
            raise FileUnavailable(artifact.path, user_message="it is larger than the 50 MB that Telegram takes.")
        if opened.size_bytes == 0:
            raise FileUnavailable(artifact.path, user_message="the file is empty, and Telegram takes no empty files.")
        return opened

    async def _post(self, piece: Piece, attempt: Callable[[], Awaitable[int]]) -> None:
        """Post something new; where its topic is closed or gone, in the chat itself, behind a word that says so."""
        try:
            await self._attempt(piece, attempt)
        except TopicGone as error:
            if self._address.topic is None:
                raise ChatGone(str(error)) from error
            self._displace()
            word = Piece(_DISPLACED, PieceState.ATTEMPTING)
            await self._attempt(word, lambda: self._means.outbound.send(self._address, plain(_ELSEWHERE), (), None))
            await self._attempt(piece, attempt)

    def _displace(self) -> None:
        self._address = Address(self._address.chat_id)

    async def _attempt(self, piece: Piece, attempt: Callable[[], Awaitable[int]]) -> None:
        """One request that is recorded before, for it cannot be taken back, and after, when its id is known."""
        self._target.permit()
        await self._turn()
        await self._note(piece)
        self._target.permit()
        try:
            with self._heeding_silence():
                message_id = await attempt()
        except OutcomeUnknown:
            raise
        except ChannelError:
            await self._forget(piece.slot)
            raise
        await self._note(replace(piece, state=PieceState.SENT, message_id=str(message_id)))

    async def _turn(self) -> None:
        urgency = Urgency.CONTINUATION if self._requests else Urgency.ANSWER
        if not self._is_final:
            urgency = Urgency.PREVIEW
        await self._means.throttle.message_turn(self._address.chat_id, urgency)
        self._requests += 1

    @contextmanager
    def _heeding_silence(self) -> Iterator[None]:
        try:
            yield
        except RateLimited as error:
            self._means.throttle.message_refused(self._address.chat_id, error)
            raise

    def _reply_to(self, slot: str) -> int | None:
        """In groups the first message shows what it answers."""
        is_first = _base(slot) in {"text:0", "waiting:0"}
        is_displaced = self.receipt.piece(_DISPLACED) is not None  # it would go to the topic of what it answers
        if self._target.chat_kind is ChatKind.PRIVATE or not is_first or is_displaced or self._target.reply_to is None:
            return None
        return int(self._target.reply_to)

    def _standing(self, slot: str) -> Piece | None:
        """The newest piece of a slot, whose repeats are named `slot~1`, `slot~2`."""
        return next((piece for piece in reversed(self.receipt.pieces) if _base(piece.slot) == slot), None)

    def _may_be_a_repeat(self, slot: str) -> bool:
        return any(piece.state is PieceState.AMBIGUOUS and _base(piece.slot) == slot for piece in self.receipt.pieces)

    async def _note(self, piece: Piece) -> None:
        self.receipt = self.receipt.with_piece(piece)
        await self._target.record(self.receipt)

    async def _forget(self, slot: str) -> None:
        self.receipt = DeliveryReceipt(tuple(piece for piece in self.receipt.pieces if piece.slot != slot))
        await self._target.record(self.receipt)


@contextmanager
def _unreadable() -> Iterator[None]:
    """A file that vanished since it was looked up."""
    try:
        yield
    except OSError as error:
        raise FileUnavailable(str(error), user_message="the file is not there any more.") from error


def _name(payload: FilePayload) -> str:
    """What the file is called there: a line break in it would be refused by the HTTP library."""
    return "".join(char if char.isprintable() else "_" for char in payload.artifact.name)


def _base(slot: str) -> str:
    return slot.partition(_AGAIN)[0]


def _next_slot(slot: str) -> str:
    base, _, number = slot.partition(_AGAIN)
    return f"{base}{_AGAIN}{int(number or 0) + 1}"
