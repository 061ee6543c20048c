"""Payloads: unchanged from the caller to the action, or refused with the place that cannot be."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.errors import InvalidTask
from duebell_shared.payloads.payload import MAX_BYTES, check_text, decode, decode_or_text, encode

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**63, max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_what_json_has_comes_back_as_it_was(payload: object) -> None:
    back = decode(encode(payload))
    assert back == payload
    assert repr(back) == repr(payload)  # 1 is not 1.0, and 0.0 not -0.0


YEAR = datetime(2026, 1, 1, tzinfo=UTC)


class Colour(StrEnum):
    RED = "red"


@dataclass
class Sale:
    item: int
    price: float = 1.5


class Struct(msgspec.Struct):
    item: int


class Model(pydantic.BaseModel):
    item: int
    at: datetime | None = None
    price: float = 0.0


@pytest.mark.parametrize(
    ("payload", "back"),
    [
        (Model(item=1, at=YEAR), {"item": 1, "at": "2026-01-01T00:00:00Z", "price": 0.0}),
        ({"sales": [Sale(item=1), Struct(item=2)]}, {"sales": [{"item": 1, "price": 1.5}, {"item": 2}]}),
        ({"when": YEAR}, {"when": "2026-01-01T00:00:00Z"}),
        ({"how": Decimal("0.10")}, {"how": "0.10"}),
        ({"who": UUID(int=7)}, {"who": "00000000-0000-0000-0000-000000000007"}),
        ({"which": Colour.RED}, {"which": "red"}),
        (0.1 + 0.2, 0.30000000000000004),
        ("e\u0301\x00\u2028𝄞", "e\u0301\x00\u2028𝄞"),
    ],
)
def test_values_and_their_json_form(payload: object, back: object) -> None:
    assert decode(encode(payload)) == back


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (math.nan, "payload is nan, which JSON cannot hold: leave it out or use None"),
        ({"a": [0, {"b": math.inf}]}, "payload['a'][1]['b'] is inf, which JSON cannot hold"),
        (Model(item=1, price=math.nan), "payload['price'] is nan, which JSON cannot hold"),
        ({1: 2}, "payload has the key 1, and JSON has text keys only: use '1'"),
        ({"a": [{None: 2}]}, "payload['a'][0] has the key None, and JSON has text keys only"),
        # Most often an object without its colon
        ({"user", 7}, "payload is a set, and JSON has none: write {'key': value} for an object"),
        ({"users": [frozenset({7})]}, "payload['users'][0] is a set, and JSON has none"),
        ({"a": object()}, "has no JSON form: Encoding objects of type object is unsupported"),
        ({"a": "\ud800"}, "has no JSON form: "),
        pytest.param([10**5000], "has no JSON form: ", id="5,000 digits"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(payload: object, reason: str) -> None:
    with pytest.raises(InvalidTask) as raised:
        encode(payload)
    assert raised.value.field == "payload"
    assert raised.value.reason.startswith(reason)


@pytest.mark.parametrize("character", ["x", "ü", "𝄞"])
def test_the_largest_payload_is_350_kb_of_utf_8(character: str) -> None:
    # Given text that fills 350 KB to the byte, its quotes included
    count, rest = divmod(MAX_BYTES - 2, len(character.encode()))
    largest = character * count + "x" * rest
    # Then it passes, and one more byte does not
    assert len(encode(largest).encode()) == 350 * 1024
    with pytest.raises(InvalidTask) as raised:
        encode(largest + "x")
    assert raised.value.reason == (
        "is 358,401 bytes as JSON, at most 358,400 are allowed: keep the data elsewhere, "
        "in S3 for example, and put its key here"
    )


@dataclass
class Tagged:
    tags: set[str]


def test_a_set_that_its_type_tells_of_is_an_array() -> None:
    assert decode(encode(Tagged(tags={"a"}))) == {"tags": ["a"]}


def nested(levels: int, make: Callable[[Any], Any] = lambda inner: [inner]) -> Any:
    value: Any = make(1)
    for _ in range(levels - 1):
        value = make(value)
    return value


@dataclass
class Node:
    inner: Any


class Leaf(pydantic.BaseModel):
    inner: Any


KINDS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda inner: [inner],
    "tuples": lambda inner: (inner,),
    "objects": lambda inner: {"inner": inner},
    "dataclasses": Node,
    "pydantic models": lambda inner: Leaf(inner=inner),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_a_payload_has_100_levels_at_most(make: Callable[[Any], Any]) -> None:
    assert encode(nested(100, make)).count("1") == 1
    itself: list[Any] = []
    itself.append(itself)
    for payload in (*(nested(levels, make) for levels in (101, 254, 256, 5_000)), itself):
        with pytest.raises(InvalidTask) as refused:
            encode(payload)
        assert refused.value.field == "payload"
        # pydantic has a limit of its own
        assert re.search("100 levels deep, or contains itself|depth exceeded", refused.value.reason)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 101 + "]" * 101,
        '{"a":' * 101 + "1" + "}" * 101,
        "NaN",
        "[1e400]",
        '"\\ud800"',
        "9" * 5_000,
        "{",
        "",
    ],
)
def test_what_could_not_be_written_again_is_shown_as_text(text: str) -> None:
    assert decode_or_text(text) == text
    with pytest.raises(InvalidTask):
        check_text(text)


@pytest.mark.parametrize("payload", [nested(100), {"a": [1e308, 2**70, "\U0001f600", None]}, "x", 0])
def test_what_was_written_is_shown_as_it_was(payload: Any) -> None:
    assert decode_or_text(check_text(encode(payload))) == payload
