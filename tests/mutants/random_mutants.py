"""Mutants made at random from the syntax tree of any of the product's modules."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

from .source import Node, Place, modules, places

#: Fields of nodes that are no behaviour.
_NO_CODE = {"annotation", "returns", "decorator_list", "type_params"}

_FLIPPED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Lt: (">=", "<="),
    ast.LtE: (">", "<"),
    ast.Gt: ("<=", ">="),
    ast.GtE: ("<", ">"),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}


class RandomMutant(NamedTuple):
    """One expression or statement replaced by another: where, how, and the module's source with it."""

    place: Place
    name: str
    source: str


def sample(count: int, seed: int, name: str = "") -> list[RandomMutant]:
    """So many mutants of the modules with this in their path; the same for the same seed and source.

    They are in random order: a check that is stopped has tried a sample, too.
    """
    random = Random(seed)
    found = [
        (place, what, where, text)
        for module, tree in modules().items()
        if name in module
        for place in _breakable(module, tree)
        for what, where, text in _broken(place.node, random)
    ]
    mutants: list[RandomMutant] = []
    for place, what, field, text in random.sample(found, len(found)):
        if len(mutants) == count:
            break
        at = place._replace(container=vars(place.node), key=field) if field else place
        mutant = RandomMutant(place, f"{place.module}:{place.node.lineno} {what}", at.replaced(text))
        with suppress(SyntaxError):
            compile(mutant.source, "mutant", "exec")
            mutants.append(mutant)
    return mutants


def _breakable(module: str, tree: ast.Module) -> Iterator[Place]:
    """Each place but annotations, decorators, docstrings, and what only type checkers read."""
    left_out = {
        id(below)
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        for child in (value if isinstance(value, list) else [value])
        if isinstance(child, ast.AST)
        and (
            name in _NO_CODE
            or _is_no_behaviour(child)
            or (isinstance(child, ast.keyword) and isinstance(node, ast.ClassDef))
        )
        for below in ast.walk(child)
    }
    return (place for place in places(module, tree) if id(place.node) not in left_out)


def _is_no_behaviour(node: ast.AST) -> bool:
    """Docstrings, exported names, names of threads, and what only type checkers read."""
    match node:
        case (
            ast.Expr(value=ast.Constant())
            | ast.Assign(targets=[ast.Name(id="__all__")])
            | ast.Assign(value=ast.Subscript(value=ast.Name(id="Literal")))
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Call(func=ast.Name(id="cast" | "TypeVar" | "overload"))
            | ast.keyword(arg="thread_name_prefix")
        ):
            return True
        case ast.ClassDef(bases=bases):
            return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)
    return False


def _broken(node: Node, random: Random) -> Iterator[tuple[str, str, str]]:
    """Each way to break it: its name, the field of it that is replaced, or "" for all, and the new source."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            flipped = random.choice(_FLIPPED[type(operator)])
            yield "comparison flipped", "", f"({ast.unparse(left)} {flipped} {ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield "and/or exchanged", "", f"({word.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "negation removed", "", f"({ast.unparse(operand)})"
        case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test):
            yield "condition negated", "test", f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool() as value):
            yield "constant changed", "", str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant changed", "", str(value + 1)
        case ast.Constant(value=str() as value) if value and " " not in value:
            yield "constant changed", "", repr(value + "X")
        case ast.stmt():
            yield from _broken_statement(node)


def _broken_statement(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    match node:
        case ast.Raise():
            yield "raise deleted", "", "pass"
        case ast.Return(value=None | ast.Constant(value=None | bool())):
            return  # nothing to change, or a constant
        case ast.Return(value=ast.Compare() | ast.BoolOp() | ast.UnaryOp() as value):
            yield "return value negated", "", f"return not ({ast.unparse(value)})"
        case ast.Return():
            yield "return value changed", "", "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield "statement deleted", "", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement deleted", "", "pass"
