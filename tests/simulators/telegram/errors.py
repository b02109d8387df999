"""What the Bot API refuses: the code, the exact sentence, and whether a careful client would never have caused it."""

from typing import Any


class Refused(Exception):
    """An answer with `ok: false`. `violation` marks a rule the client could have known and obeyed."""

    def __init__(self, code: int, description: str, *, violation: bool = False, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.violation = violation
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            answer["parameters"] = self.parameters
        return answer


def bad_request(sentence: str) -> Refused:
    """Something the client could not always know: a message deleted meanwhile, a text that did not change."""
    return Refused(400, f"Bad Request: {sentence}")


def broken_rule(sentence: str) -> Refused:
    """A documented rule of the Bot API that the call broke."""
    return Refused(400, f"Bad Request: {sentence}", violation=True)


def forbidden(sentence: str) -> Refused:
    return Refused(403, f"Forbidden: {sentence}")


def flooded(retry_after: int, *, violation: bool) -> Refused:
    return Refused(429, f"Too Many Requests: retry after {retry_after}", violation=violation, retry_after=retry_after)
