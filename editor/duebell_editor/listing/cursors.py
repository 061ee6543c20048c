"""Cursors of listings: the place of the last task on a page, as text that users pass on."""

import base64
from typing import TypeVar

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import to_json

__all__ = ["LONGEST_KEY", "cursor_of", "place_at", "wrong_cursor"]

#: Bytes of the longest key that DynamoDB takes.
LONGEST_KEY = 1024

_T = TypeVar("_T")


def wrong_cursor() -> InvalidQuery:
    """The error for a cursor that was made up, or cut."""
    return InvalidQuery("cursor", "is not one that a listing gave: start again without it")


def cursor_of(place: object) -> str:
    """The cursor of this place."""
    return base64.urlsafe_b64encode(to_json(place).encode()).decode()


def place_at(cursor: str, kind: type[_T]) -> _T:
    """The place of this cursor. Raises InvalidQuery."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=kind)
    except ValueError:  # from base64 and msgspec
        raise wrong_cursor() from None
