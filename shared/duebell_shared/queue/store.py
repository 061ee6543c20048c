"""The contract of the queue, kept by the DynamoDB table and by a store in memory.

Every change is conditional. All reads are strongly consistent, except those of the past, and those of a
record that ask for less. None is a Scan, and none reads a whole lane.

Every verb may raise NotDeployed, AwsRefused and AwsUnavailable; after AwsUnavailable a change may or may not
have been made. The verbs for many tasks take one to AT_ONCE, and raise nothing. They return a list in the
order of their arguments: each result, or the error that the verb for one task would raise.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import DuebellError
from duebell_shared.instants import NEVER
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .changes import TaskWrite, Transacted, UserWrite
from .places import Past, PastKey, lane_of
from .records import Record

_LOG = logging.getLogger("duebell.lanes")

#: Keys in one answer of DynamoDB at most.
LARGEST_PAGE = 3_200

#: The most tasks that are written at once.
AT_ONCE = 25


class Store(Protocol):
    """The queue: tasks by lane and id, an index of those that wait, and records such as the arming record."""

    def read_record(self) -> ArmingRecord | None:
        """The arming record; None if there is none yet, one without lanes if it cannot be read."""

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        """Write `new` with the next `rev` and return it as stored.

        Eligible: the stored record has `old.rev`; or `old` is None and none is stored. Else None.
        """

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        """The worker record, the limits that were set, the calendars, or the semaphore of the action `name`.

        None if there is none yet, an empty one if it cannot be read. Without `consistent`, the record may be
        a second old, and the read costs half as much.
        """

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        """Write such a record with the next `rev` and return it as stored, or None: as `swap_record` does."""

    def insert(self, task: Task) -> bool:
        """Write a new task.

        Eligible: no task with this id is stored, or only history that has expired at `task.created_at`.
        Raises QueueFull when the lane holds as much as it may.
        """

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        """Write new tasks of different ids, each as `insert` does."""

    def save(self, old: Task, new: Task | None) -> bool:
        """Write what differs between `old` and `new`, `rev` included; or delete it, when `new` is None.

        Eligible: the stored `rev` and `created_at` are those of `old`. After a deletion another task may take
        the id, and come to the same `rev`.
        """

    def delete(self, task: Task) -> bool:
        """Delete a task. Eligible: as for `save`. False if this call has deleted nothing.

        Raises AwsUnavailable if no task is there after an unanswered try: that try may have deleted it.
        """

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        """Write changes, each as `save` does."""

    def get(self, lane: int, id: str) -> Task | None:
        """One task; None if there is none."""

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        """The stored tasks that have these keys, by id."""

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        """The stored tasks of a lane, of any status, whose ids begin with `prefix`, in order of their UTF-8.

        Starts after the id `after`. Returns at most `most` tasks, and no more than one call reads: a
        megabyte. The second value is the last id that was read, or None when there are no more.
        """

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        """Move tasks, each in one step, to the lanes of their ids in a queue of `lanes`.

        Eligible: the task is stored where its key says, and does not change meanwhile. Its new place is free,
        or holds history that has expired by `now`. It is moved as it is stored, `rev` included, readable or
        not. With `only_new`, no run or editor has changed it since its add. Only `lane` and `id` of a key
        count; the new lane must be another one.
        """

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        """Start an attempt (running, `attempt` + 1, `started_at`, `run`, `lateness_ms`); return the task.

        Eligible: it has this `status` (scheduled; or running, when the run that started it is gone) and is
        queued for exactly this moment. Else None.
        """

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        """Start attempts, each as `claim` does."""

    def queued(
        self,
        lane: int,
        *,
        after: datetime | QueueKey | None = None,
        before: datetime | QueueKey = NEVER,
        latest_first: bool = False,
        page_size: int = 200,
    ) -> Iterator[QueueKey]:
        """The tasks that wait or run, in order of `queued`: from `after`, to `before`, both included.

        Tasks of the same moment come in an order of the lane's own, which does not change. A key as `after`
        or `before` is a bound that is not included; its task need not be there any more. `before` is a key
        only with the latest first. Keys are read page by page, as they are consumed: `page_size` keys at
        first, then more at a time.
        """

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        last: Past | None = None,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
        page_size: int = 200,
    ) -> Iterator[PastKey]:
        """The tasks of a lane of this kind, in order of their end; the other arguments are as in `queued`.

        `last` adds the kinds up to that one, in the order of their names. Paused tasks come in order of
        `due`, and recurring ones in an order of the lane's own. Read *eventually* consistently: a task that
        ended within the last second may be missing, and a task that has left this kind may be there.
        Raises NotDeployed where the table has no `past-index`.
        """

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        """Count the tasks of the lane that wait or run from `after` to `before`, both included, up to `most`.

        DynamoDB counts them itself: no key is sent.
        """

    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        """Count the tasks that `past` gives, up to `most`. Raises NotDeployed likewise."""

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        """The earliest `queued` in the lane, without the keys in `skipping`; NEVER if there is none."""

    def transact(self, writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
        """Make these writes, one to MOST_WRITES and of different items, all of them or none.

        Eligible: each task is as `save` needs it, and the condition of each other write holds. A transaction
        with a `token` that was committed within the last ten minutes is not made again, and its answer is
        the same. Raises AwsUnavailable when it is not known whether it is committed.
        """

    def note(self, changes: Sequence[tuple[str, bytes]], *, expires_at: datetime) -> None:
        """Store these texts, 25 at most, each with its partition key, until they expire."""

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        """The texts under this partition key, each with its sort key, the latest first, read as consumed.

        behind  go on after this sort key
        """

    def lane_sizes(self) -> dict[int, int]:
        """The sizes in bytes, rounded up, of the lanes written to since the last call, where known.

        DynamoDB gives them in steps of a gigabyte, and a lane holds ten. After each call, the first write to
        a lane may go alone, because only its answer has the size.
        """


def drop_stray_copy(store: Store, key: QueueKey, lanes: int, now: datetime, *, rev: int = 1) -> bool:
    """Delete the task with this key if it is a stray copy; tell whether it was. The queue has `lanes` lanes.

    A process that knew fewer lanes may insert a task after the queue was given more. It may end before it
    moves the task to the right lane. If another task takes the id there, the first one is a stray copy: no
    add has returned it. A task changed since its add is no stray copy: it has a higher `rev`. Raises what the
    store raises.
    """
    place = lane_of(key.id, lanes)
    if place == key.lane:
        return False
    there, other = store.get(key.lane, key.id), store.get(place, key.id)
    if there is None or other is None or other.has_expired(now):
        return False
    if there.rev > rev or not store.save(there, None):
        _LOG.warning("task %r is there twice: the one in lane %d is a task of its own", key.id, key.lane)
        return False
    _LOG.warning("task %r was inserted twice, and the copy that no add has returned is deleted", key.id)
    return True
