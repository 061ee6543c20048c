"""Why attempts failed: the last one in full, and those before it in short. Values and pure functions only."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

__all__ = ["FailedAttempt", "Failure", "attempts_left_running", "in_short", "latest"]

#: The failed attempts that a task remembers.
_REMEMBERED = 10

_MOST_WORDS = 300

#: What is kept of an error's type and message, in characters: ten of these must fit beside the largest
#: payload, and a character takes up to six bytes.
_TYPE, _MESSAGE = 80, 200


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed: the exception's type, its message and the end of its traceback."""

    type: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"[:_MOST_WORDS]


class FailedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that failed, in short. Times are UTC.

    due          when its occurrence was due: the task's own due date, unless it recurs
    attempt      which one it was, the first being 1
    started_at   when it was started; None if its run left it running, for the next start has taken its place
    finished_at  when it failed; None if its run left it running
    type         the type of the error, its first 80 characters; WorkerDied if its run left it running
    message      the error's message, its first 200 characters
    """

    due: datetime
    attempt: int
    started_at: datetime | None = None
    finished_at: datetime | None = None
    type: str
    message: str


def in_short(
    failure: Failure,
    due: datetime,
    attempt: int,
    started_at: datetime | None = None,
    finished_at: datetime | None = None,
) -> FailedAttempt:
    """The attempt that ended with this failure."""
    return FailedAttempt(
        due=due,
        attempt=attempt,
        started_at=started_at,
        finished_at=finished_at,
        type=failure.type[:_TYPE],
        message=failure.message[:_MESSAGE],
    )


_LEFT_RUNNING = Failure(
    type="WorkerDied",
    message="its run left it running: the process ended, or could not write what came of it",
)


def attempts_left_running(due: datetime, known: int, until: int) -> Iterable[FailedAttempt]:
    """Those after the attempt `known` and before `until`: no outcome of them was written."""
    for number in range(max(known + 1, until - _REMEMBERED), until):
        yield in_short(_LEFT_RUNNING, due, number)


def latest(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    """As many of them as a task remembers, the last."""
    return tuple(attempts)[-_REMEMBERED:]
