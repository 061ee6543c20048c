"""Checks payloads against the JSON Schemas of actions.

It knows the keywords by which msgspec and pydantic describe types, and ignores all others, `format` among
them: what it does not find, the worker still checks. A schema comes out of a table, so no code is made of it,
and nothing is fetched for it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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

#: Limits, each with what it says of a value; the value is a number, or the length of a text, array or object.
_LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (lambda value, limit: value >= limit, "must be {limit} or more"),
    "maximum": (lambda value, limit: value <= limit, "must be {limit} or less"),
    "exclusiveMinimum": (lambda value, limit: value > limit, "must be more than {limit}"),
    "exclusiveMaximum": (lambda value, limit: value < limit, "must be less than {limit}"),
    "minLength": (lambda value, limit: len(value) >= limit, "must have {limit} characters or more"),
    "maxLength": (lambda value, limit: len(value) <= limit, "must have {limit} characters or fewer"),
    "minItems": (lambda value, limit: len(value) >= limit, "must have {limit} elements or more"),
    "maxItems": (lambda value, limit: len(value) <= limit, "must have {limit} elements or fewer"),
    "minProperties": (lambda value, limit: len(value) >= limit, "must have {limit} fields or more"),
    "maxProperties": (lambda value, limit: len(value) <= limit, "must have {limit} fields or fewer"),
}
_LIMITS_OF = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


class Fault(NamedTuple):
    """A part of a value that does not fit its schema: its place, such as `.items[2].price`, and why not."""

    place: str
    reason: str


def find_fault(value: object, schema: object) -> Fault | None:
    """The first fault of a value of JSON's types by this schema; None if there is none."""
    try:
        return next(_Check(schema).faults(value, schema, ""), None)
    except (
        AttributeError,
        RecursionError,
        TypeError,
        ValueError,
        re.error,
    ):  # a schema that cannot be understood
        return None


class _Check:
    def __init__(self, root: object) -> None:
        self._root = root

    def faults(self, value: Any, schema: Any, place: str) -> Iterator[Fault]:
        if schema is False:
            yield Fault(place, "is not allowed")
        if not isinstance(schema, Mapping):
            return
        yield from self.faults(value, self._resolved(schema.get("$ref", "")), place)
        types = schema.get("type", ())
        types = [types] if isinstance(types, str) else types
        if types and not any(_is_a(value, name) for name in types):
            yield Fault(place, f"must be {' or '.join(_TYPES.get(name, name) for name in types)}")
            return
        allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if allowed is not None and not any(_is_same(value, one) for one in allowed):
            yield Fault(place, "is not one of the values allowed")
        for choices in (schema.get("anyOf"), schema.get("oneOf")):
            yield from self._of_choices(value, choices or [True], place)
        for part in schema.get("allOf", ()):
            yield from self.faults(value, part, place)
        yield from _beyond_limits(value, schema, place)
        if isinstance(value, Mapping):
            yield from self._of_object(value, schema, place)
        if isinstance(value, list):
            yield from self._of_array(value, schema, place)

    def _resolved(self, reference: str) -> Any:
        """The schema that a reference within this one means; one that allows everything for any other."""
        if not reference.startswith("#"):
            return True
        found = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            found = (
                found.get(name.replace("~1", "/").replace("~0", "~"), {})
                if isinstance(found, Mapping)
                else {}
            )
        return found

    def _of_choices(self, value: Any, choices: Sequence[Any], place: str) -> Iterator[Fault]:
        """The fault of the choice that fits best: the one whose first fault is the deepest."""
        first = [next(self.faults(value, choice, place), None) for choice in choices]
        faults = [fault for fault in first if fault]
        if len(faults) < len(first):
            return
        deepest = max(faults, key=lambda fault: len(fault.place))
        if deepest.place != place:
            yield deepest
        else:
            reasons = dict.fromkeys(fault.reason.removeprefix("must be ") for fault in faults)
            yield Fault(place, f"must be {' or '.join(reasons)}" if len(reasons) > 1 else deepest.reason)

    def _of_object(self, value: Mapping[str, Any], schema: Any, place: str) -> Iterator[Fault]:
        for name in schema.get("required", ()):
            if name not in value:
                yield Fault(f"{place}.{name}", "is missing")
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name, inner in value.items():
            own = [properties[name]] if name in properties else []
            own += [each for pattern, each in patterns.items() if re.search(pattern, name)]
            if not own and schema.get("additionalProperties") is False:
                known = f": the fields are {', '.join(properties)}" if properties else ""
                yield Fault(f"{place}.{name}", f"is not a field of it{known}")
            for each in own or [schema.get("additionalProperties", True)]:
                if each is not False:
                    yield from self.faults(inner, each, f"{place}.{name}")
            yield from self.faults(name, schema.get("propertyNames", True), f"{place}.{name}")

    def _of_array(self, value: Sequence[Any], schema: Any, place: str) -> Iterator[Fault]:
        first = schema.get("prefixItems", ())
        for index, inner in enumerate(value):
            each = first[index] if index < len(first) else schema.get("items", True)
            yield from self.faults(inner, each, f"{place}[{index}]")


def _beyond_limits(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[Fault]:
    for kind, keywords in _LIMITS_OF.items():
        if _is_a(value, kind) and "contentEncoding" not in schema:  # whose limits are those of the bytes
            for keyword in keywords:
                fits, reason = _LIMITS[keyword]
                if keyword in schema and not fits(value, schema[keyword]):
                    yield Fault(place, reason.format(limit=schema[keyword]))
    divisor = schema.get("multipleOf")
    if isinstance(divisor, int) and _is_a(value, "integer") and value % divisor:
        yield Fault(place, f"must be a multiple of {divisor}")
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield Fault(place, "does not match its pattern")


def _is_a(value: object, name: object) -> bool:
    """Tell whether a value is of this type of JSON Schema; 1.0 is an integer, and true is no number."""
    if value is None or isinstance(value, bool):
        return name == ("null" if value is None else "boolean")
    if isinstance(value, int | float):
        return name == "number" or (name == "integer" and value == value // 1)
    kind = "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"
    return name == kind


def _is_same(value: object, other: object) -> bool:
    """Tell whether two values are the same JSON; to Python true is 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
