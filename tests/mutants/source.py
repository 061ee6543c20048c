"""The product's source as syntax trees: each place of it, and the module with something else there.

A piece is an expression, or statements that follow each other. Formatting, comments, quotes and the module do
not matter.
"""

import ast
import difflib
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

#: The root of the repository.
ROOT = Path(__file__).parents[2]

#: The folders of the product's packages, from the root.
PACKAGES = ("duebell", "shared", "editor", "worker", "infra")

Node = ast.expr | ast.stmt


class Place(NamedTuple):
    """A place in a module: the module's path from the root and its tree, and where in that tree.

    scope      the names of the classes and functions around it
    function   the first line of the function around it; 0 at the level of the module or of a class
    container  what holds the node, by `key`: a list of nodes, or the fields of the node above
    """

    module: str
    tree: ast.Module
    scope: str
    function: int
    container: Any
    key: Any

    @property
    def node(self) -> Node:
        node: Node = self.container[self.key]
        return node

    def replaced(self, text: str, count: int = 1) -> str:
        """The module's source with `text` in the place of so many nodes."""
        body = ast.parse(text).body
        only = body[0]
        is_expression = isinstance(self.node, ast.expr) and isinstance(only, ast.Expr)
        new = [only.value] if is_expression and isinstance(only, ast.Expr) else body
        is_list = isinstance(self.container, list)
        kept = list(self.container) if is_list else self.node
        if is_list:
            self.container[self.key : self.key + count] = new
        else:
            self.container[self.key] = new[0]
        try:
            return ast.unparse(self.tree)
        finally:
            if is_list:
                self.container[:] = kept
            else:
                self.container[self.key] = kept

    def difference(self, source: str) -> str:
        before, after = ast.unparse(self.tree).splitlines(), source.splitlines()
        return "\n".join(difflib.unified_diff(before, after, self.module, self.module, lineterm="", n=2))


@lru_cache
def modules() -> dict[str, ast.Module]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def places(module: str, tree: ast.Module) -> Iterator[Place]:
    return _places(module, tree, tree, "", 0)


def _places(module: str, tree: ast.Module, node: ast.AST, scope: str, function: int) -> Iterator[Place]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}" if scope else node.name
        if not isinstance(node, ast.ClassDef):
            function = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    for field, value in ast.iter_fields(node):
        container: Any = value if isinstance(value, list) else vars(node)
        for key in range(len(value)) if isinstance(value, list) else [field]:
            child = container[key]
            if isinstance(child, Node):
                yield Place(module, tree, scope, function, container, key)
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _places(module, tree, child, scope, function)


@lru_cache
def _index() -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = defaultdict(list)
    for module, tree in modules().items():
        for place in places(module, tree):
            found[ast.dump(place.node)].append(place)
    return found


def place_of(piece: str, within: str = "") -> tuple[Place, int]:
    """The one place of a piece of source, and its length. Raises ValueError if there is none, or several."""
    statements = ast.parse(piece).body
    only = statements[0]
    is_expression = len(statements) == 1 and isinstance(only, ast.Expr)
    wanted = [only.value] if is_expression and isinstance(only, ast.Expr) else statements
    dumps = [ast.dump(node) for node in wanted]
    found = [
        place
        for place in _index().get(dumps[0], [])
        if within in {"", place.scope}
        and (not dumps[1:] or dumps == list(map(ast.dump, place.container[place.key :][: len(dumps)])))
    ]
    if len(found) != 1:
        named = ", ".join(f"{place.module}: {place.scope}" for place in found) or "nowhere"
        raise ValueError(f"{piece!r} must stand in one place, and stands in: {named}")
    return found[0], len(dumps)
