"""Mutants made at random from the syntax tree of any of the product's modules."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from .source import Module, modules

__all__ = ["RandomMutant", "sample"]

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


@dataclass(frozen=True)
class RandomMutant:
    """One expression or statement replaced by another.

    module    where
    what      what was done to it: `comparison flipped`
    line      its line
    function  the first line of the function around it; 0 at the level of the module or of a class
    source    the module's text with the mutant in it
    """

    module: Module
    what: str
    line: int
    function: int
    source: str

    @property
    def name(self) -> str:
        """The place, and the change made there."""
        return f"{self.module.name}:{self.line} {self.what}"


def sample(count: int, seed: int, name: str = "") -> list[RandomMutant]:
    """So many mutants of the modules with this in their path; the same for the same seed and source.

    They are in random order: a check that is stopped has tried a sample, too.
    """
    random = Random(seed)
    found = [
        (module, make) for module in modules() if name in module.name for make in _mutants_of(module, random)
    ]
    mutants: list[RandomMutant] = []
    for _, make in random.sample(found, len(found)):
        if len(mutants) == count:
            break
        mutant = make()
        if _compiles(mutant.source):
            mutants.append(mutant)
    return mutants


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _mutants_of(module: Module, random: Random) -> Iterator[Callable[[], RandomMutant]]:
    for node, function in _nodes(ast.parse(module.source), 0):
        for what, where, text in _broken(node, random):

            def make(
                where: ast.expr | ast.stmt = where,
                function: int = function,
                what: str = what,
                text: str = text,
            ) -> RandomMutant:
                source = module.replaced(where, where, text)
                return RandomMutant(module, what, where.lineno, function, source)

            yield make


def _nodes(node: ast.AST, function: int) -> Iterator[tuple[ast.expr | ast.stmt, int]]:
    """Each node that can be broken, with the first line of the function around it."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "keywords"} and not (
            isinstance(node, ast.Call)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or _is_no_behaviour(child):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child, function
            inner = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = min([child.lineno, *(one.lineno for one in child.decorator_list)])
            yield from _nodes(child, inner)


def _is_no_behaviour(node: ast.AST) -> bool:
    """Docstrings, exported names, and what only type checkers read."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "overload")):
            return True
        case ast.ClassDef(bases=bases):
            return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)
    return False


def _broken(node: ast.expr | ast.stmt, random: Random) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Each way to break it: its name, the node that is replaced, and the source in its stead."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            flipped = random.choice(_FLIPPED[type(operator)])
            yield "comparison flipped", node, f"({ast.unparse(left)} {flipped} {ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield "and/or exchanged", node, f"({word.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "negation removed", node, f"({ast.unparse(operand)})"
        case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test):
            yield "condition negated", test, f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool() as value):
            yield "constant changed", node, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant changed", node, str(value + 1)
        case ast.Constant(value=str() as value) if value and " " not in value:
            yield "constant changed", node, repr(value + "X")
        case ast.stmt():
            yield from _broken_statement(node)


def _broken_statement(node: ast.stmt) -> Iterator[tuple[str, ast.stmt, str]]:
    match node:
        case ast.Raise():
            yield "raise deleted", node, "pass"
        case ast.Return(value=None | ast.Constant(value=None | bool())):
            return  # nothing to change, or a constant
        case ast.Return(value=ast.Compare() | ast.BoolOp() | ast.UnaryOp() as value):
            yield "return value negated", node, f"return not ({ast.unparse(value)})"
        case ast.Return():
            yield "return value changed", node, "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield "statement deleted", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement deleted", node, "pass"
