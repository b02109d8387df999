"""What is taken out of the program, one piece at a time: middlewares, commands and the effects of repository functions."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_STACK = Path("agent/stack.py")
_COMMANDS = Path("bridge/dispatch/commands/__init__.py")
_REPOSITORIES = Path("bridge/persistence")
_NO_REPOSITORIES = {"__init__", "config", "database", "revise", "schema", "tables", "upsert"}
_NOTHING = {
    "Sequence": "[]", "list": "[]", "Mapping": "{}", "dict": "{}", "set": "set()", "frozenset": "frozenset()",
    "int": "0", "bool": "False", "str": "''",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutation:
    """One piece taken out: the file with its new text, and whose tests should notice."""

    name: str
    file: Path
    text: str
    rooms: Sequence[str]
    """Test folders, the nearest first."""


def all_mutations(root: Path) -> list[Mutation]:
    """Every mutation of the tree at `root`, in a fixed order."""
    return [*_without_middlewares(root), *_without_commands(root), *_without_effects(root)]


def _without_middlewares(root: Path) -> Iterator[Mutation]:
    source = (root / _STACK).read_text()
    for node in ast.walk(_function(ast.parse(source), "_lead_stack")):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield) and isinstance(node.value.value, ast.Call):
            name = ast.unparse(node.value.value.func)
            text = _replaced(source, node, "yield from ()")
            yield Mutation(f"{_STACK} without {name}", _STACK, text, ("tests/agent", "tests/bridge", "tests/e2e"))


def _without_commands(root: Path) -> Iterator[Mutation]:
    source = (root / _COMMANDS).read_text()
    others = _assigned(ast.parse(source), "_OTHERS")
    assert isinstance(others, ast.Tuple)
    rooms = ("tests/bridge/dispatch", "tests/bridge", "tests/e2e")
    for command in others.elts:
        name = ast.unparse(command).removesuffix(".COMMAND")
        yield Mutation(f"without /{name}", _COMMANDS, _replaced(source, command, "*()"), rooms)
    for node in ast.walk(_assigned(ast.parse(source), "COMMANDS")):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "help_command":
            yield Mutation("without /help", _COMMANDS, _replaced(source, node, "*()"), rooms)


def _without_effects(root: Path) -> Iterator[Mutation]:
    for file in sorted((root / _REPOSITORIES).glob("*.py")):
        if file.stem in _NO_REPOSITORIES:
            continue
        source = file.read_text()
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                path = file.relative_to(root)
                text = _replaced(source, node.body[0], f"return {_nothing(node.returns)}", until=node.body[-1])
                rooms = ("tests/bridge/persistence", "tests/bridge", "tests/e2e")
                yield Mutation(f"{path}: {node.name} does nothing", path, text, rooms)


def _nothing(annotation: ast.expr | None) -> str:
    """The emptiest value the function may give, so that a mutant is wrong without crashing at once."""
    if annotation is None or "None" in ast.unparse(annotation):
        return "None"
    return _NOTHING.get(ast.unparse(annotation).partition("[")[0], "None")


def _function(module: ast.Module, name: str) -> ast.FunctionDef:
    return next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name)


def _assigned(module: ast.Module, name: str) -> ast.expr:
    return next(
        node.value for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )


def _replaced(source: str, node: ast.expr | ast.stmt, replacement: str, *, until: ast.stmt | None = None) -> str:
    """The source with what lies from the node's begin to its (or `until`'s) end replaced. Offsets count UTF-8 bytes."""
    encoded, last = source.encode(), until or node
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    line_starts = [0]
    for line in encoded.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    begin = line_starts[node.lineno - 1] + node.col_offset
    end = line_starts[last.end_lineno - 1] + last.end_col_offset
    return (encoded[:begin] + replacement.encode() + encoded[end:]).decode()
