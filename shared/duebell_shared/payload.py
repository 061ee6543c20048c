"""Payloads: any JSON value, kept as a JSON text and unchanged to the last digit."""

import json
import math
from typing import Any

import msgspec

from .errors import InvalidTask

__all__ = ["MAX_BYTES", "decode", "decode_or_text", "encode", "of_task"]

#: A DynamoDB item holds 400 KB at most, names and all; the rest is for the task's own fields and its failure.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
MAX_BYTES = 350 * 1024


def encode(payload: object) -> str:
    """`payload` as JSON text.

    Takes what JSON has, and dataclasses, msgspec and pydantic types, dates, decimals and UUIDs. Integers
    of any size, floats and unicode come back from `decode` as they were. Raises InvalidTask, naming the
    place, for NaN and infinities, keys that are not text, sets, values JSON has no form for, and more than
    350 KB. A set in a field of a dataclass and the like is an array, which such a field makes a set again.
    """
    try:
        if reason := _set_in(payload):
            raise InvalidTask("payload", reason)
        return _encode(payload)
    except RecursionError:
        raise InvalidTask("payload", "is nested too deeply, or contains itself") from None


def of_task(payload: object) -> str:
    """`payload` as a task keeps it: the same, but that None is an empty object."""
    return "{}" if payload is None else encode(payload)


def _encode(payload: object) -> str:
    dump = getattr(payload, "model_dump", None)  # a pydantic model, without importing pydantic
    plain = payload
    try:
        plain = msgspec.to_builtins(dump(mode="json") if callable(dump) else payload)
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise InvalidTask("payload", _why_not(plain) or f"has no JSON form: {error}") from error
    if reason := _odd_key(plain):
        raise InvalidTask("payload", reason)
    if size > MAX_BYTES:
        raise InvalidTask(
            "payload",
            f"is {size:,} bytes as JSON, at most {MAX_BYTES:,} are allowed: keep the data elsewhere, "
            f"in S3 for example, and put its key here",
        )
    return text


def decode(text: str) -> Any:
    """The value that `encode` was given, as JSON's own types."""
    return json.loads(text)


def decode_or_text(text: str) -> Any:
    """The value, to be shown; the text itself where it is no JSON, as only an edit by hand leaves it."""
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return text


def _set_in(value: object, place: str = "payload") -> str | None:
    """In words, the first set among plain values: most often a dict that lost its colon."""
    match value:
        case set() | frozenset():
            return f"{place} is a set, and JSON has none: write {{'key': value}} for an object, or sorted(…)"
        case dict():
            places = ((f"{place}[{key!r}]", inner) for key, inner in value.items())
        case list() | tuple():
            places = ((f"{place}[{index}]", inner) for index, inner in enumerate(value))
        case _:
            return None
    return next((why for at, inner in places if (why := _set_in(inner, at))), None)


def _why_not(value: object, place: str = "payload") -> str | None:
    """In words, the first value of a payload that JSON cannot hold."""
    match value:
        case float() if not math.isfinite(value):
            return f"{place} is {value}, which JSON cannot hold: leave it out or use None"
        case dict():
            places = ((f"{place}[{key!r}]", inner) for key, inner in value.items())
        case list() | tuple():
            places = ((f"{place}[{index}]", inner) for index, inner in enumerate(value))
        case _:
            return None
    return next((why for at, inner in places if (why := _why_not(inner, at))), None)


def _odd_key(value: object, place: str = "payload") -> str | None:
    """In words, the first key that JSON would silently turn into text."""
    match value:
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    return f"{place} has the key {key!r}, and JSON has text keys only: use {str(key)!r}"
                if why := _odd_key(inner, f"{place}[{key!r}]"):
                    return why
        case list():
            for index, inner in enumerate(value):
                if why := _odd_key(inner, f"{place}[{index}]"):
                    return why
    return None
