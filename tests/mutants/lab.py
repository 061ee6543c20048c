"""Where mutants live: a copy of the source and its tests, in which one piece at a time is broken.

A piece is an expression, or statements that follow each other. It is compared as a syntax tree: formatting,
comments, quotes and the module do not matter.
"""

import ast
import difflib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from .catalogue import Mutant

__all__ = ["Lab", "Module", "difference", "place_of"]

_ROOT = Path(__file__).parents[2]

#: The folders of the product's packages, from the root.
_PACKAGES = ("duebell", "shared", "editor", "worker", "infra")

#: What is copied: the packages, the tests, and what pytest and the tests read beside them.
_COPIED = (*_PACKAGES, "tests", "examples", "bench", "docs", "pyproject.toml", "Makefile")

#: Seconds. A mutant that makes its tests go on for ever is noticed, too.
_LIMIT = 300.0


class Module(msgspec.Struct, frozen=True, dict=True):
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

    def replaced(self, nodes: list[ast.expr | ast.stmt], text: str) -> str:
        """The module's text with `text` in the place of these nodes."""
        first, last = nodes[0], nodes[-1]
        start = self._offset(first.lineno, first.col_offset)
        end = self._offset(last.end_lineno or 0, last.end_col_offset or 0)
        if isinstance(first, ast.expr) and isinstance(ast.parse(text).body[0], ast.Expr):
            text = f"({text})"
        return self.source[:start] + text.replace("\n", "\n" + " " * first.col_offset) + self.source[end:]

    def _offset(self, line: int, column: int) -> int:
        """The place of this line and column, which syntax trees count in bytes."""
        lines = self.source.splitlines(keepends=True)
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


class Place(NamedTuple):
    """A place in the product: its module, the function around it, and the nodes."""

    module: Module
    scope: str
    nodes: list[ast.expr | ast.stmt]


class Lab:
    """A copy, gone when the context is left. The working tree is never touched."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="duebell-mutants-")
        self._root = Path(self._folder.name)

    def __enter__(self) -> Self:
        for name in _COPIED:
            source, copy = _ROOT / name, self._root / name
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def fails(self, tests: str) -> str | None:
        """None if these tests pass here; else the last they said. For `tests` see Mutant."""
        pytest = ("pytest", *shlex.split(tests), "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        command = ("tests.mutants", "--histories") if tests == "histories" else pytest
        folders = (".", *(name for name in _PACKAGES if name != "duebell"))  # that is a package itself
        path = os.pathsep.join(str(self._root / name) for name in folders)
        try:
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=self._root,
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""},
                capture_output=True,
                text=True,
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "went on for ever"
        if done.returncode == 0:
            return None
        lines = done.stdout.splitlines()
        said = [line for line in lines if line.startswith(("FAILED tests", "ERROR tests", "seed"))]
        return (said or [(done.stderr or done.stdout).strip()[-300:]])[0]

    def killed_by(self, mutant: Mutant) -> str | None:
        """What its tests say of the mutant; None if it survives them."""
        place = place_of(mutant.source, mutant.within)
        self._write(place.module, place.module.replaced(place.nodes, mutant.broken))
        try:
            return self.fails(mutant.tests)
        finally:
            self._write(place.module, place.module.source)

    def _write(self, module: Module, source: str) -> None:
        """Write the module, and delete its byte code: Python trusts it if size and second are the same."""
        file = self._root / module.name
        file.write_text(source)
        Path(cache_from_source(str(file))).unlink(missing_ok=True)


def difference(mutant: Mutant) -> str:
    """A mutant as a diff."""
    module, _, nodes = place_of(mutant.source, mutant.within)
    before, after = module.source.splitlines(), module.replaced(nodes, mutant.broken).splitlines()
    return "\n".join(difflib.unified_diff(before, after, module.name, module.name, lineterm="", n=2))


@lru_cache
def _modules() -> list[Module]:
    paths = sorted(path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py"))
    return [Module(path.relative_to(_ROOT).as_posix(), path.read_text()) for path in paths]


def place_of(piece: str, within: str = "") -> Place:
    """The one place of a piece of source. Raises ValueError if there is none, or several."""
    statements = ast.parse(piece).body
    is_expression = len(statements) == 1 and isinstance(statements[0], ast.Expr)
    wanted = [statements[0].value] if isinstance(statements[0], ast.Expr) and is_expression else statements
    dumps = [ast.dump(node) for node in wanted]
    found = [
        Place(module, scope, row[: len(dumps)])
        for module in _modules()
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
