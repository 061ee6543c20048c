"""Payloads held against the schemas of actions."""

import enum
import json
import uuid
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import jsonschema_rs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell_shared.payloads.json_schema import find_fault
from duebell_worker.actions.parameters import InvalidPayload, decoder, schema_of


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Inner:
    price: float
    tags: list[str]


class Sale(msgspec.Struct, forbid_unknown_fields=True):
    item: int
    amount: Decimal
    at: datetime
    colour: Colour = Colour.RED
    inner: Inner | None = None
    kind: Literal[1, "x"] = 1
    key: uuid.UUID | None = None
    count: Annotated[int, msgspec.Meta(ge=1, lt=10)] = 3
    pair: tuple[int, str] = (1, "a")
    by_name: dict[str, int] = {}
    wait: timedelta | None = None


class Model(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    item: int
    names: list[Annotated[str, pydantic.Field(min_length=2, pattern="^[a-z]+$")]] = []
    next: "Model | None" = None


class Trial(TypedDict, total=False):
    user: int
    until: date


INSTANT = Annotated[datetime, msgspec.Meta(tz=True)]
ODD_SCHEMAS = ({"pattern": "("}, {"type": 7}, {"minimum": "x"}, 3)
SALE = {"item": 1, "amount": "1.5", "at": "2026-12-31T00:00:00Z"}


@pytest.mark.parametrize(
    ("payload_type", "payload", "fault"),
    [
        (Sale, SALE, None),
        (Sale, SALE | {"inner": {"price": 1, "tags": []}, "kind": "x", "pair": [1, "b"]}, None),
        (Sale, {"item": 1, "at": "2026-12-31T00:00:00Z"}, (".amount", "is missing")),
        (INSTANT, "31.12.2026", ("", "must be a date-time as in 2026-12-31T09:00:00Z")),
        (Sale, {"itme": 1}, (".item", "is missing: 'itme' is given, which is not a field")),
        (Sale, SALE | {"colou": "red"}, (".colou", "is not a field: did you mean colour? The fields are")),
        (Sale, SALE | {"wait": "P2DT10H", "key": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}, None),
        (Sale, SALE | {"wait": "2 days"}, (".wait", "must be a duration as in P2DT10H or null")),
        (Sale, SALE | {"key": "x"}, (".key", "must be a uuid as in")),
        (Sale, SALE | {"item": "1"}, (".item", "must be a whole number")),
        (Sale, SALE | {"item": True}, (".item", "must be a whole number")),
        (Sale, SALE | {"itme": 1}, (".itme", "is not a field: the fields are item, amount, at, ")),
        (Sale, SALE | {"colour": "blue"}, (".colour", 'must be one of "green", "red"')),
        (Sale, SALE | {"inner": {"price": 1, "tags": [1]}}, (".inner.tags[0]", "must be text")),
        (Sale, [], ("", "must be an object")),
        (Model, {"item": 1, "next": {"item": 2, "names": ["ab"]}}, None),
        (Model, {"item": 1, "next": {"item": 2, "names": ["a"]}}, (".next.names[0]", "must have 2 char")),
        (Model, {"item": 1, "names": ["AB"]}, (".names[0]", "does not match its pattern")),
        (list[Sale], [SALE, {}], ("[1].item", "is missing")),
    ],
)
def test_a_payload_fits_its_type_or_the_place_is_named(
    payload_type: Any, payload: object, fault: tuple[str, str] | None
) -> None:
    found = find_fault(payload, json.loads(json.dumps(schema_of(payload_type))))
    if fault is None:
        assert found is None
    else:
        assert found
        assert (found.place, found.reason[: len(fault[1])]) == fault


NULL, CLOSED = {"type": "null"}, {"additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "fits", "misfit", "fault"),
    [
        ({"type": "boolean"}, True, 1, "must be true or false"),
        ({"type": "integer"}, 1, 1.0, "must be a whole number"),
        ({"type": ["array", "null"]}, None, {}, "must be an array or null"),
        ({"enum": [*range(12)]}, 11, True, "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
        ({"const": 1}, 1, True, "is not the value allowed"),
        ({"minimum": 2}, 2, 1, "must be 2 or more"),
        ({"maximum": 2}, 2, 3, "must be 2 or less"),
        ({"exclusiveMinimum": 2}, 3, 2, "must be more than 2"),
        ({"exclusiveMaximum": 2}, 1, 2, "must be less than 2"),
        ({"multipleOf": 2}, 4.0, 5.0, "must be a multiple of 2"),
        ({"minLength": 2}, "ab", "a", "must have 2 characters or more"),
        ({"maxLength": 2}, "ab", "abc", "must have 2 characters or fewer"),
        ({"contentEncoding": "base64", "maxLength": 1, "const": "ab"}, "ab", "a", "is not the value allowed"),
        ({"format": "date"}, "2026-12-31", "31.12.2026", "must be a date as in 2026-12-31"),
        ({"format": "time"}, "09:00:00", "9", "must be a time as in 09:00:00"),
        ({"minItems": 2}, [1, 2], [1], "must have 2 elements or more"),
        ({"maxItems": 1}, [1], [1, 2], "must have 1 elements or fewer"),
        ({"prefixItems": [NULL], "items": {"type": "string"}}, [None, "a"], [None, 1], "[1] must be text"),
        ({"minProperties": 1}, {"a": 1}, {}, "must have 1 fields or more"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}, "must have 1 fields or fewer"),
        ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}, ".ab must have 1 characters or fewer"),
        ({"patternProperties": {"^x": NULL}, **CLOSED}, {"x1": None}, {"y": 1}, ".y is not a field"),
        ({"additionalProperties": NULL}, {"a": None}, {"a": 1}, ".a must be null"),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3, "must be 2 or less"),
        ({"oneOf": [{"type": "string"}, NULL]}, None, 1, "must be text or null"),
        ({"$ref": "#/$defs/a~1b~0c", "$defs": {"a/b~c": NULL}}, None, 1, "must be null"),
    ],
)
def test_each_keyword_is_checked_at_its_bound(schema: Any, fits: object, misfit: object, fault: str) -> None:
    assert find_fault(fits, schema) is None
    assert " ".join(filter(None, find_fault(misfit, schema) or ())) == fault


