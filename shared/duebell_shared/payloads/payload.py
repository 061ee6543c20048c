"""Payloads: any JSON value, kept as a JSON text and unchanged to the last digit."""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import time_text
from duebell_shared.quoting import in_brief, quoted, shortened

#: A DynamoDB item holds 400 KB at most, names and all; the rest is for the task's own fields and failures.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
MAX_BYTES = 350 * 1024

#: Arrays and objects within each other. Each library that reads or writes a payload has a limit of its own,
#: of 200 or more.
MAX_LEVELS = 100

_TOO_DEEP = f"is nested more than {MAX_LEVELS} levels deep, or contains itself: {MAX_LEVELS} are allowed"

#: Types that JSON has as they are.
_SCALARS = {str, int, bool, type(None)}

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

#: Reads the value that `encode` was given, as JSON's own types.
decode = json.loads

#: Parts of pydantic's messages about values that are nested too deeply.
_PYDANTICS = ("Maximum serialization depth exceeded", "Circular reference detected")


def encode(payload: object) -> str:
    """`payload` as JSON text.

    Takes JSON's types, dataclasses, msgspec and pydantic types, dates, decimals and UUIDs. Integers of any
    size, floats and unicode come back from `decode` as they were. A set in a field of a dataclass and the
    like is an array, which the field makes a set again.

    Raises InvalidTask, naming the place, for NaN and infinities, keys that are not text, other sets, and
    values without a JSON form; also for more than 350 KB or 100 levels.
    """
    try:
        if _is_flat(payload):
            with suppress(ValueError):  # its reason is told below
                return _check_size(_encoder.encode(payload))
        if reason := _set_in(payload):
            raise InvalidTask("payload", reason)
        return _encode(payload)
    except RecursionError:
        raise InvalidTask("payload", _TOO_DEEP) from None


def _is_flat(payload: object) -> bool:
    """Tell whether it is an object of texts, whole numbers, flags and nulls: most are, and need no walk."""
    return type(payload) is dict and all(
        type(name) is str and type(value) in _SCALARS for name, value in payload.items()
    )


def of_task(payload: object) -> str:
    """`payload` as a task keeps it: as `encode` does, but None becomes an empty object."""
    return "{}" if payload is None else encode(payload)


def check_text(text: str) -> str:
    """`text` if it is a payload as a task keeps it. Raises InvalidTask as `encode` does."""
    _check_size(text)
    try:
        encode(read_json(text))
    except ValueError as error:
        raise InvalidTask("payload", f"is not JSON: {in_brief(error)}") from None
    return text


def _encode(payload: object) -> str:
    pydantics = getattr(type(payload), "__pydantic_serializer__", None)  # a model's, or a dataclass's
    plain = payload
    try:
        plain = pydantics.to_python(payload, mode="json", by_alias=True) if pydantics else payload
        plain = msgspec.to_builtins(plain, enc_hook=_plain)
        if _is_too_deep(plain):
            raise InvalidTask("payload", _TOO_DEEP)
        text = _encoder.encode(plain)
        text.encode()
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        is_deep = any(words in str(error) for words in _PYDANTICS)
        why = _TOO_DEEP if is_deep else _fault_in(plain) or f"has no JSON form: {in_brief(error)}"
        raise InvalidTask("payload", why) from error
    if reason := _fault_in(plain):
        raise InvalidTask("payload", reason)
    return _check_size(text)


def _plain(value: object) -> object:
    """A value of a type that msgspec does not know, such as a pydantic model, in JSON's own types."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True) if callable(dump) else time_text(value)


def _check_size(text: str) -> str:
    size = len(text.encode())
    if size > MAX_BYTES:
        raise InvalidTask(
            "payload",
            f"is {size:,} bytes as JSON, at most {MAX_BYTES:,} are allowed: keep the data elsewhere, "
            f"in S3 for example, and put its key here",
        )
    return text


def decode_or_text(text: str) -> Any:
    """The value, to be shown; the text itself if an edit by hand has left one that `encode` does not make.

    Such a text is no JSON, or its value could not be written as JSON again: it has NaN, a number beyond all
    floats, half of a surrogate pair, or more than 100 levels.
    """
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
    may_be_deep = text.count("[") + text.count("{") > MAX_LEVELS
    return text if may_be_deep and _is_too_deep(value) else value


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text that a user gives; bytes are UTF-8, with or without a byte order mark.

    An object with one name twice is refused: only the last would count. Raises ValueError with the reason.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: byte {error.start + 1} is wrong") from None
    except RecursionError:
        raise ValueError(f"it is nested too deeply: a payload has {MAX_LEVELS} levels at most") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {quoted(name)} is twice in one object")
        made[name] = value
    return made


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _is_too_deep(value: object) -> bool:
    level = {id(value): value} if isinstance(value, dict | list | tuple) else {}
    for _ in range(MAX_LEVELS):
        if not level:
            return False
        inner = (
            one for each in level.values() for one in (each.values() if isinstance(each, dict) else each)
        )
        # By identity: what stands in several places, or in itself, is looked into once for each level.
        level = {id(one): one for one in inner if isinstance(one, dict | list | tuple)}
    return bool(level)


def _walk(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], object]]:
    """This value of a payload and those within it, in their order, each with the keys that lead to it."""
    yield path, value
    match value:
        case dict():
            inner: Iterable[tuple[object, object]] = value.items()
        case list() | tuple():
            inner = enumerate(value)
        case _:
            return
    for key, one in inner:
        yield from _walk(one, (*path, key))


def _place(path: tuple[object, ...]) -> str:
    return in_brief("payload" + "".join(f"[{quoted(key)}]" for key in path))


def _set_in(payload: object) -> str | None:
    """In words, the first set among plain values: most often a dict that lost its colon."""
    for path, value in _walk(payload):
        if isinstance(value, set | frozenset):
            way_out = "write {'key': value} for an object, or sorted(…)"
            return f"{_place(path)} is a set, and JSON has none: {way_out}"
    return None


def _fault_in(plain: object) -> str | None:
    """In words, the first number or key that JSON does not have."""
    for path, value in _walk(plain):
        if isinstance(value, float) and not math.isfinite(value):
            return f"{_place(path)} is {value}, which JSON cannot hold: leave it out or use None"
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, str):
                use = quoted(shortened(key))
                return f"{_place(path)} has the key {quoted(key)}, and JSON has text keys only: use {use}"
    return None
