"""Rows this version of the program cannot read: written by another one, or damaged."""

from pydantic import ValidationError


def reason(error: Exception) -> str:
    """Why a row cannot be read, without anything that stands in it: a person may have written that."""
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False, include_context=False, include_url=False)
        return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'all of it'}: {each['type']}" for each in found[:3])
    return type(error).__name__
