"""Conditions and updates in DynamoDB's expression language, and statements in PartiQL, as far as duebell's.

Whatever else is in one is refused as DynamoDB refuses what it cannot read, so that a new form of call fails
in the simulation until it is understood here.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from .refused import invalid

Value = Mapping[str, Any]
Item = dict[str, Value]
Names = Mapping[str, str]
Values = Mapping[str, Value]

_REFERENCE = re.compile(r"[#:]\w+")

#: Each operator of a condition, and its operator in Python, whose precedence is the same.
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
    """Changes of an item: attributes that are set, added to, and removed."""

    sets: Item
    adds: Item
    removes: Sequence[str]

    def apply(self, item: Item) -> Item:
        changed = {**item, **self.sets}
        for name, value in self.adds.items():
            changed[name] = _plus(item.get(name), value)
        for name in self.removes:
            changed.pop(name, None)
        return changed


def _plus(there: Value | None, added: Value) -> Value:
    if there is None or "N" not in there or "N" not in added:
        raise invalid("An operand in the update expression has an incorrect data type")
    return {"N": str(Decimal(there["N"]) + Decimal(added["N"]))}


def meets_condition(request: Mapping[str, Any], item: Mapping[str, Value]) -> bool:
    """True if the item meets the request's condition. Raises Refused if it leaves a name or value unused."""
    names, values = check_references(request, "ConditionExpression", "UpdateExpression")
    if (text := request.get("ConditionExpression")) is None:
        return True

    def operand(reference: str) -> _Operand:
        return _Operand(item.get(names[reference]) if reference[0] == "#" else values[reference])

    scope = {
        "operand": operand,
        "attribute_exists": lambda one: one.value is not None,
        "attribute_not_exists": lambda one: one.value is None,
        "attribute_type": lambda one, kind: one.value is not None and kind.value["S"] in one.value,
    }
    return bool(eval(_compiled(text), {"__builtins__": {}}, scope))


def update(request: Mapping[str, Any]) -> Update:
    sets, adds, removes = _clauses(request["UpdateExpression"])
    names: Names = request["ExpressionAttributeNames"]
    values: Values = request.get("ExpressionAttributeValues", {})
    return Update(
        {names[name]: values[value] for name, value in sets},
        {names[name]: values[value] for name, value in adds},
        [names[name] for name in removes],
    )


@lru_cache(1000)
def _clauses(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[str]]:
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
    removes = removing.split(", ") if removing else []
    if not all(re.fullmatch(r"#\w+", name) for name in removes):
        raise invalid(f"UpdateExpression {text!r} is not understood at {removing!r}")
    return sets, adds, removes


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


def check_references(request: Mapping[str, Any], *expressions: str) -> tuple[Names, Values]:
    """The names and values that these expressions refer to: exactly those are given. Raises Refused."""
    names: Names = request.get("ExpressionAttributeNames", {})
    values: Values = request.get("ExpressionAttributeValues", {})
    used = frozenset[str]().union(*(_references(request.get(each, "")) for each in expressions))
    if used != names.keys() | values.keys():
        odd = used ^ (names.keys() | values.keys())
        raise invalid(f"{', '.join(sorted(odd))} is given and not used, or used and not given")
    return names, values


@lru_cache(1000)
def _references(expression: str) -> frozenset[str]:
    return frozenset(_REFERENCE.findall(expression))


INSERT, DELETE = "INSERT", "DELETE"

_INSERT_FORM = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE (?P<value>\{.+\})')
_UPDATE_FORM = re.compile(
    r'UPDATE "(?P<table>[^"]+)"'
    r'(?P<clauses>( SET "\w+"=\?| SET "\w+"="\w+"\+\?| REMOVE "\w+")+)'
    r' WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)'
    r"(?P<returning> RETURNING ALL NEW \*)?"
)
_DELETE_FORM = re.compile(r'DELETE FROM "(?P<table>[^"]+)" WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)')


class Statement(NamedTuple):
    """One statement with its parameters. That of an INSERT updates what is not there."""

    verb: str
    table: str
    update: Update
    where: Item
    returns: bool

    @property
    def key(self) -> tuple[str, str]:
        given = self.update.sets if self.verb == INSERT else self.where
        if not given.keys() >= {"lane", "id"}:
            raise invalid("the statement does not have the whole key")
        return given["lane"]["S"], given["id"]["S"]

    def applies_to(self, item: Item) -> bool:
        return all(item.get(name) == value for name, value in self.where.items())


def parse(text: str, parameters: Sequence[Value]) -> Statement:
    parts, sets, adds, where = _form(text)
    if len(sets) + len(adds) + len(where) != len(parameters):
        raise invalid("Number of parameters in request and statement do not match")
    given = iter(parameters)
    filled = [{name: next(given) for name in names} for names in (sets, adds, where)]
    changes = Update(filled[0], filled[1], re.findall(r'REMOVE "(\w+)"', parts.get("clauses", "")))
    verb = text.partition(" ")[0]
    statement = Statement(verb, parts["table"], changes, filled[2], bool(parts.get("returning")))
    _ = statement.key  # which is refused if it is not whole
    return statement


@lru_cache(1000)
def _form(text: str) -> tuple[Mapping[str, str], list[str], list[str], list[str]]:
    """The parts of a statement, and the names of what it sets, adds to, and compares."""
    found = _INSERT_FORM.fullmatch(text) or _DELETE_FORM.fullmatch(text) or _UPDATE_FORM.fullmatch(text)
    if not found:
        raise invalid(f"the statement {text!r} is not understood")
    parts = found.groupdict("")
    clauses = parts.get("clauses", "")
    adds = [name for name, other in re.findall(r'SET "(\w+)"="(\w+)"\+\?', clauses) if name == other]
    sets = re.findall(r'SET "(\w+)"=\?', clauses)
    if re.findall(r'SET "(\w+)"', clauses) != [*sets, *adds]:
        raise invalid(f"the statement {text!r} is not understood: it adds before it sets, or to another")
    sets = sets or re.findall(r"'(\w+)':\?", parts.get("value", ""))
    return parts, sets, adds, re.findall(r'"(\w+)"=\?', parts.get("where", ""))
