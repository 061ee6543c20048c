"""Checks payloads against the JSON Schemas of actions.

It knows the keywords by which msgspec and pydantic describe types, and ignores all others, and the formats
that msgspec does not read: what it does not find, the worker still checks. A schema comes out of a table, so
no code is made of it, and nothing is fetched for it.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

__all__ = ["Fault", "find_fault"]

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


#: Values that a message lists.
_MOST_VALUES = 10

#: What a text of a format is read as, and an example.
_FORMATS: Mapping[str, tuple[type, str]] = {
    "date-time": (datetime, "2026-12-31T09:00:00Z"),
    "date": (date, "2026-12-31"),
    "time": (time, "09:00:00"),
    "duration": (timedelta, "P2DT10H"),
    "uuid": (UUID, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
}


class Fault(NamedTuple):
    """A part of a value that does not fit its schema: its place, such as `.items[2].price`, and why not."""

    place: str
    reason: str

    def within(self, place: str) -> "Fault":
        """The same fault of a value that has this one at `place`."""
        return Fault(place + self.place, self.reason)


def find_fault(value: object, schema: object) -> Fault | None:
    """The first fault of a value of JSON's types by this schema; None if there is none."""
    try:
        return _Schema(schema).fault(value, schema)
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        re.error,
    ):  # it cannot be understood
        return None


class _Schema:
    """A schema, with the definitions that references within it mean."""

    def __init__(self, root: object) -> None:
        self._root = root

    def fault(self, value: Any, schema: Any) -> Fault | None:
        if schema is False:
            return Fault("", "is not allowed")
        if not isinstance(schema, Mapping):
            return None
        types = schema.get("type")
        if types is not None and not _is_one_of(value, types):
            names = [types] if isinstance(types, str) else types
            return Fault("", f"must be {' or '.join(_TYPES.get(name, name) for name in names)}")
        for keyword, given in schema.items():
            check = _CHECKS.get(keyword)
            if check is not None and (found := check(self, value, given, schema)):
                return found
        return None

    def of_reference(self, value: Any, reference: str, _: Mapping[str, Any]) -> Fault | None:
        if not reference.startswith("#"):
            return None
        found = self._root
        for name in reference.split("/")[1:]:
            found = (
                found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
            )
        return self.fault(value, found)

    def of_any(self, value: Any, choices: Sequence[Any], _: Mapping[str, Any]) -> Fault | None:
        """The fault of the choice that fits best: the one whose first fault is the deepest."""
        faults = []
        for choice in choices:
            if (fault := self.fault(value, choice)) is None:
                return None
            faults.append(fault)
        deepest = max(faults, key=lambda fault: len(fault.place))
        reasons = dict.fromkeys(fault.reason.removeprefix("must be ") for fault in faults)
        if deepest.place or len(reasons) == 1:
            return deepest
        return Fault("", f"must be {' or '.join(reasons)}")

    def of_all(self, value: Any, parts: Iterable[Any], _: Mapping[str, Any]) -> Fault | None:
        return next((fault for part in parts if (fault := self.fault(value, part))), None)

    def of_properties(self, value: Any, properties: Mapping[str, Any], _: Mapping[str, Any]) -> Fault | None:
        for name in properties if isinstance(value, Mapping) else ():
            if name in value and (fault := self.fault(value[name], properties[name])):
                return fault.within(f".{name}")
        return None

    def of_patterns(self, value: Any, patterns: Mapping[str, Any], _: Mapping[str, Any]) -> Fault | None:
        for name in value if isinstance(value, Mapping) else ():
            for pattern, inner in patterns.items():
                if re.search(pattern, name) and (fault := self.fault(value[name], inner)):
                    return fault.within(f".{name}")
        return None

    def of_others(self, value: Any, inner: Any, schema: Mapping[str, Any]) -> Fault | None:
        """The fault of a field that is none of those that the schema names."""
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", ())
        for name in value if isinstance(value, Mapping) else ():
            if name in properties or any(re.search(pattern, name) for pattern in patterns):
                continue
            if inner is False:
                known = f": the fields are {', '.join(properties)}" if properties else ""
                return Fault(f".{name}", f"is not a field of it{known}")
            if fault := self.fault(value[name], inner):
                return fault.within(f".{name}")
        return None

    def of_names(self, value: Any, inner: Any, _: Mapping[str, Any]) -> Fault | None:
        for name in value if isinstance(value, Mapping) else ():
            if fault := self.fault(name, inner):
                return Fault(f".{name}", fault.reason)
        return None

    def of_first(self, value: Any, first: Sequence[Any], _: Mapping[str, Any]) -> Fault | None:
        for index, inner in enumerate(first if isinstance(value, list) else ()):
            if index < len(value) and (fault := self.fault(value[index], inner)):
                return fault.within(f"[{index}]")
        return None

    def of_items(self, value: Any, inner: Any, schema: Mapping[str, Any]) -> Fault | None:
        start = len(schema.get("prefixItems", ()))
        for index in range(start, len(value)) if isinstance(value, list) else ():
            if fault := self.fault(value[index], inner):
                return fault.within(f"[{index}]")
        return None


