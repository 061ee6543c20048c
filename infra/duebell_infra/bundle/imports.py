"""The modules that Python files import, read off their source; nothing is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["imported_modules"]


def imported_modules(source: Path) -> set[str]:
    """The top-level names that a Python file imports absolutely, anywhere in it; none if it cannot be parsed.

    Counted are `import` statements and `import_module("…")` with a constant name.
    """
    try:
        tree = ast.parse(source.read_bytes(), filename=str(source))
    except (SyntaxError, ValueError):
        return set()  # a file of another Python's; importing the bundle tells if it matters
    return {name.partition(".")[0] for node in ast.walk(tree) for name in _names(node)}


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ) if not module.startswith("."):
            yield module
