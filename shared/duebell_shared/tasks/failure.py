"""Why attempts failed: the last one in full, and those before it in short. Values and pure functions only."""

import math
from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.instants import Instant

from .checks import Count

#: The failed attempts that a task remembers.
_REMEMBERED = 10

_MOST_WORDS = 300

#: Characters of an error's type and message that are kept in short.
_TYPE, _MESSAGE = 80, 200

#: The same in bytes as they are stored, within JSON, where a character takes up to six; and in full, with
#: its traceback. All that a task remembers must fit beside the largest payload: see item_size.py.
_TYPE_BYTES, _MESSAGE_BYTES = 160, 500
_FULL_TYPE_BYTES, _FULL_MESSAGE_BYTES, _TRACEBACK_BYTES = 240, 3_000, 8_000
_WORDS_BYTES = 600

#: Bytes that one character takes within JSON, at most: a control character is written as `\\u0000`.
_MOST_OF_ONE = 6


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed: the exception's type, its message and the end of its traceback.

    module  the module that the type can be imported from; unset for a type of Python's or duebell's own
    """

    type: str
    message: str
    traceback: str = ""
    module: str | UnsetType = UNSET

    def __str__(self) -> str:
        return in_a_line(f"{self.type}: {self.message}")


class FailedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that failed, in short. Times are UTC.

    due          when its occurrence was due: the task's own due date, unless it recurs
    attempt      which one it was, the first being 1
    started_at   when it was started; None if its run left it running, for the next start has taken its place
    finished_at  when it failed; None if its run left it running
    type         the type of the error, its first 80 characters; WorkerDied if its run left it running
    message      the error's message, its first 200 characters; fewer if they take 500 bytes
    """

    due: Instant
    attempt: Count
    started_at: Instant | None = None
    finished_at: Instant | None = None
    type: str
    message: str


def in_short(
    failure: Failure,
    due: datetime,
    attempt: int,
    started_at: datetime | None = None,
    finished_at: datetime | None = None,
) -> FailedAttempt:
    return FailedAttempt(
        due=due,
        attempt=attempt,
        started_at=started_at,
        finished_at=finished_at,
        **_short(failure.type, failure.message),
    )


def in_a_line(words: str) -> str:
    """The beginning of these words, as an occurrence that failed is remembered with."""
    return _beginning(words[:_MOST_WORDS], _WORDS_BYTES)


def bounded(failure: Failure) -> Failure:
    """The failure as a task keeps it: the beginning of its words, and the end of its traceback."""
    return Failure(
        type=_beginning(failure.type, _FULL_TYPE_BYTES),
        message=_beginning(failure.message, _FULL_MESSAGE_BYTES),
        traceback=_beginning(failure.traceback[::-1], _TRACEBACK_BYTES)[::-1],
        module=_beginning(failure.module, _FULL_TYPE_BYTES) if failure.module else UNSET,
    )


_LEFT_RUNNING = Failure(
    type="WorkerDied",
    message="its run left it running: the process ended, or could not write what came of it",
)


def attempts_left_running(due: datetime, known: int, until: int) -> Iterable[FailedAttempt]:
    """The attempts after `known` and before `until`, whose outcomes were not written."""
    for number in range(max(known + 1, until - _REMEMBERED), until):
        yield in_short(_LEFT_RUNNING, due, number)


def latest(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    return tuple(attempts)[-_REMEMBERED:]


def bounded_attempts(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    """The last attempts, each no longer than a task keeps it: another version may have kept more."""
    return tuple(replace(one, **_short(one.type, one.message)) for one in latest(attempts))


def _short(type: str, message: str) -> dict[str, str]:
    return {
        "type": _beginning(type[:_TYPE], _TYPE_BYTES),
        "message": _beginning(message[:_MESSAGE], _MESSAGE_BYTES),
    }


def _beginning(text: str, most: int) -> str:
    """As many of the text's characters as take no more bytes than this within JSON."""
    text = text[:most].encode(errors="replace").decode()  # half of a surrogate pair has no UTF-8
    while (excess := len(msgspec.json.encode(text)) - len('""') - most) > 0:
        text = text[: len(text) - math.ceil(excess / _MOST_OF_ONE)]
    return text
