"""Lines of JSON as tasks to add: each an object with the arguments of `Editor.add`."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from duebell_editor import NewTask
from duebell_shared.errors import InvalidTask
from duebell_shared.payload import MAX_LEVELS
from duebell_shared.quoting import quoted, shortened

from .times import instant

__all__ = ["Line", "Reader", "checked"]

_TIMES = {"due", "start", "end"}
_DURATIONS = {"in", "spread", "expires_after"}


class Line(NamedTuple):
    """One line: its number, and the task that it is, or why it is none."""

    number: int
    task: NewTask | InvalidTask

    @property
    def id(self) -> str | None:
        """The id it gives, as far as it gives one."""
        return self.task.id if isinstance(self.task, NewTask) else None


class Reader:
    """Reads lines, some at a time: only ids are remembered, to notice one that comes twice.

    Times without an offset are in `zone`; what has no id gets one of `id_prefix` and its line, if there is
    such a prefix. Each is checked as the library would, so that what is read can be written.
    """

    def __init__(
        self,
        zone: ZoneInfo | None,
        id_prefix: str | None,
        clock: Callable[[], datetime],
        *,
        warn: Callable[[str], None],
    ) -> None:
        self._zone = zone
        self._id_prefix = id_prefix
        self._clock = clock
        self._warn = warn
        self._lines: dict[int, int] = {}  # of each id's hash; equal ones of other ids are one in 10 billions
        self._number = 0
        self.without_id = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Line]:
        """Those of the next lines that are not empty."""
        for line in lines:
            self._number += 1
            text = line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line
            if text.strip():
                yield Line(self._number, self._read(self._number, text))

    def _read(self, number: int, line: bytes) -> NewTask | InvalidTask:
        try:
            given = _object(line)
            if given.get("id") is None and self._id_prefix is not None:
                given["id"] = f"{self._id_prefix}{number}"
            task = _task(given, self._zone, lambda why: self._warn(f"line {number}: {why}"))
            task.task(self._clock())
            if task.id is None:
                self.without_id += 1
            elif (first := self._lines.setdefault(hash(task.id), number)) != number:
                return InvalidTask("id", f"{quoted(task.id)} is the id of line {first} too")
        except InvalidTask as error:
            return error
        return task


def checked(task: NewTask | InvalidTask, now: datetime) -> NewTask | InvalidTask:
    """The task, if the library would add it at this time; else why not."""
    try:
        if isinstance(task, NewTask):
            task.task(now)
    except InvalidTask as error:
        return error
    return task


def _object(line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidTask("", f"is not UTF-8: byte {error.start + 1} is wrong") from None
    except RecursionError:
        raise InvalidTask("", f"is nested too deeply: a payload has {MAX_LEVELS} levels at most") from None
    except ValueError as error:
        raise InvalidTask("", f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidTask("", "must be an object with the arguments of a task")
    return given


def _task(given: dict[str, Any], zone: ZoneInfo | None, warn: Callable[[str], None]) -> NewTask:
    fields = {name: _value(name, value, zone, warn) for name, value in given.items()}
    if "in" in fields and "due" in fields:
        raise InvalidTask("in", "goes without a due date")
    if "in" in fields:
        fields["due"] = fields.pop("in")
    known = NewTask.__struct_fields__
    if unknown := [name for name in fields if name not in known]:
        raise InvalidTask(
            shortened(unknown[0]), f"is not a field of a task; those are {', '.join(known)}, and in"
        )
    if not isinstance(fields.get("action"), str):
        raise InvalidTask("action", "is missing, or is not text")
    return NewTask(**fields)


def _value(name: str, value: Any, zone: ZoneInfo | None, warn: Callable[[str], None]) -> Any:
    if value is None or name not in _TIMES | _DURATIONS:
        return value
    if name in _DURATIONS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidTask(name, f"must be a number of seconds, not {quoted(value)}")
        try:
            return timedelta(seconds=value)
        except (OverflowError, ValueError):
            raise InvalidTask(name, f"{shortened(value)} seconds are too many") from None
    if not isinstance(value, str):
        raise InvalidTask(
            name, f"{quoted(value)} is not an ISO-8601 date and time, such as 2026-12-31T09:00Z"
        )
    try:
        return instant(value, zone, lambda why: warn(f"{name}: {why}"))
    except ValueError as error:
        raise InvalidTask(name, str(error)) from None
