"""What pydantic finds wrong, turned into problems with a place and a suggestion."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bridge.config.document import Document, KeyPath
from bridge.config.problems import Position, Problem, closest, did_you_mean

_SAID_PLAINLY: Mapping[str, str] = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be a text",
    "model_type": "must be a section of `key: value` lines",
    "dict_type": "must be a section of `key: value` lines",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "is_instance_of": "must be a list",  # of the kinds in our models only Sequence is checked like this
}


@dataclass(frozen=True, slots=True)
class Explainer:
    """Knows the file, its values, and which of them came from the environment; those are never shown."""

    document: Document
    values: Mapping[str, Any]
    from_environment: Mapping[KeyPath, str]

    def problems(self, error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
        """One problem for every place where pydantic found a mistake in `model`."""
        found: dict[KeyPath, Problem] = {}
        for detail in error.errors(include_url=False):
            problem = self._problem(detail, model)
            if problem.path in found:  # a value that may be of several kinds, and is none of them
                problem = replace(problem, message=f"{found[problem.path].message}; or {problem.message}")
            found[problem.path] = problem
        yield from found.values()

    def _problem(self, detail: ErrorDetails, model: type[BaseModel]) -> Problem:
        if detail["type"] == "extra_forbidden":
            *section, key = detail["loc"]
            return self.unknown_key(tuple(section), str(key), _keys(model, section))
        path = self._existing(detail["loc"], detail["type"])
        if detail["type"] == "missing":
            similar = closest(str(path[-1]), [str(key) for key in detail["input"]])
            hint = f"; is {similar!r} meant to be it?" if similar else ""
            return Problem(path, f"this key is needed{hint}", self.document.position(path))
        return Problem(path, self._sentence(detail, path), self._place(detail, path))

    def _place(self, detail: ErrorDetails, path: KeyPath) -> Position | None:
        """Where `path` stands. A rule about a whole section begins its sentence with the key it is about."""
        if detail["type"] == "value_error":
            key = re.split(r"\W", str(detail["ctx"]["error"]), maxsplit=1)[0]
            return self.document.position((*path, key)) if key else self.document.value_position(path)
        return self.document.value_position(path)

    def unknown_key(self, section: KeyPath, key: str, possible: Sequence[str]) -> Problem:
        """A key that is not among the `possible` ones."""
        path = (*section, key)
        hint = did_you_mean(key, possible) or (f" Possible: {', '.join(sorted(possible))}." if possible else "")
        return Problem(path, f"there is no such key.{hint}", self.document.position(path))

    def _existing(self, loc: Sequence[str | int], kind: str) -> KeyPath:
        """`loc` without the names of union members that pydantic mixes into it."""
        if kind == "missing":
            return tuple(loc)
        path: list[str | int] = []
        value: Any = self.values
        for step in loc:
            if isinstance(value, dict) and step not in value:
                continue
            if isinstance(value, dict) or (isinstance(value, list) and isinstance(step, int)):
                path.append(step)
                value = value[step]  # type: ignore[index]  # an int where it is a list
        return tuple(path)

    def _sentence(self, detail: ErrorDetails, path: KeyPath) -> str:
        kind, given = detail["type"], detail["input"]
        if path in self.from_environment:
            shown = f" (it comes from ${self.from_environment[path]})"
        elif isinstance(given, str | int | float) and kind in {"enum", "literal_error", *_SAID_PLAINLY}:
            shown = f", not {given!r}"
        else:
            shown = ""
        if kind in {"enum", "literal_error"}:
            choices = _choices(detail["ctx"]["expected"])
            return f"must be one of {', '.join(choices)}{shown}." + did_you_mean(str(given), choices)
        if kind == "value_error":
            return str(detail["ctx"]["error"])
        return _SAID_PLAINLY.get(kind, detail["msg"][:1].lower() + detail["msg"][1:]) + shown


def _choices(expected: str) -> list[str]:
    return [choice.strip().strip("'") for choice in expected.replace(" or ", ", ").split(",")]


def _keys(model: type[BaseModel], section: Sequence[str | int]) -> Sequence[str]:
    """The keys of the section that `section` leads to, empty where the models do not tell."""
    current: type[BaseModel] | None = model
    for step in section:
        if isinstance(step, int):
            continue
        field = current.model_fields.get(step) if current else None
        current = section_model(field.annotation) if field else None
    return tuple(current.model_fields) if current else ()


def section_model(annotation: Any) -> type[BaseModel] | None:
    """The model within an annotation such as `Section | None` or `tuple[Section, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Annotated, Union, UnionType, Sequence, list, tuple}:
        return next(filter(None, map(section_model, get_args(annotation))), None)
    return None
