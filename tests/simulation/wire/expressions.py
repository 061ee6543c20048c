"""Conditions and updates in DynamoDB's expression language, as far as duebell writes them.

Whatever else is in an expression is refused as DynamoDB refuses what it cannot read, so that a new form of
call fails in the simulation until it is understood here.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from .refused import invalid

Value = Mapping[str, Any]
Item = dict[str, Value]
Names = Mapping[str, str]
Values = Mapping[str, Value]


#: What stands in a condition, and what it is in Python, whose precedence is the same.
_TOKEN = re.compile(r"\s*(?:([#:]\w+)|(<>|<=|>=|[=<>(),])|([A-Za-z_]+))\s*")
_IN_PYTHON = {"=": "==", "<>": "!=", "AND": "and", "OR": "or", "NOT": "not"}
_FUNCTIONS = {"attribute_exists", "attribute_not_exists", "attribute_type"}


class _Operand:
    """A value in a comparison. One that is missing equals nothing, and is neither before nor after."""

    def __init__(self, value: Value | None) -> None:
        self.value = value

    def _both(self, other: "_Operand") -> tuple[Any, Any] | None:
        """Both as they can be compared; None if a value is missing, or the types differ."""
        if self.value is None or other.value is None:
            return None
        if "N" in self.value and "N" in other.value:
            return Decimal(self.value["N"]), Decimal(other.value["N"])
        if self.value.keys() != other.value.keys():
            return None
        return next(iter(self.value.values())), next(iter(other.value.values()))

    def __eq__(self, other: object) -> bool:
        both = self._both(other) if isinstance(other, _Operand) else None
        return both is not None and bool(both[0] == both[1])

    def __lt__(self, other: "_Operand") -> bool:
        both = self._both(other)
        return both is not None and bool(both[0] < both[1])

    def __le__(self, other: "_Operand") -> bool:
        both = self._both(other)
        return both is not None and bool(both[0] <= both[1])

    __hash__ = None  # type: ignore[assignment]


class Update(NamedTuple):
    """What an update expression does: attributes that are set, added to, and removed."""

    sets: tuple[tuple[str, str], ...]
    adds: tuple[tuple[str, str], ...]
    removes: tuple[str, ...]

    def apply(self, item: Item, names: Names, values: Values) -> Item:
        changed = dict(item)
        for name, value in self.sets:
            changed[names[name]] = values[value]
        for name, value in self.adds:
            changed[names[name]] = plus(item.get(names[name]), values[value])
        for name in self.removes:
            changed.pop(names[name], None)
        return changed


def plus(there: Value | None, added: Value) -> Value:
    if there is None or "N" not in there or "N" not in added:
        raise invalid("An operand in the update expression has an incorrect data type")
    return {"N": str(Decimal(there["N"]) + Decimal(added["N"]))}


def condition(text: str | None, names: Names, values: Values) -> Callable[[Mapping[str, Value]], bool]:
    if text is None:
        return lambda _: True
    code = _compiled(text)

    def test(item: Mapping[str, Value]) -> bool:
        def operand(reference: str) -> _Operand:
            return _Operand(item.get(names[reference]) if reference[0] == "#" else values[reference])

        scope = {
            "operand": operand,
            "attribute_exists": lambda one: one.value is not None,
            "attribute_not_exists": lambda one: one.value is None,
            "attribute_type": lambda one, kind: one.value is not None and kind.value["S"] in one.value,
        }
        return bool(eval(code, {"__builtins__": {}}, scope))

    return test


@lru_cache(1000)
def update(text: str) -> Update:
    setting, _, removing = text.partition(" REMOVE ")
    verb, _, setting = setting.partition(" ")
    if verb != "SET":
        raise invalid(f"UpdateExpression {text!r} is not understood")
    sets, adds = [], []
    for clause in setting.split(", "):
        if found := re.fullmatch(r"(#\w+) = (:\w+)", clause):
            sets.append((found[1], found[2]))
        elif found := re.fullmatch(r"(#\w+) = \1 \+ (:\w+)", clause):
            adds.append((found[1], found[2]))
        else:
            raise invalid(f"UpdateExpression {text!r} is not understood at {clause!r}")
    removes = tuple(removing.split(", ")) if removing else ()
    if not all(re.fullmatch(r"#\w+", name) for name in removes):
        raise invalid(f"UpdateExpression {text!r} is not understood at {removing!r}")
    return Update(tuple(sets), tuple(adds), removes)


@lru_cache(1000)
def _compiled(text: str) -> CodeType:
    left, python = text, ""
    while left:
        found = _TOKEN.match(left)
        if not found or (found[3] and found[3] not in _FUNCTIONS | _IN_PYTHON.keys()):
            raise invalid(f"the expression {text!r} is not understood at {left!r}")
        reference, other = found[1], found[2] or found[3]
        python += f"operand({reference!r})" if reference else f" {_IN_PYTHON.get(other, other)} "
        left = left[found.end() :]
    try:
        return compile(python.strip(), "condition", "eval")
    except SyntaxError:
        raise invalid(f"the expression {text!r} is not understood") from None
