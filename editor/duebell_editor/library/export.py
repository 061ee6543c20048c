"""Export of a whole queue as JSON lines, one task each, and import, which can be repeated."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from duebell_editor.listing.queue import Queue
from duebell_shared.errors import InvalidTask
from duebell_shared.instants import to_json
from duebell_shared.queue.past_index import Past, PastKey
from duebell_shared.queue.store import Failed, Inserted, Taken
from duebell_shared.tasks.add_report import AddFailure
from duebell_shared.tasks.task import Status, Task

from .batches import write_all
from .export_lines import read_line
from .taken_ids import leave_all

__all__ = ["ImportReport", "export_tasks", "read_chunks", "write_chunk"]

#: The kinds of tasks outside the queue that are exported.
_PAST = tuple(kind for kind in Past if kind.has_time)

#: Tasks that are read and written at a time.
_CHUNK = 1_000


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import: the numbers of tasks written and of ids that existed, and the failures."""

    written: int
    there: int
    failures: tuple[AddFailure, ...] = ()

    def __add__(self, other: "ImportReport") -> "ImportReport":
        return ImportReport(
            written=self.written + other.written,
            there=self.there + other.there,
            failures=self.failures + other.failures,
        )

    def corrected(self, failures: Iterable[AddFailure]) -> "ImportReport":
        """The report, with these tasks counted as failed instead of written."""
        more = tuple(failures)
        return msgspec.structs.replace(self, written=self.written - len(more), failures=self.failures + more)


def export_tasks(queue: Queue) -> Iterator[bytes]:
    """Each task as one line of JSON, read as it is consumed; history that has expired is left out.

    So are reserved tasks: their transactions cannot confirm them in another queue.
    A task that changes meanwhile may be exported as it was, as it is, or both; one that ends may be missed.
    For an exact copy, stop editors and the rule.
    """
    for lane in range(queue.lanes_now()):
        queued, past = queue.store.queued(lane), (queue.store.past(lane, kind) for kind in _PAST)
        for key, task in queue.tasks_at(itertools.chain(queued, *past)):
            is_twice = isinstance(key, PastKey) and task.owes is not None  # it is in the queue as well
            if task.status is not Status.RESERVED and not is_twice:
                yield to_json(task).encode()


def read_chunks(lines: Iterable[bytes | str]) -> Iterator[list[Task]]:
    """The tasks of these lines, in chunks. Raises InvalidTask at a wrong line, after the tasks before it."""
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidTask("lines", f"must be lines, such as an open file, not {type(lines).__name__}")
    chunk: list[Task] = []
    try:
        for number, line in enumerate(lines, start=1):
            if (task := read_line(number, line)) is not None:
                chunk.append(task)
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
    except InvalidTask:
        yield chunk
        raise
    yield chunk


def write_chunk(
    tasks: list[Task], insert: Callable[[Sequence[Task]], list[Inserted | Taken | Failed]]
) -> tuple[ImportReport, list[Task], list[Task]]:
    """Write the tasks whose ids are free. Returns a report, the tasks written, and those whose ids exist."""
    stored, done = write_all(tasks, insert, leave_all)
    count = len(done.there_already)  # of two tasks with one id, the second counts as there
    report = ImportReport(written=len(stored) - count, there=count, failures=done.failures)
    there = frozenset(done.there_already)
    written = [task for task in stored if task.id not in there]
    return report, written, [task for task in stored if task.id in there]
