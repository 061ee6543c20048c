"""Statements in PartiQL, as duebell writes them: an INSERT, or an UPDATE or DELETE under conditions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .expressions import Item, Value, plus
from .refused import invalid

INSERT, DELETE = "INSERT", "DELETE"

#: Stands for a parameter.
_MARK: Value = {}

_INSERT_FORM = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE (?P<value>\{.+\})')
_UPDATE_FORM = re.compile(
    r'UPDATE "(?P<table>[^"]+)"'
    r'(?P<clauses>( SET "\w+"=\?| SET "\w+"="\w+"\+\?| REMOVE "\w+")+)'
    r' WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)'
    r"(?P<returning> RETURNING ALL NEW \*)?"
)
_DELETE_FORM = re.compile(r'DELETE FROM "(?P<table>[^"]+)" WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)')


class Statement(NamedTuple):
    """One statement with its parameters; `marks` is how many there are."""

    verb: str
    table: str
    marks: int
    sets: Item
    adds: Item
    removes: Sequence[str]
    where: Item
    returns: bool

    @property
    def key(self) -> tuple[str, str]:
        given = self.sets if self.verb == INSERT else self.where
        if not given.keys() >= {"lane", "id"}:
            raise invalid("the statement does not have the whole key")
        return given["lane"]["S"], given["id"]["S"]

    def applies_to(self, item: Item) -> bool:
        return all(item.get(name) == value for name, value in self.where.items())

    def update(self, item: Item) -> Item:
        changed = {**item, **self.sets}
        for name, value in self.adds.items():
            changed[name] = plus(item.get(name), value)
        for name in self.removes:
            changed.pop(name, None)
        return changed


def parse(text: str, parameters: Sequence[Value]) -> Statement:
    form = _form(text)
    if form.marks != len(parameters):
        raise invalid("Number of parameters in request and statement do not match")
    given = iter(parameters)
    sets, adds, where = (
        {name: next(given) for name in names} for names in (form.sets, form.adds, form.where)
    )
    statement = form._replace(sets=sets, adds=adds, where=where)
    _ = statement.key  # which is refused if it is not whole
    return statement


@lru_cache(1000)
def _form(text: str) -> Statement:
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
    where = re.findall(r'"(\w+)"=\?', parts.get("where", ""))
    return Statement(
        text.partition(" ")[0],
        parts["table"],
        len(sets) + len(adds) + len(where),
        dict.fromkeys(sets, _MARK),
        dict.fromkeys(adds, _MARK),
        re.findall(r'REMOVE "(\w+)"', clauses),
        dict.fromkeys(where, _MARK),
        returns=bool(parts.get("returning")),
    )
