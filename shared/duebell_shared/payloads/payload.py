"""Payloads: any JSON value, kept as a JSON text and unchanged to the last digit."""

import json
import math
from collections.abc import Iterable
from functools import partial
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


def encode(payload: object, *, is_result: bool = False) -> str:
    """`payload` as JSON text.

    Takes JSON's types, dataclasses, msgspec and pydantic types, dates, decimals and UUIDs. Integers of any
    size, floats and unicode come back from `decode` as they were. A set in a field of a dataclass and the
    like becomes an array, which is read as a set again.

    Raises InvalidTask, naming the place, for NaN and infinities, keys that are not text, other sets, and
    values without a JSON form; also for more than 350 KB or 100 levels.

    is_result  whether the fields that pydantic models compute are kept: a payload with them could not be read
    """
    try:
        if not _is_flat(payload):
            _check(payload, has_types=True)
            payload = _plain(payload, round_trip=not is_result)
            _check(payload)
        return _check_size(_encoder.encode(payload))
    except RecursionError:
        raise InvalidTask("payload", _TOO_DEEP) from None
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise InvalidTask("payload", f"has no JSON form: {in_brief(error)}") from error


def _is_flat(payload: object) -> bool:
    """Tell whether it is an object of texts, whole numbers, flags and nulls: most are, and need no check."""
    return type(payload) is dict and all(
        type(name) is str and type(value) in _SCALARS for name, value in payload.items()
    )


def _check(value: object, path: tuple[object, ...] = (), *, has_types: bool = False) -> None:
    """Raise InvalidTask, with the place, for the first part of this value that JSON does not have.

    has_types  whether it may have values and keys of other types, which are converted later
    """
    match value:
        case float() if not math.isfinite(value):
            raise _wrong(path, f"is {value}, which JSON cannot hold: leave it out or use None")
        case set() | frozenset():  # most often a dict that lost its colon
            raise _wrong(
                path, "is a set, and JSON has none: write {'key': value} for an object, or sorted(…)"
            )
        case dict():
            inner: Iterable[tuple[object, object]] = value.items()
        case list() | tuple():
            inner = enumerate(value)
        case _:
            return
    if len(path) == MAX_LEVELS:
        raise InvalidTask("payload", _TOO_DEEP)
    for key, one in inner:
        if isinstance(value, dict) and not isinstance(key, str) and not has_types:
            use = quoted(shortened(key))
            raise _wrong(path, f"has the key {quoted(key)}, and JSON has text keys only: use {use}")
        _check(one, (*path, key), has_types=has_types)


def _wrong(path: tuple[object, ...], reason: str) -> InvalidTask:
    place = in_brief("payload" + "".join(f"[{quoted(key)}]" for key in path))
    return InvalidTask("payload", f"{place} {reason}")


def _plain(value: object, *, round_trip: bool) -> object:
    """The value in JSON's own types; with `round_trip`, without the fields that pydantic models compute."""
    if hasattr(type(value), "__pydantic_serializer__"):
        value = _of_other_type(value, round_trip=round_trip)
    return msgspec.to_builtins(value, enc_hook=partial(_of_other_type, round_trip=round_trip))


def _of_other_type(value: object, *, round_trip: bool) -> object:
    """A value of a type that msgspec does not know, such as a pydantic model, in JSON's own types."""
    pydantics = getattr(type(value), "__pydantic_serializer__", None)  # a model's, or a dataclass's
    if pydantics:
        plain: object = pydantics.to_python(value, mode="json", by_alias=True, round_trip=round_trip)
        return plain
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True) if callable(dump) else time_text(value)


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
    """The value, to be shown; the text itself if it is none that `encode` makes, as after an edit by hand."""
    try:
        value = json.loads(text)
        if not _is_flat(value):
            _check(value)
        if "\\u" in text:  # half of a surrogate pair
            _encoder.encode(value).encode()
    except (InvalidTask, RecursionError, ValueError):
        return text
    return value


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
