"""The queue over all of its lanes: reads tasks, except expired history, and adds tasks.

An add applies its policy if the id is taken, and sets the rule for the tasks that were just written.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, NamedTuple, Self, TypeVar

from msgspec.structs import replace

from duebell_shared.audit import Audit, verb_of_add
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import LanesChanged
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import (
    AwsError,
    DuebellError,
    InvalidTask,
    NotArmed,
    NotDeployed,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.instants import NEVER
from duebell_shared.parallel import result_or_error
from duebell_shared.queue.calls import KEYS_AT_ONCE
from duebell_shared.queue.places import PastKey, key_of, lane_of, places_of
from duebell_shared.queue.store import drop_stray_copy
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import IfExists, checked
from duebell_shared.tasks.recurrence import delay_of, delayed
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key

_T = TypeVar("_T")

_K = TypeVar("_K", bound=QueueKey | PastKey)

#: Errors of an add whose id is taken, perhaps by an earlier call of the same add.
TAKEN = (TaskExists, TaskConflict)


class Queue:
    """Reads what a backend's store holds. All reads are strongly consistent, and none is a Scan."""

    def __init__(self, backend: Backend) -> None:
        self.store = backend.store
        self.clock = backend.clock
        self.parallel = backend.parallel
        self._armer = backend.armer
        self._backend = backend

    @cached_property
    def audit(self) -> Audit:
        return self._backend.audit

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of lanes that tasks were placed by, the current one first; read once."""
        return self.record().counts

    def counts_now(self) -> tuple[int, ...]:
        """Read `counts` again."""
        counts = self.record().counts
        self.__dict__["counts"] = counts  # replaced, not deleted: other threads may be reading it
        return counts

    def forget_counts(self) -> None:
        """Have the next call read `counts` again."""
        self.__dict__.pop("counts", None)

    @property
    def lanes(self) -> int:
        """The number of lanes that tasks are placed by, as it was read last."""
        return self.counts[0]

    def lanes_now(self) -> int:
        return self.counts_now()[0]

    def lane_of(self, id: str) -> int:
        """The lane that a new task with this id is put in."""
        return places_of(id, self.counts)[0]

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids that exist; expired history counts as deleted."""
        ids = list(ids)
        counts = self.counts if ids else ()
        found = self._first_found({id: _places(id, counts) for id in ids}, self.clock())
        if len(found) < len(ids) and (counts_now := self.counts_now()) != counts:
            left = (id for id in ids if id not in found)
            found |= self._first_found({id: _places(id, counts_now) for id in left}, self.clock())
        return found

    def placed_before(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids that are in their earlier lanes, by earlier numbers of lanes."""
        counts = self.counts
        if not counts[1:]:
            return {}
        return self._first_found({id: self.places_before(id) for id in ids}, self.clock())

    def places_before(self, id: str) -> list[int]:
        """The lanes of this id by earlier numbers of lanes, without its present lane."""
        return places_of(id, self.counts)[1:]

    def record(self) -> ArmingRecord:
        return self._armer.read()

    def get(self, id: str, *, now: datetime | None = None) -> Task | None:
        counts = self.counts
        task = self._find(id, counts, now)
        if task is None and (counts_now := self.counts_now()) != counts:
            task = self._find(id, counts_now, now)
        return task

    def _find(self, id: str, counts: Sequence[int], now: datetime | None) -> Task | None:
        there = (self.store.get(lane, id) for lane in _places(id, counts))
        found = (task for task in there if task and not task.has_expired(now or self.clock()))
        return next(map(self.known, found), None)

    def known(self, task: Task) -> Task:
        """The task; its schedule is given its calendar, if it has one."""
        self._backend.attach_calendar(task)
        return task

    def _first_found(self, places: Mapping[str, Sequence[int]], now: datetime) -> dict[str, Task]:
        found: dict[str, Task] = {}
        for index in range(max(map(len, places.values()), default=0)):
            left = [id for id, lanes in places.items() if id not in found and len(lanes) > index]
            keys = (QueueKey(queued=NEVER, id=id, lane=places[id][index]) for id in left)
            while some := list(itertools.islice(keys, KEYS_AT_ONCE)):
                there = self.store.get_many(some)
                found |= {id: self.known(task) for id, task in there.items() if not task.has_expired(now)}
        return found

    def tasks_at(self, keys: Iterable[QueueKey | PastKey]) -> Iterator[tuple[QueueKey | PastKey, Task]]:
        """The tasks that still have these keys, each with its key; read in batches."""
        for key, task in self.tasks_of(keys):
            if task.queued == key.queued if isinstance(key, QueueKey) else key_of(task) == key:
                yield key, task

    def tasks_of(self, keys: Iterable[_K]) -> Iterator[tuple[_K, Task]]:
        """The tasks that had these keys when they were read, each with its key; read in batches."""
        to_come = iter(keys)
        while some := list(itertools.islice(to_come, KEYS_AT_ONCE)):
            found = self.store.get_many([QueueKey(queued=NEVER, id=key.id, lane=key.lane) for key in some])
            now = self.clock()
            for key in some:
                task = found.get(key.id)
                if task and not task.has_expired(now):
                    yield key, self.known(task)


def _places(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes to read for a task: the current one, the earlier ones, and the current one again.

    The last read finds a task that a relaner moved between the first two.
    """
    places = places_of(id, counts)
    return [*places, places[0]] if places[1:] else places


def evenly(several: Sequence[_T], most: int) -> list[_T]:
    """At most this many of several, evenly spaced."""
    count = min(len(several), max(most, 0))
    return [several[number * len(several) // count] for number in range(count)]


#: The statuses of a task that has not begun: a push keeps the time of its first add.
_WAITING = frozenset({Status.SCHEDULED, Status.PAUSED})

_UNENDED = _WAITING | {Status.RUNNING}

#: Tries of a change to a task that others keep changing.
TRIES = 5


class Added(NamedTuple):
    """The outcome of adding a task.

    task     the task as it is stored
    outcome  added: it is new. With the other outcomes, the id was taken. kept: the task that was there stays.
             replaced: it was replaced. pushed: it waits until the new due date, or was replaced
    """

    task: Task
    outcome: Literal["added", "kept", "replaced", "pushed"]


class Policy(NamedTuple):
    """The policy for an add whose id is taken; `of` checks and makes it.

    max_wait  the longest time from a task's first add to which pushes may delay it; None for no limit
    rev       the rev that a task must have to be replaced; None for any
    """

    if_exists: IfExists = IfExists.FAIL
    max_wait: timedelta | None = None
    rev: int | None = None

    @classmethod
    def of(cls, if_exists: object, max_wait: object = None, rev: object = None) -> Self:
        """The policy of these arguments of `Editor.add`. Raises InvalidTask."""
        policy = checked("if_exists", if_exists)
        if max_wait is not None and policy is not IfExists.PUSH:
            raise InvalidTask("max_wait", "is only for pushes: set if_exists to push")
        if rev is not None and policy is not IfExists.REPLACE:
            raise InvalidTask("rev", "is only for replacements: set if_exists to replace")
        limit = None if max_wait is None else checked("max_wait", max_wait)
        return cls(policy, limit, None if rev is None else checked("rev", rev))

    def first(self, new: Task, *, is_generated: bool) -> Task:
        """The task as it is added if its id is free. Raises InvalidTask if it cannot be added so."""
        if new.batch is not None and self.if_exists not in (IfExists.FAIL, IfExists.KEEP):
            given = quoted(self.if_exists.value)
            raise InvalidTask("if_exists", f"is 'fail' or 'keep' for a task of a batch, not {given}")
        if self.if_exists is not IfExists.PUSH:
            return new
        if is_generated:
            raise InvalidTask("id", "is missing: a push needs one, by which the waiting task is found")
        check_not_recurring(new.recurrence)
        if self.max_wait is None or new.due <= (limit := new.created_at + self.max_wait):
            return new
        return replace(new, due=limit, queued=delayed(limit, delay_of(new.id, new.spread)))


def check_not_recurring(schedule: object) -> None:
    """Raise InvalidTask if there is a schedule: no recurring task can be added with `if_exists="push"`."""
    if schedule:
        raise InvalidTask("schedule", "a recurring task cannot be pushed: choose another if_exists")


def insert_many(queue: Queue, tasks: Sequence[Task], chosen: Collection[str]) -> list[bool | DuebellError]:
    """Do `Store.insert_many`, and refuse also a chosen id that is taken in an earlier lane of the id.

    The earlier lanes are read first: a relaner moves tasks from these to the present lane.
    """
    try:
        elsewhere = queue.placed_before(task.id for task in tasks if task.id in chosen)
    except DuebellError as error:
        return [error] * len(tasks)
    free = [task for task in tasks if task.id not in elsewhere]
    inserted = iter(queue.store.insert_many(free) if free else ())
    return [False if task.id in elsewhere else next(inserted) for task in tasks]


def is_same_add(there: Task, new: Task) -> bool:
    """Tell whether the stored task `there` comes from the same call as `new`."""
    return (there.created_at, there.action) == (new.created_at, new.action)


def settle(queue: Queue, task: Task, policy: Policy) -> Added:
    """Apply the policy to a new task whose id is taken. Tells which task is stored in the end.

    A new reservation replaces another one, whose transaction can then no longer confirm its task. Raises
    TaskExists, TaskChanged, TaskConflict; TaskNotFound if a rev is given and the task is gone.
    """
    if_exists, max_wait, rev = policy
    takes_over = task.status is Status.RESERVED
    if if_exists is IfExists.FAIL and not takes_over:
        raise TaskExists(task.id)
    for _ in range(TRIES):
        there = queue.get(task.id, now=task.created_at)
        if there and takes_over and there.status is not Status.RESERVED:
            way_out = "or change that task in the transaction: `tx.update` or `tx.move`"
            raise TaskExists(task.id, way_out=way_out)
        if there and if_exists is IfExists.KEEP:
            return Added(_kept(there), "kept")
        if rev is not None and (there is None or there.rev != rev):
            raise TaskChanged(task.id, expected=rev, rev=there.rev) if there else TaskNotFound(task.id)
        if there:
            there.check_can_be_replaced()
            replacement = replace(task, rev=there.rev + 1, lane=there.lane)
            if if_exists is IfExists.PUSH:
                replacement = pushed(there, replacement, max_wait)
            if queue.store.save(there, replacement):
                queue.audit.changed("reserve" if takes_over else if_exists.value, (there, replacement))
                return Added(replacement, "pushed" if if_exists is IfExists.PUSH else "replaced")
        elif queue.store.insert(task):
            queue.audit.changed(verb_of_add(task), (None, task))
            return Added(task, "added")
    raise kept_changing(task.id)


def settle_all(queue: Queue, tasks: Sequence[Task], policy: Policy) -> list[Task | DuebellError]:
    """`settle` each of these tasks, which have different ids: the task stored in the end, or the error."""
    try:
        there = queue.get_many(task.id for task in tasks) if policy.if_exists is IfExists.KEEP else {}
    except DuebellError as error:
        return [error] * len(tasks)

    def stored(task: Task) -> Task:
        return _kept(there[task.id]) if task.id in there else settle(queue, task, policy).task

    return [result_or_error(stored, task) for task in tasks]


def _kept(there: Task) -> Task:
    """The stored task. Raises TaskExists for a reserved one: it may never be confirmed."""
    if there.status is Status.RESERVED:
        raise TaskExists(there.id, reserved_until=there.reserved_until)
    return there


def pushed(there: Task, new: Task, max_wait: timedelta | None) -> Task:
    """The task to store when `new` is added with `if_exists="push"` in place of `there`, which has its id.

    A waiting task is due `max_wait` after its first add at the latest; `created_at` keeps the time of that
    add. If that time has passed, the task keeps its place, so that pushes cannot delay it. A paused task
    stays paused. `new` replaces a task that runs or has ended: a running attempt may not know of this push,
    and its outcome no longer applies.

    Raises TaskConflict if a recurring task has the id.
    """
    if there.recurrence and there.status in _UNENDED:
        raise TaskConflict(f"cannot push task {quoted(there.id)}: it recurs. Choose another id, or cancel it")
    if there.status not in _WAITING:
        return new
    now = new.created_at
    due, queued, limited_since = new.due, new.queued, None
    if max_wait is not None and due > (limit := there.created_at + max_wait):
        if limit > now:
            due, queued = limit, delayed(limit, delay_of(new.id, new.spread))
        elif there.limited_since and there.action == new.action:
            due, queued, limited_since = min(there.due, now), there.queued, there.limited_since
        else:
            due, queued = min(there.due, now), min(there.queued or now, now)
    is_paused = there.status is Status.PAUSED
    return replace(
        new,
        created_at=there.created_at,
        due=due,
        status=there.status,
        queued=None if is_paused else queued,
        limited_since=limited_since,
    )


def kept_changing(id: str) -> TaskConflict:
    """The error after TRIES tries, each of which lost against another change."""
    return TaskConflict(f"task {quoted(id)} kept changing while this was tried: look at it and try again")


def not_armed_for(stored: str, error: DuebellError, *, task: Task | None = None) -> NotArmed:
    """The error for a stored change, such as `the limit is stored`, if arming failed with `error`."""
    why, way_out = (error.what, error.way_out) if isinstance(error, NotArmed) else (str(error), "")
    return NotArmed(f"{stored}, but {why}", way_out=way_out, task=task)


class RuleSetter:
    """Adds tasks, and makes the rule ring for stored ones. Raises NotArmed when that is not confirmed."""

    def __init__(self, backend: Backend, queue: Queue) -> None:
        self._backend = backend
        self._queue = queue

    def add(self, task: Task, policy: Policy, *, is_generated: bool = False, is_again: bool = False) -> Added:
        """Insert a checked task into its lane, and arm.

        `is_again`: it was inserted before, and deleted because another task has its id by now.
        """
        queue = self._queue
        while True:
            lanes = queue.lanes  # not before the checks: the first read creates the arming record
            new = replace(task, lane=lane_of(task.id, lanes))
            if is_again and (there := queue.get(new.id)) and is_same_add(there, new):
                # The stored task comes from this very call: an earlier write took effect late.
                self.arm([there])
                return Added(there, "added")
            elsewhere = None if is_generated else queue.placed_before([new.id]).get(new.id)
            if policy.rev is None and not elsewhere and queue.store.insert(new):
                queue.audit.changed(verb_of_add(new), (None, new))
                added = Added(new, "added")
            else:
                added = self._settle(new, policy)
                if (
                    elsewhere
                    and elsewhere.status in _WAITING
                    and elsewhere.lane != added.task.lane
                    and added.outcome != "kept"
                ):
                    self._drop_if_stray_copy(elsewhere)  # a call that failed may have changed it
            if added.task is not new:
                # A late write of an earlier call may have put a stray copy into an earlier lane, which this
                # call has found or changed. So the number of lanes is checked. For a waiting task this costs
                # nothing. A blocked or reserved task needs it, as no run deletes its copy.
                is_checked = added.task.queued or added.task.status in {Status.BLOCKED, Status.RESERVED}
                try:
                    self.arm([added.task], lanes=lanes if is_checked else None)
                except LanesChanged:
                    queue.forget_counts()
                    if added.outcome == "kept" or self._drop_if_stray_copy(added.task):
                        continue
                    self.arm([added.task])
                return added
            if not self.arm_added([new], lanes):
                is_same = queue.lanes == lanes
                return added if is_same else Added(queue.get(new.id) or new, "added")
            is_again = True

    def arm(self, tasks: Collection[Task], *, lanes: int | None = None) -> None:
        """Make the rule ring for those of these tasks that are in the queue.

        `lanes` is the number of lanes that they were placed by. Raises LanesChanged if there are more by now.
        """
        dues: dict[int, datetime] = {}
        waiting = [(task.lane, task.queued, task.id) for task in tasks if task.queued]
        for lane, queued, _ in waiting:
            dues[lane] = min(queued, dues.get(lane, queued))
        if not dues:
            if lanes and tasks and self._queue.lanes_now() != lanes:
                raise LanesChanged
            return
        try:
            record = self._backend.armer.lower(dues, lanes=lanes)
        except (AwsError, NotArmed, NotDeployed) as error:
            self._queue.forget_counts()  # the tasks may be in lanes that the queue had earlier
            what = f"task {quoted(waiting[0][2])} is" if len(waiting) == 1 else f"{len(waiting):,} tasks are"
            task = next(iter(tasks)) if len(tasks) == 1 else None
            raise not_armed_for(f"{what} stored", error, task=task) from error
        self._backend.armer.start_run_if_late(record)

    def arm_added(self, tasks: Sequence[Task], lanes: int) -> Sequence[Task]:
        """`arm` for tasks that were just inserted; `lanes` is the number of lanes that they were placed by.

        If the queue was given more lanes meanwhile, each moves to the lane of its id. A task whose id is
        taken there is deleted. Returns the deleted ones.
        """
        deleted: list[Task] = []
        while True:
            try:
                self.arm(tasks, lanes=lanes)
            except LanesChanged:
                self._queue.forget_counts()
                self.arm(tasks)  # they are run where they are if this process ends now
                lanes = self._queue.lanes
                deleted += self._relocated(tasks, lanes)
                ids = {task.id for task in deleted}
                tasks = [replace(task, lane=lane_of(task.id, lanes)) for task in tasks if task.id not in ids]
            else:
                return deleted

    def arm_ids(self, ids: Collection[str]) -> None:
        """`arm` for the tasks with these ids that exist."""
        try:
            there = self._queue.get_many(ids).values()
        except AwsError as error:
            raise NotArmed(f"{len(ids):,} tasks were there before and could not be read: {error}") from error
        self.arm(there)

    def arm_after(self, conflict: DuebellError, tasks: Collection[Task]) -> None:
        """`arm` for stored tasks, after the call itself has failed with this conflict."""
        try:
            self.arm(tasks)
        except NotArmed as error:
            raise NotArmed(f"{conflict}; and {error.__cause__ or error.what}") from conflict

    def _settle(self, new: Task, policy: Policy) -> Added:
        try:
            return settle(self._queue, new, policy)
        except TAKEN as taken:
            # An unanswered earlier call may have stored this task, without setting the rule for it.
            there = self._queue.get_many([new.id])
            self.arm_after(taken, there.values())
            if new.id in there and there[new.id].status is Status.RESERVED:
                raise TaskExists(new.id, reserved_until=there[new.id].reserved_until) from taken
            raise

    def _relocated(self, tasks: Sequence[Task], lanes: int) -> Iterator[Task]:
        """Move new tasks to the lanes of their ids. Deletes and returns those whose ids are taken there."""
        misplaced = [task for task in tasks if lane_of(task.id, lanes) != task.lane]
        results = self._backend.parallel(lambda task: self._relocate(task, lanes), misplaced)
        for task, result in zip(misplaced, results, strict=True):
            if isinstance(result, DuebellError):
                what = f"task {quoted(task.id)} is stored, but perhaps in an earlier lane: {result}"
                raise NotArmed(what, way_out="add it again with if_exists='keep'", task=task) from result
            if not result:
                yield task

    def _drop_if_stray_copy(self, there: Task) -> bool:
        """Delete a task that this call changes or replaces if it is a stray copy; tell whether it was."""
        key, now = queue_key(there), self._backend.clock()
        return drop_stray_copy(self._backend.store, key, self._queue.lanes, now, rev=there.rev)

    def _relocate(self, task: Task, lanes: int) -> bool:
        """Move a new task to the lane of its id; False if it is deleted, as another task has that id there.

        A task that was run or changed meanwhile stays.
        """
        store, key, now = self._backend.store, queue_key(task), self._backend.clock()
        [result] = store.relocate([key], lanes=lanes, now=now, only_new=True)
        if isinstance(result, DuebellError):
            raise result
        if result:
            return True
        if drop_stray_copy(store, key, lanes, now):
            return False
        there, other = store.get(task.lane, task.id), store.get(lane_of(task.id, lanes), task.id)
        if there == task:
            raise TaskConflict("another transaction was under way")
        return there is not None or other is None or is_same_add(other, task)  # else a run has deleted it
