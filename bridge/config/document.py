"""A YAML file as values, with the place of every key."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bridge.config.problems import Position, Problem, refuse

KeyPath = tuple[str | int, ...]
_BEGINS_NOTHING = re.compile(r"found character (?P<character>'.+') that cannot start any token")


class _Place(NamedTuple):
    key: yaml.Node
    value: yaml.Node


@dataclass(frozen=True, slots=True)
class Document:
    """The values of one file. `root` keeps the places; it is None for an empty file and where there is no file."""

    values: dict[str, Any]
    root: yaml.Node | None = None

    def position(self, path: Sequence[str | int]) -> Position | None:
        """Where the key `path` ends at stands; for a key that is not there, the nearest one above it."""
        places = list(self._walk(path))
        return _position(places[-1].key) if places else None

    def value_position(self, path: Sequence[str | int]) -> Position | None:
        """Where the value of `path` begins; for a path that is not there, the nearest key above it."""
        places = list(self._walk(path))
        return _position(places[-1].value if len(places) == len(path) else places[-1].key) if places else None

    def _walk(self, path: Sequence[str | int]) -> Iterator[_Place]:
        node = self.root
        for step in path:
            place = _child(node, step)
            if place is None:
                return
            yield place
            node = place.value


def read_document(path: Path) -> Document:
    """Read `path`; raises ConfigError for a file that cannot be read, is no YAML, or holds something else than keys."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise refuse(path, [Problem((), f"the file cannot be read: {reason}")]) from error
    try:
        return _parsed(path, text)
    except yaml.MarkedYAMLError as error:
        raise refuse(path, [_syntax_problem(error)]) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise refuse(path, [Problem((), f"this is not YAML: {error}")]) from error
    except RecursionError as error:
        raise refuse(path, [Problem((), "its values are nested too deeply")]) from error


def _parsed(path: Path, text: str) -> Document:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return Document({})
        problems = [*_repeated_keys(root, (), frozenset())]
        if not problems and not isinstance(root, yaml.MappingNode):
            problems = [Problem((), "the file must consist of `key: value` lines", _position(root))]
        if problems:
            raise refuse(path, problems)
        return Document(loader.construct_document(root), root)
    finally:
        loader.dispose()


def _child(node: yaml.Node | None, step: str | int) -> _Place | None:
    if isinstance(node, yaml.MappingNode):
        # The last one wins: keys merged in by `<<` stand before the mapping's own.
        found = [_Place(key, value) for key, value in node.value if key.value == str(step)]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return _Place(item, item)
    return None


def _repeated_keys(node: yaml.Node, path: KeyPath, above: frozenset[int]) -> Iterator[Problem]:
    """YAML takes the last of two equal keys in silence; here it is a mistake. So is a value that contains itself."""
    if id(node) in above:
        yield Problem(path, "the value refers to itself", _position(node))
        return
    above |= {id(node)}
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, Position] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield Problem((*path, name), f"the key stands already in line {seen[name].line}", _position(key))
            seen[name] = _position(key)
            yield from _repeated_keys(value, (*path, name), above)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated_keys(item, (*path, index), above)


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    position = Position(mark.line + 1, mark.column + 1) if mark else None
    return Problem((), f"this is not YAML: {_in_plain_words(error.problem or error.context or '')}", position)


def _in_plain_words(problem: str) -> str:
    """The parser's words, but for the two mistakes that are made most: a tab, and `@ana` without quotes."""
    if (found := _BEGINS_NOTHING.fullmatch(problem)) is None:
        return problem
    if found["character"] == r"'\t'":
        return "lines are indented with spaces, and here is a tab"
    return f"a value that begins with {found['character']} must be in quotes"


def _position(node: yaml.Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)
