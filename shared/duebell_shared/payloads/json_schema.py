"""Checks payloads against the JSON Schemas of actions.

It knows the keywords by which msgspec and pydantic describe types. It ignores other keywords, and formats
that msgspec does not read: the worker still checks these. A schema comes from a table, so no code is
generated from it, and nothing is fetched for it.
"""

import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from duebell_shared.errors import InvalidTask
from duebell_shared.quoting import did_you_mean, nearest, quoted, shortened

from . import payload as payloads

#: JSON Schema's types: the words for each, and Python's types of its values.
_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "string": ("text", (str,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "object": ("an object", (dict,)),
    "array": ("an array", (list,)),
    "null": ("null", (type(None),)),
}

#: Values or names that a message lists.
_MOST_LISTED = 10

#: The type that a text of each format is read as, and an example of the format.
_FORMATS: Mapping[str, tuple[type, str]] = {
    "date-time": (datetime, "2026-12-31T09:00:00Z"),
    "date": (date, "2026-12-31"),
    "time": (time, "09:00:00"),
    "duration": (timedelta, "P2DT10H"),
    "uuid": (UUID, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
}

#: The errors by which a schema shows that it cannot be understood.
_NOT_UNDERSTOOD = (AttributeError, LookupError, RecursionError, TypeError, ValueError, re.error)


class Fault(NamedTuple):
    """A part of a value that does not fit its schema: its place, such as `.items[2].price`, and why not."""

    place: str
    reason: str

    def within(self, place: str) -> "Fault":
        """The same fault, of the outer value that has this value at `place`."""
        return Fault(place + self.place, self.reason)


def find_fault(value: object, schema: object) -> Fault | None:
    """The first fault of a value of JSON's types by this schema; None if there is none."""
    try:
        return _Schema(schema).fault(value, schema)
    except _NOT_UNDERSTOOD:
        return None


class _Schema:
    """A schema, with the definitions that references within it mean."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def fault(self, value: Any, schema: Any) -> Fault | None:
        if schema is False:
            return Fault("", "is not allowed")
        if not isinstance(schema, Mapping):
            return None
        types = schema.get("type")
        names = [types] if isinstance(types, str) else types
        if names is not None and not any(_is_a(value, name) for name in names):
            return Fault("", f"must be {' or '.join(_TYPES[name][0] for name in names)}")
        if fault := self._of_keywords(value, schema):
            return fault
        if isinstance(value, dict):
            return self._of_fields(value, schema)
        return self._of_elements(value, schema) if isinstance(value, list) else None

    def _of_keywords(self, value: Any, schema: Mapping[str, Any]) -> Fault | None:
        for keyword, given in schema.items():
            match keyword:
                case "$ref":
                    fault = self._of_reference(value, given)
                case "anyOf" | "oneOf":
                    fault = self._of_any(value, given)
                case "allOf":
                    fault = next(filter(None, (self.fault(value, part) for part in given)), None)
                case "required":
                    fault = _missing(value, given, schema)
                case _:
                    reason = _keyword_fault(keyword, value, given) or _limit_fault(
                        keyword, value, given, schema
                    )
                    fault = Fault("", reason) if reason else None
            if fault:
                return fault
        return None

    def _of_reference(self, value: Any, reference: str) -> Fault | None:
        if not reference.startswith("#"):
            return None
        found = self._root
        for name in reference.split("/")[1:]:
            found = found[name.replace("~1", "/").replace("~0", "~")]
        return self.fault(value, found)

    def _of_any(self, value: Any, choices: Sequence[Any]) -> Fault | None:
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

    def _of_fields(self, value: Mapping[str, Any], schema: Mapping[str, Any]) -> Fault | None:
        properties = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        others = schema.get("additionalProperties")
        for name, field in value.items():
            inner = [of_it for pattern, of_it in patterns.items() if re.search(pattern, name)]
            if name in properties:
                inner.append(properties[name])
            elif not inner and others is False:
                return Fault(_place(name), f"is not a field{_way_out(name, properties, value)}")
            for one in inner or [others]:
                if fault := self.fault(field, one):
                    return fault.within(_place(name))
            if "propertyNames" in schema and (fault := self.fault(name, schema["propertyNames"])):
                return Fault(_place(name), fault.reason)
        return None

    def _of_elements(self, value: Sequence[Any], schema: Mapping[str, Any]) -> Fault | None:
        first = schema.get("prefixItems", ())
        for index, element in enumerate(value):
            inner = first[index] if index < len(first) else schema.get("items")
            if fault := self.fault(element, inner):
                return fault.within(f"[{index}]")
        return None


def _place(name: str) -> str:
    return f".{shortened(name)}"


def _way_out(name: str, known: Collection[str], given: Collection[str]) -> str:
    """The end of a message about an unknown field: all fields, and the most similar one that is not given."""
    if not known:
        return ""
    near = did_you_mean(name, [one for one in known if one not in given])
    fields = f"fields are {_listed(list(known))}"
    return f"{near} The {fields}" if near else f": the {fields}"


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_LISTED:,} more" if words[_MOST_LISTED:] else ""
    return f"{', '.join(words[:_MOST_LISTED])}{more}"


def _missing(value: Any, names: Iterable[str], schema: Mapping[str, Any]) -> Fault | None:
    missing = next((name for name in names if name not in value), None) if isinstance(value, dict) else None
    if missing is None:
        return None
    properties = schema.get("properties", {})
    unknown = [name for name in value if name not in properties and not schema.get("additionalProperties")]
    instead = nearest(missing, unknown) or next(iter(unknown), None)
    given = "" if instead is None else f": {quoted(instead)} is given, which is not a field"
    return Fault(f".{missing}", f"is missing{given}")


#: The limits by keyword: the type of values that have one, its check, and the message for values beyond it.
_LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", operator.ge, "be {} or more"),
    "maximum": ("number", operator.le, "be {} or less"),
    "exclusiveMinimum": ("number", operator.gt, "be more than {}"),
    "exclusiveMaximum": ("number", operator.lt, "be less than {}"),
    "minLength": ("string", operator.ge, "have {} characters or more"),
    "maxLength": ("string", operator.le, "have {} characters or fewer"),
    "minItems": ("array", operator.ge, "have {} elements or more"),
    "maxItems": ("array", operator.le, "have {} elements or fewer"),
    "minProperties": ("object", operator.ge, "have {} fields or more"),
    "maxProperties": ("object", operator.le, "have {} fields or fewer"),
}


def _keyword_fault(keyword: str, value: Any, given: Any) -> str | None:
    """Returns in words why the value does not fit this keyword; None if it fits or the keyword is unknown."""
    match keyword:
        case "enum" if not any(_is_same(value, one) for one in given):
            return f"must be one of {_listed([json.dumps(one) for one in given])}"
        case "const" if not _is_same(value, given):
            return "is not the value allowed"
        case "pattern" if isinstance(value, str) and not re.search(given, value):
            return "does not match its pattern"
        case "multipleOf" if isinstance(given, int) and _is_a(value, "number") and value % given:
            return f"must be a multiple of {given}"
        case "format" if isinstance(value, str) and given in _FORMATS:
            kind, example = _FORMATS[given]
            try:
                msgspec.convert(value, kind)  # as the worker reads it
            except msgspec.ValidationError:
                return f"must be a {given} as in {example}"
    return None


def _limit_fault(keyword: str, value: Any, limit: Any, schema: Mapping[str, Any]) -> str | None:
    """Returns the limit that the value is beyond, in words; None if it is beyond none.

    The limits of encoded text count its bytes: the worker checks these limits.
    """
    if keyword not in _LIMITS or "contentEncoding" in schema:
        return None
    kind, is_within, reason = _LIMITS[keyword]
    if not _is_a(value, kind):
        return None
    size = value if kind == "number" else len(value)
    return None if is_within(size, limit) else f"must {reason.format(limit)}"


def _is_a(value: object, name: str) -> bool:
    return type(value) in _TYPES[name][1]


def _is_same(value: object, other: object) -> bool:
    return value == other and type(value) is type(other)


def payload_error(payload_json: str, schema: Mapping[str, Any], action: str) -> InvalidTask | None:
    """The error for a payload that does not fit; None for one that does, as far as the schema tells."""
    fault = find_fault(payloads.decode_or_text(payload_json), schema)
    if fault is None:
        return None
    return InvalidTask(f"payload{fault.place}", f"{fault.reason}, for the action {quoted(action)}")


def with_any(name: str | None, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with any value allowed in this field of an object, if it knows the field."""
    fields = schema.get("properties", {})
    return {**schema, "properties": {**fields, name: {}}} if name in fields else schema
