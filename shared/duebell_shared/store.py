"""What the queue can do: the contract that the DynamoDB table keeps, in the words of the domain.

Every change is conditional; nothing is ever overwritten blindly. All reads are strongly consistent, but for
those of the past; none is a Scan, and none reads a lane through. Every verb may raise NotDeployed, AwsRefused
and AwsUnavailable; after AwsUnavailable a change may or may not have been made.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from .arming import ArmingRecord
from .errors import DuebellError
from .instants import NEVER
from .past import Past, PastKey
from .task import QueueKey, Status, Task

__all__ = ["AT_ONCE", "Store"]

#: As many tasks can be written at once.
AT_ONCE = 25


class Store(Protocol):
    """The queue: tasks by lane and id, an index of those that wait, and the arming record."""

    def read_record(self) -> ArmingRecord | None:
        """The arming record; None if there is none yet, one without lanes if it cannot be read."""

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        """Write `new` with the next `rev` and return it as stored.

        Eligible: the stored record has `old.rev`; or `old` is None and none is stored. Else None.
        """

    def insert(self, task: Task) -> bool:
        """Write a new task.

        Eligible: no task with this id is stored, or only history that has expired at `task.created_at`.
        Raises QueueFull when the lane holds as much as it may.
        """

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        """Write new tasks, one to AT_ONCE and of different ids, each whatever becomes of the others.

        What became of each, in order: as `insert` returns it, or the error that it would raise. Raises none.
        """

    def save(self, old: Task, new: Task | None) -> bool:
        """Write what differs between `old` and `new`, `rev` included; or delete it, when `new` is None.

        Eligible: the stored `rev` and `created_at` are those of `old`. After a deletion another task may take
        the id, and come to the same `rev`.
        """

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        """Write one to AT_ONCE changes, each as `save` does, whatever becomes of the others.

        What became of each, in order: as `save` returns it, or the error that it would raise. Raises none.
        """

    def get(self, lane: int, id: str) -> Task | None:
        """One task; None if there is none."""

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        """Those of these tasks that are stored, by id."""

    def relocate(self, keys: Sequence[QueueKey], *, lanes: int, now: datetime) -> list[bool | DuebellError]:
        """Move tasks, one to AT_ONCE, each in one step, to the lanes that their ids have among so many lanes.

        Eligible: the task is stored where its key says, and does not change meanwhile; its new place is free,
        or holds history that has expired by `now`. It is moved as it is stored, `rev` included, readable or
        not. Nothing is looked at of a key but `lane` and `id`; the new lane must be another one.

        What became of each, in order: whether it was moved, or an error. Raises none.
        """

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        """Start an attempt (running, `attempt` + 1, `started_at`, `run`, `lateness_ms`); return the task so.

        Eligible: it has this `status` (scheduled; or running, when the run that started it is gone) and is
        queued for exactly this moment. Else None.
        """

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        """Start one to AT_ONCE attempts, each as `claim` does, whatever becomes of the others.

        What became of each, in order: as `claim` returns it, or the error that it would raise. Raises none.
        """

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

        Those of the same moment come in an order of the lane's own, which does not change. `after` a key come
        those behind its place, and `before` one those ahead of it, whether it is still there or not; `before`
        is a key only with the latest first. Read page by page, as it is consumed: `page_size` keys at
        first, then more at a time.
        """

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
    ) -> Iterator[PastKey]:
        """The tasks of a lane with this behind them, in order of when they ended; as `queued` does otherwise.

        Those that are paused come in order of `due`, and those that recur in an order of the lane's own. Read
        *eventually* consistently: what ended within the last second may be missing, and a task that is no
        longer so may be there. Raises NotDeployed where the table has no `past-index`.
        """

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        """How many tasks of the lane wait or run from `after` to `before`, both included, up to `most`.

        The tasks that `queued` gives, counted where they are: no key is sent.
        """

    def count_past(self, lane: int, kind: Past, *, most: int) -> int:
        """Count the tasks that `past` gives, up to `most`. Raises NotDeployed likewise."""

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        """The earliest `queued` in the lane, but for these; NEVER if none waits."""

    def lane_sizes(self) -> dict[int, int]:
        """Bytes that lanes hold, at most, of those written to since this was asked the last time.

        DynamoDB says it in steps of a gigabyte, and a lane holds ten. From the first time that this is
        asked on, the first write to each lane after it may go alone, to be answered. Empty where nothing is
        known.
        """
