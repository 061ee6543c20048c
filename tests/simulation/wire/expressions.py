"""Conditions and updates in DynamoDB's expression language, as far as duebell writes them.

Whatever else is in an expression is refused as DynamoDB refuses what it cannot read, so that a new form of
call fails in the simulation until it is understood here.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .refused import Refused, invalid

__all__ = ["Item", "Names", "Range", "Update", "Value", "Values", "condition", "key_range", "plus", "update"]

Value = Mapping[str, Any]
Item = dict[str, Value]
Names = Mapping[str, str]
Values = Mapping[str, Value]


class _Given(NamedTuple):
    """What an expression refers to: the item, and the names and values that are given beside it."""

    item: Mapping[str, Value]
    names: Names
    values: Values


_Operand = Callable[[_Given], Value | None]
_Test = Callable[[_Given], bool]

_TOKEN = re.compile(r"\s*(#\w+|:\w+|<>|<=|>=|[=<>(),+]|[A-Za-z_]+)")
_KEY = re.compile(
    r"(\()?(#\w+) = (:\w+)(?: AND (?:(#\w+) (?:(=|<=|<|>=|>) (:\w+)|BETWEEN (:\w+) AND (:\w+))"
    r"|begins_with \((#\w+), (:\w+)\)))?(?(1)\))"
)

#: After every text that matters.
_LAST = "\U0010ffff"

_COMPARATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Update(NamedTuple):
    """What an update expression does: attributes that are set, added to, and removed."""

    sets: tuple[tuple[str, str], ...]
    adds: tuple[tuple[str, str], ...]
    removes: tuple[str, ...]

    def apply(self, item: Item, names: Names, values: Values) -> Item:
        """The item as it is then. Raises Refused."""
        changed = dict(item)
        for name, value in self.sets:
            changed[names[name]] = values[value]
        for name, value in self.adds:
            changed[names[name]] = plus(item.get(names[name]), values[value])
        for name in self.removes:
            changed.pop(names[name], None)
        return changed


class Range(NamedTuple):
    """What a key condition asks for: one partition, and of the sort key these bounds."""

    partition: tuple[str, str]
    sort: str | None
    low: str | None
    high: str | None
    is_beginning: bool = False

    def bounds(self, names: Names, values: Values) -> tuple[str, str | None, str, str]:
        """The partition's value, the sort key's name, and its bounds, both included."""
        low = values[self.low]["S"] if self.low else ""
        high = values[self.high]["S"] if self.high else _LAST
        if self.low and self.high and low > high:
            raise invalid(
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
            )
        high += _LAST if self.is_beginning else ""
        return values[self.partition[1]]["S"], self.sort and names[self.sort], low, high


def plus(there: Value | None, added: Value) -> Value:
    """The sum of two numbers. Raises Refused."""
    if there is None or "N" not in there or "N" not in added:
        raise invalid("An operand in the update expression has an incorrect data type")
    return {"N": str(Decimal(there["N"]) + Decimal(added["N"]))}


def condition(text: str | None, names: Names, values: Values) -> Callable[[Mapping[str, Value]], bool]:
    """Whether an item is so. Raises Refused."""
    if text is None:
        return lambda _: True
    test = _compiled(text)
    return lambda item: test(_Given(item, names, values))


@lru_cache(1000)
def key_range(text: str) -> Range:
    """What this key condition asks for. Raises Refused."""
    if not (found := _KEY.fullmatch(text)):
        raise invalid(f"KeyConditionExpression {text!r} is not understood")
    _, partition, value, sort, operator, bound, low, high, begun, start = found.groups()
    if operator not in {None, "=", "<="}:
        raise invalid(f"KeyConditionExpression {text!r} is not understood")
    of = (partition, value)
    if begun:
        return Range(partition=of, sort=begun, low=start, high=start, is_beginning=True)
    return Range(partition=of, sort=sort, low=bound if operator == "=" else low, high=high or bound)


@lru_cache(1000)
def update(text: str) -> Update:
    """What this update expression does. Raises Refused."""
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
def _compiled(text: str) -> _Test:
    parser = _Parser(text)
    test = parser.either()
    parser.expect_end()
    return test


class _Parser:
    """Reads a condition expression, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while at < len(text):
            if not (found := _TOKEN.match(text, at)):
                raise self._odd(text[at:])
            self._tokens.append(found[1])
            at = found.end()

    def either(self) -> _Test:
        tests = [self._all()]
        while self._take("OR"):
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else partial(_any_of, tuple(tests))

    def expect_end(self) -> None:
        if self._tokens:
            raise self._odd(self._tokens[0])

    def _all(self) -> _Test:
        tests = [self._one()]
        while self._take("AND"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else partial(_all_of, tuple(tests))

    def _one(self) -> _Test:
        if self._take("NOT"):
            return partial(_not, self._one())
        if self._take("("):
            inner = self.either()
            self._expect(")")
            return inner
        if self._tokens and self._tokens[0].isidentifier():
            return self._function(self._tokens.pop(0))
        return self._comparison()

    def _function(self, name: str) -> _Test:
        self._expect("(")
        path = self._operand()
        of_type = self._operand() if self._take(",") else None
        self._expect(")")
        match name, of_type:
            case "attribute_exists", None:
                return lambda given: path(given) is not None
            case "attribute_not_exists", None:
                return lambda given: path(given) is None
            case "attribute_type", wanted if wanted is not None:
                return partial(_is_of_type, path, wanted)
        raise self._odd(name)

    def _comparison(self) -> _Test:
        left = self._operand()
        operator = self._tokens.pop(0) if self._tokens else ""
        match operator:
            case "=":
                right = self._operand()
                return partial(_equals, left, right)
            case "<>":
                right = self._operand()
                return partial(_not, partial(_equals, left, right))
            case "<" | "<=" | ">" | ">=":
                return partial(_compares, _COMPARATORS[operator], left, self._operand())
            case "BETWEEN":
                low = partial(_compares, _COMPARATORS[">="], left, self._operand())
                self._expect("AND")
                high = partial(_compares, _COMPARATORS["<="], left, self._operand())
                return partial(_all_of, (low, high))
            case "IN":
                return partial(_is_in, left, self._several())
        raise self._odd(operator)

    def _several(self) -> tuple[_Operand, ...]:
        self._expect("(")
        several = [self._operand()]
        while self._take(","):
            several.append(self._operand())
        self._expect(")")
        return tuple(several)

    def _operand(self) -> _Operand:
        token = self._tokens.pop(0) if self._tokens else ""
        if token.startswith("#"):
            return lambda given: given.item.get(given.names[token])
        if token.startswith(":"):
            return lambda given: given.values[token]
        raise self._odd(token)

    def _take(self, token: str) -> bool:
        if self._tokens and self._tokens[0] == token:
            del self._tokens[0]
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._odd(self._tokens[0] if self._tokens else "")

    def _odd(self, at: str) -> Refused:
        return invalid(f"the expression {self._text!r} is not understood at {at!r}")


def _any_of(tests: tuple[_Test, ...], given: _Given) -> bool:
    return any(test(given) for test in tests)


def _all_of(tests: tuple[_Test, ...], given: _Given) -> bool:
    return all(test(given) for test in tests)


def _not(test: _Test, given: _Given) -> bool:
    return not test(given)


def _is_of_type(path: _Operand, wanted: _Operand, given: _Given) -> bool:
    value, kind = path(given), wanted(given)
    return value is not None and kind is not None and kind["S"] in value


def _is_in(left: _Operand, several: tuple[_Operand, ...], given: _Given) -> bool:
    return any(_equals(left, each, given) for each in several)


def _equals(left: _Operand, right: _Operand, given: _Given) -> bool:
    one, other = left(given), right(given)
    if one is None or other is None:
        return False
    if "N" in one and "N" in other:
        return Decimal(one["N"]) == Decimal(other["N"])
    return one == other


def _compares(compare: Callable[[Any, Any], bool], left: _Operand, right: _Operand, given: _Given) -> bool:
    """Whether the one is before, or after, the other; values of different types are neither."""
    one, other = left(given), right(given)
    if one is None or other is None:
        return False
    if "S" in one and "S" in other:
        return compare(one["S"], other["S"])
    if "N" in one and "N" in other:
        return compare(Decimal(one["N"]), Decimal(other["N"]))
    return False
