"""The product's source as syntax trees, and where a piece of it stands.

A piece is an expression, or statements that follow each other. It is compared as a syntax tree: formatting,
comments, quotes and the module do not matter.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

__all__ = ["PACKAGES", "ROOT", "Module", "Place", "modules", "place_of"]

#: The root of the repository.
ROOT = Path(__file__).parents[2]

#: The folders of the product's packages, from the root.
PACKAGES = ("duebell", "shared", "editor", "worker", "infra")


@dataclass(frozen=True)
class Module:
    """One of the product's modules: its path from the root, and its text."""

    name: str
    source: str

    @cached_property
    def pieces(self) -> dict[str, list[tuple[str, list[ast.expr | ast.stmt]]]]:
        """All expressions and rows of statements, with their function's name, by a dump of the first node."""
        found: dict[str, list[tuple[str, list[ast.expr | ast.stmt]]]] = {}
        for scope, row in _rows(ast.parse(self.source), ""):
            found.setdefault(ast.dump(row[0]), []).append((scope, row))
        return found

    def replaced(self, first: ast.expr | ast.stmt, last: ast.expr | ast.stmt, text: str) -> str:
        """The module's text with `text` in the place of these nodes and of all between them."""
        start = self._offset(first.lineno, first.col_offset)
        end = self._offset(last.end_lineno or 0, last.end_col_offset or 0)
        if isinstance(first, ast.expr) and isinstance(ast.parse(text).body[0], ast.Expr):
            text = f"({text})"
        return self.source[:start] + text.replace("\n", "\n" + " " * first.col_offset) + self.source[end:]

    def _offset(self, line: int, column: int) -> int:
        """The place of this line and column, which syntax trees count in bytes."""
        lines = self.source.splitlines(keepends=True)
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


@dataclass(frozen=True)
class Place:
    """A place in the product: its module, the function around it, and the nodes."""

    module: Module
    scope: str
    nodes: list[ast.expr | ast.stmt]

    def replaced(self, text: str) -> str:
        """The module with `text` here instead."""
        return self.module.replaced(self.nodes[0], self.nodes[-1], text)


@lru_cache
def modules() -> tuple[Module, ...]:
    """All of the product's modules."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple(Module(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths)


def place_of(piece: str, within: str = "") -> Place:
    """The one place of a piece of source. Raises ValueError if there is none, or several."""
    statements = ast.parse(piece).body
    is_expression = len(statements) == 1 and isinstance(statements[0], ast.Expr)
    wanted = [statements[0].value] if isinstance(statements[0], ast.Expr) and is_expression else statements
    dumps = [ast.dump(node) for node in wanted]
    found = [
        Place(module, scope, row[: len(dumps)])
        for module in modules()
        for scope, row in module.pieces.get(dumps[0], [])
        if dumps == [ast.dump(node) for node in row[: len(dumps)]] and within in {"", scope}
    ]
    if len(found) != 1:
        places = ", ".join(f"{place.module.name}: {place.scope}" for place in found) or "nowhere"
        raise ValueError(f"{piece!r} must stand in one place, and stands in: {places}")
    return found[0]


def _rows(node: ast.AST, scope: str) -> Iterator[tuple[str, list[ast.expr | ast.stmt]]]:
    """Each expression alone, and each statement with those that follow it in its block."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}" if scope else node.name
    for _, value in ast.iter_fields(node):
        children = (
            [child for child in value if isinstance(child, ast.AST)] if isinstance(value, list) else [value]
        )
        for number, child in enumerate(children):
            if isinstance(child, ast.expr):
                yield scope, [child]
            elif isinstance(child, ast.stmt):
                yield scope, [each for each in children[number:] if isinstance(each, ast.stmt)]
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _rows(child, scope)
