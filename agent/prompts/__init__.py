"""The texts the model is given."""

from __future__ import annotations

from importlib.resources import files


def read_prompt(name: str) -> str:
    """Give the text of `<name>.md` beside this file."""
    return files(__package__ or __name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