_Check = Callable[[_Schema, Any, Any, Mapping[str, Any]], Fault | None]


def _required(_: _Schema, value: Any, names: Iterable[str], __: Mapping[str, Any]) -> Fault | None:
    missing = (name for name in names if name not in value) if isinstance(value, Mapping) else iter(())
    return next((Fault(f".{name}", "is missing") for name in missing), None)


def _enum(_: _Schema, value: Any, allowed: Iterable[Any], __: Mapping[str, Any]) -> Fault | None:
    values = list(allowed)
    if any(_is_same(value, one) for one in values):
        return None
    more = f" and {len(values) - _MOST_VALUES:,} more" if values[_MOST_VALUES:] else ""
    return Fault("", f"must be one of {', '.join(json.dumps(one) for one in values[:_MOST_VALUES])}{more}")


def _const(_: _Schema, value: Any, allowed: Any, __: Mapping[str, Any]) -> Fault | None:
    return None if _is_same(value, allowed) else Fault("", "is not the value allowed")


def _pattern(_: _Schema, value: Any, pattern: str, __: Mapping[str, Any]) -> Fault | None:
    is_other = isinstance(value, str) and not re.search(pattern, value)
    return Fault("", "does not match its pattern") if is_other else None


def _format(_: _Schema, value: Any, name: str, __: Mapping[str, Any]) -> Fault | None:
    kind, example = _FORMATS.get(name, (None, ""))
    if kind is None or not isinstance(value, str):
        return None
    try:
        msgspec.convert(value, kind)  # as the worker reads it
    except msgspec.ValidationError:
        return Fault("", f"must be a {name} as in {example}")
    return None


def _multiple_of(_: _Schema, value: Any, divisor: Any, __: Mapping[str, Any]) -> Fault | None:
    is_whole = isinstance(divisor, int) and _is_one_of(value, "integer")
    return Fault("", f"must be a multiple of {divisor}") if is_whole and value % divisor else None


def _limit(kind: str, is_within: Callable[[Any, Any], bool], reason: str) -> _Check:
    """The check of a limit, of a number itself, or of the length of a text, an array or an object."""

    def check(_: _Schema, value: Any, limit: Any, schema: Mapping[str, Any]) -> Fault | None:
        if not _is_one_of(value, kind) or "contentEncoding" in schema:  # its limits are those of the bytes
            return None
        size = value if kind == "number" else len(value)
        return None if is_within(size, limit) else Fault("", f"must {reason.format(limit)}")

    return check


_CHECKS: Mapping[str, _Check] = {
    "$ref": _Schema.of_reference,
    "anyOf": _Schema.of_any,
    "oneOf": _Schema.of_any,
    "allOf": _Schema.of_all,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _Schema.of_properties,
    "patternProperties": _Schema.of_patterns,
    "additionalProperties": _Schema.of_others,
    "propertyNames": _Schema.of_names,
    "prefixItems": _Schema.of_first,
    "items": _Schema.of_items,
    "pattern": _pattern,
    "format": _format,
    "multipleOf": _multiple_of,
    "minimum": _limit("number", operator.ge, "be {} or more"),
    "maximum": _limit("number", operator.le, "be {} or less"),
    "exclusiveMinimum": _limit("number", operator.gt, "be more than {}"),
    "exclusiveMaximum": _limit("number", operator.lt, "be less than {}"),
    "minLength": _limit("string", operator.ge, "have {} characters or more"),
    "maxLength": _limit("string", operator.le, "have {} characters or fewer"),
    "minItems": _limit("array", operator.ge, "have {} elements or more"),
    "maxItems": _limit("array", operator.le, "have {} elements or fewer"),
    "minProperties": _limit("object", operator.ge, "have {} fields or more"),
    "maxProperties": _limit("object", operator.le, "have {} fields or fewer"),
}

#: JSON Schema's names for the types of a value.
_NAMES: Mapping[type, tuple[str, ...]] = {
    str: ("string",),
    int: ("integer", "number"),
    float: ("number",),
    bool: ("boolean",),
    dict: ("object",),
    list: ("array",),
    type(None): ("null",),
}


def _is_one_of(value: Any, types: str | Sequence[str]) -> bool:
    """Tell whether a value is of one of these types; 1.0 is an integer, and true is no number."""
    names = _NAMES[type(value)]
    asked = (types,) if isinstance(types, str) else types
    is_whole = isinstance(value, float) and "integer" in asked and value.is_integer()
    return is_whole or any(name in asked for name in names)


def _is_same(value: object, other: object) -> bool:
    """Tell whether two values are the same JSON; to Python true is 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
