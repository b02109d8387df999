"""Answers too long for a chat: their beginning as messages, the whole of them as a file."""

from dataclasses import dataclass

from channels.contract import Reply, Text

FOLLOWS = "📄 This answer is long: the rest follows as a file."
BELOW = "📄 This answer is long: the whole of it is in the file below."
MIME_TYPE = "text/markdown"
_NAME = "answer.md"


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is made of an answer and kept nowhere else."""

    name: str
    content: bytes


def document(reply: Reply, *, messages: int, most_messages: int, upload_limit_bytes: int) -> Document | None:
    """The file of an answer whose text takes so many `messages`, or None where messages will do.

    They do up to `most_messages` (0: however many there are), and where the platform would not take the file.
    """
    if not 0 < most_messages < messages:
        return None
    text = "\n\n".join(part.markdown for part in reply.parts if isinstance(part, Text))
    content = text.encode(errors="replace")
    return Document(_NAME, content) if len(content) <= upload_limit_bytes else None
