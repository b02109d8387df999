"""What the browser keeps for us, signed: who the person is, and the files they uploaded."""

import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from itsdangerous import BadSignature, Signer, URLSafeSerializer

from channels.contract import ConversationKey, FileRef
from channels.web.ids import is_id


class Seals:
    """Signs with the channel's secret, and takes back only what it signed."""

    def __init__(self, secret: bytes) -> None:
        self._people = Signer(secret, salt=b"threadbridge.web.person", digest_method=sha256)
        self._files = URLSafeSerializer(secret, salt=b"threadbridge.web.file", signer_kwargs={"digest_method": sha256})

    def seal_person(self, person: str) -> str:
        """The value of the person's cookie."""
        return self._people.sign(person).decode()

    def open_person(self, cookie: str) -> str | None:
        """The person a cookie names, or None when it is not ours."""
        try:
            person = self._people.unsign(cookie).decode()
        except (BadSignature, UnicodeDecodeError):
            return None
        return person if is_id(person) else None

    def seal_file(self, conversation: ConversationKey, file: FileRef) -> str:
        """A ticket with which a message of this conversation may mention the file."""
        content = [str(conversation), file.ref, file.name, file.mime_type, file.size_bytes]
        return str(self._files.dumps(content))

    def open_file(self, conversation: ConversationKey, ticket: str) -> FileRef | None:
        """The file of a ticket, or None when the ticket is not ours or of another conversation."""
        try:
            where, *file = self._files.loads(ticket)
        except BadSignature:
            return None
        return FileRef(*file) if where == str(conversation) else None


def load_secret(path: Path) -> bytes:
    """The secret in this file, made on first use and readable by its owner only. Blocking; processes may race for it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent) as draft:  # mode 0600
        draft.write(secrets.token_bytes(32))
        draft.flush()
        os.fsync(draft.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(draft.name)
    return path.read_bytes()
