"""Statements in PartiQL, as duebell writes them: an INSERT, or an UPDATE or DELETE under conditions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .expressions import Item, Value, plus
from .refused import invalid

__all__ = ["DELETE", "INSERT", "Statement", "parse"]

INSERT, _UPDATE, DELETE = "INSERT", "UPDATE", "DELETE"

_INSERT_FORM = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE (?P<value>\{.+\})')
_UPDATE_FORM = re.compile(
    r'UPDATE "(?P<table>[^"]+)"'
    r'(?P<clauses>( SET "\w+"=\?| SET "\w+"="\w+"\+\?| REMOVE "\w+")+)'
    r' WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)'
    r"(?P<returning> RETURNING ALL NEW \*)?"
)
_DELETE_FORM = re.compile(r'DELETE FROM "(?P<table>[^"]+)" WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)')


class Statement(NamedTuple):
    """One statement with its parameters."""

    verb: str
    table: str
    key: tuple[str, str]
    sets: Item
    adds: Item
    removes: Sequence[str]
    where: Item
    returns: bool

    def applies_to(self, item: Item) -> bool:
        """Whether the conditions beside the key hold."""
        return all(item.get(name) == value for name, value in self.where.items())

    def update(self, item: Item) -> Item:
        """The item as it is then. Raises Refused."""
        changed = {**item, **self.sets}
        for name, value in self.adds.items():
            changed[name] = plus(item.get(name), value)
        for name in self.removes:
            changed.pop(name, None)
        return changed


def parse(text: str, parameters: Sequence[Value]) -> Statement:
    """The statement that this is. Raises Refused."""
    form = _form(text)
    if form.marks != len(parameters):
        raise invalid("Number of parameters in request and statement do not match")
    given = iter(parameters)
    if form.verb == INSERT:
        item = dict(zip(form.sets, given, strict=True))
        return Statement(INSERT, form.table, _key(item), item, {}, (), {}, returns=False)
    sets, adds = _take(given, form.sets), _take(given, form.adds)
    where = _take(given, form.where)
    key = _key(where)
    return Statement(
        form.verb,
        form.table,
        key,
        sets,
        adds,
        form.removes,
        {name: value for name, value in where.items() if name not in {"lane", "id"}},
        returns=form.returns,
    )


class _Form(NamedTuple):
    """A statement without its parameters."""

    verb: str
    table: str
    marks: int
    sets: Sequence[str] = ()
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    where: Sequence[str] = ()
    returns: bool = False


@lru_cache(1000)
def _form(text: str) -> _Form:
    if found := _INSERT_FORM.fullmatch(text):
        names = re.findall(r"'(\w+)':\?", found["value"])
        return _Form(INSERT, found["table"], len(names), names)
    if found := _DELETE_FORM.fullmatch(text):
        where = re.findall(r'"(\w+)"=\?', found["where"])
        return _Form(DELETE, found["table"], len(where), where=where)
    if not (found := _UPDATE_FORM.fullmatch(text)):
        raise invalid(f"the statement {text!r} is not understood")
    clauses = found["clauses"]
    adds = [name for name, other in re.findall(r'SET "(\w+)"="(\w+)"\+\?', clauses) if name == other]
    sets = re.findall(r'SET "(\w+)"=\?', clauses)
    where = re.findall(r'"(\w+)"=\?', found["where"])
    if re.findall(r'SET "(\w+)"', clauses) != [*sets, *adds]:
        raise invalid(f"the statement {text!r} is not understood: it adds before it sets, or to another")
    return _Form(
        _UPDATE,
        found["table"],
        len(sets) + len(adds) + len(where),
        sets=sets,
        adds=adds,
        removes=re.findall(r'REMOVE "(\w+)"', clauses),
        where=where,
        returns=bool(found["returning"]),
    )


def _take(given: Iterator[Value], names: Sequence[str]) -> Item:
    return {name: next(given) for name in names}


def _key(item: Item) -> tuple[str, str]:
    try:
        return item["lane"]["S"], item["id"]["S"]
    except KeyError:
        raise invalid("the statement does not have the whole key") from None
