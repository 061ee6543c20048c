"""Lines of JSON as tasks to add: each an object with the arguments of `Editor.add`."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from duebell_editor import NewTask
from duebell_shared.errors import InvalidTask
from duebell_shared.payloads.payload import MAX_LEVELS, read_json
from duebell_shared.queue.item_size import check_size
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import fields_of_json
from duebell_shared.tasks.new_task import new_task

from .parsing import instant

__all__ = ["Line", "Reader"]


class Line(NamedTuple):
    """One line: its number, and its task, or the error in it."""

    number: int
    task: NewTask | InvalidTask

    @property
    def id(self) -> str | None:
        """The id that the line gives, if any."""
        return None if isinstance(self.task, InvalidTask) else self.task.get("id")

    def checked(self, now: datetime) -> "Line":
        """This line, or with the error that the library would raise at this time."""
        try:
            if not isinstance(self.task, InvalidTask):
                check_size(new_task(**self.task, now=now))
        except InvalidTask as error:
            return self._replace(task=error)
        return self


class Reader:
    """Reads lines in chunks, with the checks of the library. Remembers only ids, to find duplicates.

    Times without an offset are in `zone`. If there is an `id_prefix`, a task without an id gets it and its
    line number.
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
        self._lines: dict[int, int] = {}  # by the id's hash, which is shorter; a false match is unlikely
        self._number = 0
        self.without_id = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Line]:
        """Read the next lines; empty ones are left out."""
        for line in lines:
            self._number += 1
            text = line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line
            if text.strip():
                yield Line(self._number, self._task(text))

    def _task(self, text: bytes) -> NewTask | InvalidTask:
        number = self._number
        try:
            given = _object(text)
            if given.get("id") is None and self._id_prefix is not None:
                given["id"] = f"{self._id_prefix}{number}"
            task = fields_of_json(NewTask, given, instant=self._instant)
            check_size(new_task(**task, now=self._clock()))
        except InvalidTask as error:
            return error
        if (id := task.get("id")) is None:
            self.without_id += 1
        elif (first := self._lines.setdefault(hash(id), number)) != number:
            return InvalidTask("id", f"{quoted(id)} is the id of line {first} too")
        return task

    def _instant(self, field: str, given: object) -> datetime:
        try:
            where = f"line {self._number}: {field}"
            return instant(str(given), self._zone, lambda why: self._warn(f"{where}: {why}"))
        except ValueError as error:
            raise InvalidTask(field, str(error)) from None


def _object(line: bytes) -> dict[str, object]:
    try:
        given = read_json(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidTask("", f"is not UTF-8: byte {error.start + 1} is wrong") from None
    except RecursionError:
        raise InvalidTask("", f"is nested too deeply: a payload has {MAX_LEVELS} levels at most") from None
    except ValueError as error:
        raise InvalidTask("", f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidTask("", "must be an object with the arguments of a task")
    return given
