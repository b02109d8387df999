"""What looks like a call is found, and nothing that only has an @ in it."""

import pytest

from channels.shared.mentions import names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ask @somebody, @every_one!", ["@somebody", "@every_one"]),
        ('(@in_brackets) "@quoted" **@bold**', ["@in_brackets", "@quoted", "@bold"]),
        ("@first and last @here", ["@first", "@here"]),
        ("npm @types/node", ["@types"]),
        ("me@example.org, user@host:/srv, icon@2x.png", []),
        ("https://example.org/@handle and example.org/@handle/x", []),
        ("@ alone, @x, @@double, @日本語, a @-b", []),
        ("nothing", []),
    ],
)  # fmt: skip
def test_names_are_found(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in names(text)] == found
