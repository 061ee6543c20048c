"""Taking a whole queue elsewhere: out as JSON lines, one task each, and in again, as often as it takes."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from duebell_shared.add_report import AddFailure
from duebell_shared.errors import InvalidTask
from duebell_shared.past_index import Past
from duebell_shared.store import Failed, Inserted, Taken
from duebell_shared.task import Task

from .exported import read_line
from .many import write_all
from .reading import Queue
from .taken import leave_all

__all__ = ["ImportReport", "export_tasks", "read_chunks", "write_chunk"]

#: The kinds of tasks outside the queue.
_OTHERS = tuple(kind for kind in Past if kind.has_time)

#: Tasks written side by side before the next lines are read.
_CHUNK = 1_000


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did: how many tasks it wrote, how many ids were there already, and what failed."""

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
        """The report, with these tasks among those that failed, not those that were written."""
        more = tuple(failures)
        return msgspec.structs.replace(self, written=self.written - len(more), failures=self.failures + more)


def export_tasks(queue: Queue) -> Iterator[bytes]:
    """Each task as one line of JSON, read as it is consumed; of history what is listed and has not expired.

    What changes meanwhile may be in it as it was or as it is, or both, or not at all if it ended just now:
    stop editors and the rule for an exact copy.
    """
    for lane in range(queue.lanes_now()):
        queued, past = queue.store.queued(lane), (queue.store.past(lane, kind) for kind in _OTHERS)
        for _, task in queue.tasks_at(itertools.chain(queued, *past)):
            yield msgspec.json.encode(task)


def read_chunks(lines: Iterable[bytes | str]) -> Iterator[list[Task]]:
    """The tasks of these lines, some at a time. Raises InvalidTask at a line that is none."""
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
    """Write the tasks, but for ids that are there already. Also returned: those written, and those there."""
    stored, done = write_all(tasks, insert, leave_all)
    count = len(done.there_already)  # an id that is in it twice is there the second time
    report = ImportReport(written=len(stored) - count, there=count, failures=done.failures)
    there = frozenset(done.there_already)
    written = [task for task in stored if task.id not in there]
    return report, written, [task for task in stored if task.id in there]