# JSON Schema takes 1.0 for an integer, and the worker does not.
_FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not one.is_integer())
_NUMBERS = st.integers(-3, 12) | _FLOATS
_NAMES = st.sampled_from(["item", "names", "next", "at", "x", "price", "tags", "user"])
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text("aB", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("payload_type", [Inner, Trial, Model, dict[str, bool], int | str | None])
@settings(max_examples=40, deadline=None)
@given(payload=_JSON)
def test_what_is_refused_the_worker_would_refuse_too(payload_type: Any, payload: object) -> None:
    """But for pydantic, which takes a text for a number: there another library's word is taken."""
    schema = schema_of(payload_type)
    fault = find_fault(payload, schema)
    assert (fault is None) == jsonschema_rs.is_valid(schema, payload)
    if fault and not (isinstance(payload_type, type) and issubclass(payload_type, pydantic.BaseModel)):
        with pytest.raises(InvalidPayload):
            decoder("act", payload_type)(json.dumps(payload))


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"$ref": "#/$defs/nowhere"}, {"$ref": "https://example.org/schema.json"}, *ODD_SCHEMAS],
)
def test_a_schema_that_cannot_be_understood_allows_everything(schema: object) -> None:
    for value in ("x", 3, {"a": 1}, [1]):
        assert find_fault(value, schema) is None


def test_no_value_is_in_what_is_said_of_it() -> None:
    fault = find_fault(SALE | {"colour": "secret"}, schema_of(Sale))
    assert fault
    assert "secret" not in str(fault)
