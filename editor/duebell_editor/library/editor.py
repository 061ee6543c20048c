"""The library that services embed: add tasks to the queue, look at them, change them."""

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from duebell_editor.listing.failures import Failures, read_failures
from duebell_editor.listing.filters import (
    FilterFields,
    check_choice,
    check_cursor,
    check_flag,
    check_ids,
    check_instant,
    check_limit,
    check_text,
    make_filter,
)
from duebell_editor.listing.history import PastTimeline, past_timeline
from duebell_editor.listing.listing import Page, find_tasks, list_tasks
from duebell_editor.listing.queue_counts import PastCounts, Snapshot, count_past, snapshot
from duebell_editor.listing.recurring import list_recurring
from duebell_editor.listing.timeline import Bucket, Step, timeline
from duebell_editor.status.action_limits import ActionLimit, read_limits
from duebell_editor.status.health import Diagnosis, SchedulerStatus
from duebell_editor.status.status import read_status
from duebell_editor.status.why import Why, explain
from duebell_editor.transactions.task_writes import GRACE, Reservation, TransactionItem
from duebell_editor.transactions.transaction import Transaction
from duebell_shared.audit import Changes
from duebell_shared.aws.sqs import DeadLetters
from duebell_shared.backend import Backend
from duebell_shared.errors import (
    AddReport,
    InvalidTask,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.instants import NEVER
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.changes import TaskWrite
from duebell_shared.queue.items import check_size, with_fitting_events
from duebell_shared.queue.task_queue import TRIES, Added, Policy, Queue, RuleSetter, kept_changing
from duebell_shared.quoting import quoted
from duebell_shared.schedules.schedule import Holidays, OnHoliday, Schedule, make_schedule
from duebell_shared.schedules.zones import zone_of
from duebell_shared.settings import Precision, Settings
from duebell_shared.tasks.checks import check_changed_by, check_name
from duebell_shared.tasks.fields import IfExists, NewTask, TaskChange, TaskFields, checked, fields_of
from duebell_shared.tasks.follow_up import Then
from duebell_shared.tasks.new_task import changed_task, check_change, new_task
from duebell_shared.tasks.status import Verb
from duebell_shared.tasks.task import IntakeMark, Task
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord

from .adder import Adder, check_all
from .backfill import BackfillReport, backfill
from .batches import Joiner, check_follow_up, members_of, new_batch
from .change_many import (
    MAX_MANY,
    ChangeReport,
    Selection,
    change_all,
    check_verb,
    filter_for,
    select_found,
)
from .export import ImportReport, export_tasks
from .known_worker import TaskChecker
from .limit_setter import set_limit

if TYPE_CHECKING:
    import boto3

    from duebell_editor.simulation.simulate import Simulation
    from duebell_editor.status.dead_letters import DeadLetter
    from duebell_shared.schedules.calendars import Calendar

    from .relane import Relaned
    from .sync import SyncReport


class Editor:
    """Adds tasks and changes them. Thread-safe; make one and keep it.

    Every method may raise AwsRefused, AwsUnavailable, NotDeployed and UnreadableTask. Methods that write may
    raise QueueFull. Methods that set a time return when the rule is confirmed to ring for it. They raise
    NotArmed when the change is stored, but the rule is not confirmed.

    Methods that change one task take the `rev` that it had when it was read. If it was changed since then,
    they change nothing and raise TaskChanged.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        session: "boto3.Session | None" = None,
        backend: Backend | None = None,
        changed_by: str | None = None,
    ) -> None:
        """Settings default to the environment's, the session to the AWS SDK's own. Makes no call to AWS.

        backend     used instead of both, for tests with a clock of their own
        changed_by  the author of this editor's changes, 1 to 128 printable characters, stored on each task
                    that it adds or changes; by default, the author in the settings

        Raises InvalidTask.
        """
        author = check_changed_by(changed_by)
        backend = backend or Backend.connect(settings or Settings.from_env(), session)
        self.changed_by = author or backend.settings.changed_by
        #: The mark of the intake message that this editor acts for.
        self.intake_mark: IntakeMark | None = None
        #: The trace contexts that came with tasks of the intake, by the ids of the tasks.
        self.traces: Mapping[str, str] = {}
        self.queue = Queue(backend)
        self._backend = backend
        self._store = backend.store
        self._clock = backend.clock
        self._rule = RuleSetter(backend, self.queue)
        self._adder = Adder(backend, self.queue, self._rule)
        self._joiner = Joiner(backend, self.queue, self._rule)
        self._task_checker = TaskChecker(backend)

    @classmethod
    def from_env(cls) -> Self:
        """An editor set up by the `DUEBELL_…` variables and the AWS SDK's own. Raises InvalidSettings."""
        return cls(Settings.from_env())

    def acting_as(self, changed_by: str | None) -> Self:
        """A copy of this editor with another author of changes, such as the user of one request.

        1 to 128 printable characters, or None for unknown. Raises InvalidTask.
        """
        other = copy.copy(self)
        other.changed_by = check_changed_by(changed_by)
        return other

    def get(self, id: str) -> Task:
        """The task with this id: one read, strongly consistent. Raises TaskNotFound."""
        task = self.queue.get(check_name("id", id))
        if task is None:
            raise TaskNotFound(id)
        return task

    def list(
        self,
        *,
        latest_first: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        **filters: Unpack[FilterFields],
    ) -> Page:
        """List tasks by time: queued tasks by when they run next, ended by their end, paused by due date.

        status         one or several; by default scheduled, running and reserved: the queue. `failing` lists
                       recurring tasks whose last occurrence failed; they come after all ended tasks.
                       `overdue`, which stands alone, lists tasks that should have started
        action         only tasks with this action
        error          only tasks whose last failure is of this type, such as `TimeoutError`
        prefix         only tasks whose ids start with this. A small group is read by its ids, so that it
                       costs only its own tasks; a large group is read by time
        text           only tasks with this in their id, or in their payload as JSON
        tag            only tasks with this tag
        after, before  only within these times, both included
        latest_first   the latest first, not the earliest
        limit          at most this many, 1 to 1,000
        cursor         the cursor of the page before

        After 5,000 index entries or 1,000 tasks, the search ends once it has found a task. The page may then
        be short; its cursor continues the search. Only the last page can be empty. Tasks that ended within
        the last second may be missing: their index is eventually consistent. Raises InvalidQuery.
        """
        which = make_filter(latest_first=latest_first, limit=limit, cursor=cursor, **filters)
        return list_tasks(self.queue, which)

    def find(self, prefix: str, *, limit: int = 100, cursor: str | None = None) -> Page:
        """Find tasks whose ids start with this, of any status, in order of their ids: one read for each lane.

        prefix  one character or more
        limit   at most this many, 1 to 1,000
        cursor  the cursor of the page before; a page of large payloads can be short

        Raises InvalidQuery.
        """
        given = check_text("prefix", prefix)
        return find_tasks(self.queue, given, limit=check_limit(limit), cursor=check_cursor(cursor))

    def select(
        self,
        verb: Verb | str,
        *,
        limit: int = MAX_MANY,
        **filters: Unpack[FilterFields],
    ) -> Selection:
        """The tasks that `change_many` can apply this verb to, at most `limit`; the filter is that of `list`.

        Without a status, they are the tasks in the queue that the verb allows, or all that it allows if it
        allows none of those. Raises InvalidQuery.
        """
        verb, limit = check_verb(verb), check_limit(limit, most=None)
        which = filter_for(verb, make_filter(**filters), has_status=filters.get("status") is not None)
        return select_found(self.queue, msgspec.structs.replace(which, limit=limit))

    def past_counts(self) -> PastCounts:
        """Count paused, done, expired and cancelled tasks, each up to 1,000. `status` counts the others."""
        return count_past(self.queue)

    def failures(self) -> Failures:
        """The failed tasks, and the recurring ones whose last occurrence failed, by action and type of error.

        The 500 latest are read; `is_all` is false when there are more.
        """
        return read_failures(self.queue)

    def status(self, *, thorough: bool = False, timezone: str = "UTC") -> SchedulerStatus:
        """The state of the scheduler, with its problems. Failed tasks are one of the problems.

        thorough  also report a worker with another release of the time zones, and tasks whose action the
                  worker does not have, among the 500 tasks that run next
        timezone  an IANA name; tonight ends at the next 06:00 in this time zone

        A call that AWS refuses, or a missing resource, is one of the problems. Raises AwsUnavailable,
        InvalidQuery, InvalidSchedule for an unknown time zone.
        """
        return read_status(self._backend, thorough=check_flag("thorough", thorough), timezone=timezone)

    def why(self, id: str) -> Why:
        """Explain why a task waits, or why its last attempt started late; see Why.

        It reads the task, the limits and the worker; for a task that is due, also what `status` reads. Raises
        TaskNotFound.
        """
        return explain(self._backend, self.get(id))

    def simulate(
        self,
        until: datetime | timedelta,
        *,
        add: Iterable[NewTask | Mapping[str, Any]] = (),
        limits: Mapping[str, Mapping[str, Any]] | None = None,
        pause: Iterable[str] = (),
        spread: Mapping[str, timedelta] | None = None,
        precision: Precision | str | None = None,
        flatten: bool = False,
        most_starts: int = 100,
    ) -> "Simulation":
        """Forecast the queue as it is, and with these changes. It assumes that nothing fails.

        until        a time, or a length of time from now; at most 62 days
        add          tasks to add, as for `add_many`
        limits       other limits, by action: `{"mail": {"at_most": 5}}`, or per_second, closed
        pause        actions to pause
        spread       other spreads, by the id of a recurring task
        precision    another precision, minute or second
        flatten      spread recurring tasks so that the peak halves, and say how
        most_starts  how many starts to list, in order

        It reads the queue, the limits and some done tasks, and writes nothing. Each attempt takes the median
        time of past attempts of its action; a second if there are none.
        Raises InvalidQuery, InvalidTask, InvalidSchedule.
        """
        from duebell_editor.simulation.simulate import simulate  # noqa: PLC0415 (few do this)

        return simulate(
            self._backend,
            self.queue,
            until,
            add=check_all(add, self._made, name="add", outcome=""),
            limits=limits,
            pause=pause,
            spread=spread,
            precision=precision,
            flatten=flatten,
            most_starts=most_starts,
        )

    def worker(self) -> WorkerDescription | None:
        """The worker as of its last start: its actions, or why it could not start. One read.

        None before the first start.
        """
        record = self._store.read(WorkerRecord)
        return record.described(self._clock()) if record else None

    def timeline(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> tuple[Bucket, ...]:
        """Count what is to run, in `count` buckets; the first bucket is the step that contains `start`.

        step      minute, hour or day; days are those of the time zone, an IANA name
        count     the number of buckets, 1 to 100

        A recurring task counts at each time of its schedule, an overdue task at its due time. The counts are
        estimates in a long queue, where one lane is counted, and with more than 300 recurring tasks, where
        300 are counted. Raises InvalidQuery, InvalidSchedule for an unknown time zone.
        """
        return timeline(self.queue, start, check_choice("step", step, Step), count, zone=zone_of(timezone))

    def past_timeline(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> PastTimeline:
        """Count the tasks that ended, by result, and how late they started; arguments as for `timeline`.

        Cancelled tasks are left out. Raises InvalidQuery, InvalidSchedule.
        """
        return past_timeline(
            self.queue, start, check_choice("step", step, Step), count, zone=zone_of(timezone)
        )

    def schedules(self, *, prefix: str = "", limit: int = 100, cursor: str | None = None) -> Page:
        """List the recurring tasks: failing tasks first, paused tasks last; each kind by id.

        prefix  only tasks whose ids start with this
        limit   at most this many, 1 to 1,000
        cursor  the cursor of the page before

        Each page reads the keys of all recurring tasks, 3,200 by one call, and its tasks, 100 by one call. A
        task that was added, was changed or ended within the last second may be missing. Raises InvalidQuery.
        """
        which = make_filter(prefix=prefix, limit=limit)
        return list_recurring(self.queue, prefix=which.prefix, limit=which.limit, cursor=check_cursor(cursor))

    def snapshot(self, *, after: datetime | None = None, before: datetime = NEVER) -> Snapshot:
        """Snapshot the queue between two times. A task that comes, goes or moves makes snapshots differ.

        Costs one read for the arming record, and one for each lane.
        """
        begin = None if after is None else check_instant("after", after)
        return snapshot(self.queue, after=begin, before=check_instant("before", before))

    def export_tasks(self) -> Iterator[bytes]:
        """Every task with its history as a line of JSON, for `import_tasks`; read while you iterate.

        With `DUEBELL_HISTORY=failed`, done and cancelled tasks are left out: no index has them.
        """
        return export_tasks(self.queue)

    def add(
        self,
        action: str,
        *,
        if_exists: IfExists | Literal["fail", "keep", "replace", "push"] = IfExists.FAIL,
        max_wait: timedelta | None = None,
        rev: int | None = None,
        **fields: Unpack[TaskFields],
    ) -> Task:
        """Add a task: run `action` with `payload` at `due`, or by a `schedule`. Returns it as stored.

        action     name of an action of the worker, 1 to 256 printable characters. If the worker has no such
                   action, the call warns with UnknownAction, or raises InvalidTask if the settings say so
        fields     due, schedule, payload, id and so on: see the table of NewTask. A due date is an aware
                   datetime, or a timedelta from now; a time in the past means at once (the first minute that
                   a rule can safely ring in). A payload is what JSON can hold, or a dataclass, msgspec or
                   pydantic value
        if_exists  if a task with this id exists: fail (TaskExists), keep that task, replace it, or push it:
                   if it waits, it gets the new due date and payload (debounce). A task that is reserved
                   for a transaction is not kept (TaskExists): it may never be added. Replace and push make
                   its transaction fail
        max_wait   with push: never due later than this time after the waiting task was first added
        rev        replace it only if it is at this rev (TaskChanged if not, TaskNotFound if it is gone)

        Raises InvalidTask and InvalidSchedule before anything is written. Raises TaskExists, TaskChanged,
        TaskNotFound for an unknown batch, TaskConflict if the batch is closed or the task in use, NotArmed.
        """
        given = NewTask(action=action, **fields)
        return self.add_one(given, if_exists=if_exists, max_wait=max_wait, rev=rev).task

    def add_one(
        self,
        task: NewTask | Mapping[str, Any],
        *,
        if_exists: IfExists | Literal["fail", "keep", "replace", "push"] = IfExists.FAIL,
        max_wait: timedelta | None = None,
        rev: int | None = None,
    ) -> Added:
        """Add a task, as `add` does, and tell whether it is new. `task` has the arguments of `add`.

        Raises what `add` raises.
        """
        policy = Policy.of(if_exists, max_wait, rev)
        given = fields_of(NewTask, task)
        is_generated = given.get("id") is None
        new = policy.first(self._made(given), is_generated=is_generated)
        if new.batch is None:
            return self._rule.add(new, policy, is_generated=is_generated)
        return self._joiner.add_one(new, policy)

    def add_many(
        self,
        tasks: Iterable[NewTask | Mapping[str, Any]],
        *,
        if_exists: IfExists | Literal["fail", "keep", "replace", "push"] = IfExists.FAIL,
        max_wait: timedelta | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        """Add any number of tasks, and arm once. Each is a NewTask, or a mapping with the arguments of `add`.

        All are checked before any is written, and InvalidTask names the first that is wrong. The report has
        the ids of the stored tasks, and the failures while writing (an id that is taken, AWS not answering).
        `if_exists` and `max_wait` are as in `add`, for all of them. With `dry_run` they are only checked, and
        the report is empty. Raises NotArmed, with the report as its `report`, when tasks are stored and the
        rule could not be confirmed.
        """
        policy = Policy.of(if_exists, max_wait)
        chosen: set[str] = set()

        def check(given: NewTask) -> Task:
            is_generated = given.get("id") is None
            task = policy.first(self._made(given), is_generated=is_generated)
            chosen.update([] if is_generated else [task.id])
            return task

        every = check_all(tasks, check)
        if dry_run:
            return AddReport(added=())
        members = [task for task in every if task.batch is not None]
        if not members:
            return self._adder.add_many(every, chosen, policy)
        others = [task for task in every if task.batch is None]
        report = self._adder.add_many(others, chosen, policy)
        places = {task.id: place for place, task in enumerate(every)}
        return report.with_other(self._joiner.add(members, policy), places)

    def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        per_second: float | None = None,
        dry_run: bool = False,
    ) -> BackfillReport:
        """Add the occurrences of a recurring task in a range that has passed, as tasks of their own.

        Each task runs once. Its due date is the occurrence, which its action reads as `task.due`. Its id
        names the occurrence: `report@2026-01-01T09:00:00.000Z`. So a repeated backfill adds no task twice, as
        long as the first ones are kept. The recurring task itself stays as it is.

        start, end  the range, both included, at most 10,000 occurrences; none before the schedule's own
                    start or after its end
        per_second  how many are started a second, 0.0001 to 1,000; all at once if not given
        dry_run     add nothing: the report has the occurrences

        Raises TaskNotFound, InvalidQuery, InvalidTask, NotArmed.
        """
        task = self.get(id)
        return backfill(
            self._adder,
            task,
            start,
            end,
            per_second=per_second,
            dry_run=check_flag("dry_run", dry_run),
            now=self._clock(),
            changed_by=self.changed_by,
        )

    def batch(
        self,
        id: str | None = None,
        tasks: Iterable[NewTask | Mapping[str, Any]] | None = None,
        *,
        wait_for: Iterable[str] | None = None,
        then: Then | None = None,
        on_failed: str | None = None,
    ) -> Task:
        """Make a batch: a task that is blocked until all tasks of the batch have ended, and then does `then`.

        tasks      its tasks, as for `add_many`; a task without an id is named by its place: `import-7/1`. The
                   batch is then closed. None for an open batch: tasks are added with `batch=id`, until
                   `close_batch`
        wait_for   ids of stored tasks, in no other batch, for which the batch waits too; ended tasks count
                   at once. The batch is then closed
        then       what the batch runs after them: `Then("report", {"month": 1})`. Its payload, an object,
                   gets counts: `"batch": {"id": …, "done": 9, "failed": 1, "cancelled": 0, "expired": 0}`
        on_failed  the action that the batch runs instead if a task has failed; None: `then` is run anyway

        Returns the batch: `members` has the counts so far. With an id of your own, a call that raised can be
        repeated. A closed batch with this id is returned as it is; an open one must have the same follow-up,
        if one is given. Raises InvalidTask before anything is written, TaskNotFound, TaskExists if another
        task has the id, TaskConflict, NotArmed.
        """
        new = new_batch(id, then, on_failed, now=self._clock())
        new = self._signed(check_size(new))
        self._task_checker.check(new)
        given = members_of(new.id, tasks) if tasks is not None else None
        awaited = check_ids(wait_for, "wait_for") if wait_for is not None else None
        if given:
            self._joiner.check_free(new.id, check_all(given, self._made))
        if awaited:
            self._joiner.joining(new, awaited)
        there, outcome = self._rule.add(new, Policy(IfExists.KEEP))
        if outcome == "kept":
            self._adder.drop_stray_copies(there.id)
        if there.members is None:
            raise TaskExists(there.id)
        if not there.is_blocked or not there.members.open:
            return there
        if then or on_failed is not None:
            check_follow_up(there, new)
        if given is None and awaited is None:
            return there
        report = self.add_many(given or (), if_exists=IfExists.KEEP)
        if report.failures:
            raise report.failures[0].error
        self._joiner.wait_for(there.id, awaited or (), partial(self._noted, "wait_for"))
        return self.close_batch(there.id)

    def close_batch(self, id: str) -> Task:
        """Close a batch: it takes no more tasks, and goes on when all its tasks have ended.

        A batch without tasks goes on at once. Closing it again does nothing.
        Raises TaskNotFound, TaskConflict if it is no batch, NotArmed.
        """
        keep = self._backend.settings.retention_policy
        return self._change("close", id, lambda task: task.closed(now=self._clock(), keep=keep), None)

    def change_many(self, verb: Verb | str, ids: Iterable[str]) -> ChangeReport:
        """Cancel, pause, resume, retry or run_now each of these tasks, in parallel.

        A task that cannot be changed is a failure in the report. So is a task that was changed when the rule
        could not be set: repeat the call. After a call that AWS does not answer, the rest is not tried.
        Raises InvalidQuery, and AwsError or NotDeployed if all tasks failed with one of them.
        """
        verb, ids = check_verb(verb), check_ids(ids)
        return change_all(verb, ids, change=getattr(self, verb), arm=self.ensure_armed)

    def move(self, id: str, *, due: datetime | timedelta, rev: int | None = None) -> Task:
        """Give a scheduled, paused or running task another due date; its attempts count from 0 again.

        The outcome of a running attempt no longer applies, and a stoppable action is told to stop. Of a
        recurring task, only the current occurrence is moved, and only while it does not run.
        Raises TaskNotFound, TaskConflict, InvalidTask, NotArmed.
        """
        return self._change(Verb.MOVE, id, lambda task: task.moved(due, now=self._clock()), rev)

    def update(self, id: str, *, rev: int | None = None, **changes: Unpack[TaskChange]) -> Task:
        """Change a scheduled, paused, failed or expired task, in one step; the arguments are those of `add`.

        Fields that are not given stay, and None means what it means for `add`: `end=None` is no end,
        `payload=None` an empty object. Another schedule comes with its own time zone, start and end, and
        holds from now on. The first occurrence of the new schedule replaces the current one, unless that was
        tried, or is late and in the new schedule, too. A waiting retry is kept, unless another due date is
        given.
        The due date and the schedule of a failed or expired task cannot be changed: `retry` it, then move it.
        Raises TaskNotFound, TaskConflict, InvalidTask, InvalidSchedule, NotArmed.
        """
        return self._change(Verb.UPDATE, id, self._updated(changes), rev)

    def cancel(self, id: str, *, rev: int | None = None) -> Task:
        """Cancel a task, which is kept as history. A failed or expired task can be cancelled too.

        The outcome of a running attempt no longer applies, and a stoppable action is told to stop.
        Raises TaskNotFound, TaskConflict.
        """
        return self._change(Verb.CANCEL, id, self._cancelled, rev)

    def pause(self, id: str, *, rev: int | None = None) -> Task:
        """Take a scheduled task out of the queue until it is resumed. Raises TaskNotFound, TaskConflict."""
        return self._change(Verb.PAUSE, id, Task.paused, rev)

    def resume(self, id: str, *, rev: int | None = None) -> Task:
        """Put a paused task back; it runs at once if its due date has passed.

        A recurring task's `missed` policy applies to the occurrences that passed meanwhile.
        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RESUME, id, lambda task: task.resumed(now=self._clock()), rev)

    def run_now(self, id: str, *, rev: int | None = None) -> Task:
        """Run a recurring task one more time now, without a change to its schedule.

        A scheduled task that runs once is run now instead of at its due date.
        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RUN_NOW, id, lambda task: task.run_now(now=self._clock()), rev)

    def retry(self, id: str, *, rev: int | None = None) -> Task:
        """Run a failed or expired task again now; its attempts count from 0 again.

        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RETRY, id, lambda task: task.retried(now=self._clock()), rev)

    def transaction(self) -> Transaction:
        """A transaction over tables of your own and the queue, for a `with` statement: see Transaction."""
        return Transaction(
            self._backend,
            self._made,
            lambda task: self._reserve(task, is_generated=False),
            {Verb.CANCEL: self.cancel_item, Verb.MOVE: self.move_item, Verb.UPDATE: self.update_item},
        )

    def reserve(self, action: str, **fields: Unpack[TaskFields]) -> Reservation:
        """Store a task that is run only if a transaction of your own confirms it. Returns its reservation.

        Put the reservation's `confirm` among the `TransactItems` of your client, or give it to pynamodb's
        `TransactWrite`. The task is added if and only if that transaction is committed. `transaction()` does
        both. The arguments are those of `add`, without `if_exists`, `max_wait` and `rev`.

        The transaction has two minutes. After that the task is deleted, and the transaction fails. An id that
        is reserved can be reserved again at any time: the transaction of the earlier reservation then fails.
        Raises InvalidTask and InvalidSchedule before anything is written, TaskExists, QueueFull, NotArmed.
        """
        given = fields_of(NewTask, {"action": action, **fields})
        reserved = self._reserve(self._made(given), is_generated=given.get("id") is None)
        return Reservation(self._backend, TaskWrite(reserved, reserved.confirmed()))

    def cancel_item(self, id: str, *, rev: int | None = None) -> TransactionItem:
        """Cancel a task by a transaction of your own, as `cancel` does.

        The transaction fails if the task has changed since this call read it, or since it was at `rev`.
        Raises TaskNotFound, TaskConflict.
        """
        return self._item(Verb.CANCEL, id, self._cancelled, rev)

    def move_item(self, id: str, *, due: datetime | timedelta, rev: int | None = None) -> TransactionItem:
        """Move a task to a later due date by a transaction of your own, as `move` does.

        Raises InvalidTask for an earlier due date, as no rule would ring for it; else as `cancel_item`.
        """
        return self._item(Verb.MOVE, id, lambda task: task.moved(due, now=self._clock()), rev)

    def update_item(
        self, id: str, *, rev: int | None = None, **changes: Unpack[TaskChange]
    ) -> TransactionItem:
        """Change a task by a transaction of your own, as `update` does, with the same arguments.

        Raises as `move_item`, and InvalidSchedule.
        """
        return self._item(Verb.UPDATE, id, self._updated(changes), rev)

    def limit(
        self,
        action: str,
        *,
        at_most: int | UnsetType | None = UNSET,
        per_second: float | UnsetType | None = UNSET,
        closed: str | UnsetType | None = UNSET,
    ) -> ActionLimit:
        """Set the limits of an action, over all runs together. They replace those that its code declares.

        at_most     attempts at a time, up to 10,000; 0 pauses the action, None restores the declared limit
        per_second  attempts that are started a second, 0.0001 to 1,000; 0 and None as for `at_most`
        closed      weekly hours in which nothing is started: "22:00-06:00 Europe/Berlin" or "sat,sun"; in
                    UTC unless they name a time zone. "never" opens the action, None restores what is declared

        A limit that is not given stays as it was. Runs in progress apply new limits within a minute. Tasks
        that waited for a pause, for closed hours or for an earlier limit start as soon as the limits allow.

        Raises InvalidTask, TaskConflict, NotArmed.
        """
        return set_limit(
            self._backend,
            action,
            at_most=at_most,
            per_second=per_second,
            closed=closed,
            by=self.changed_by,
        )

    def limits(self) -> tuple[ActionLimit, ...]:
        """The limits of actions that have some, declared or set, by name, with how many tasks wait."""
        limits, lanes = self._store.read(Limits) or Limits(), len(self._backend.armer.read().lanes)
        record = self._store.read(WorkerRecord)
        return tuple(read_limits(self._backend, record, limits, lanes=lanes, now=self._clock()))

    def sync(self, *, dry_run: bool = False) -> "SyncReport":
        """Make the recurring tasks of the queue match the declarations in the code of the worker.

        The code declares them with `@worker.recurring`; the worker that started last counts. Tasks are added,
        changed in the fields that differ, and cancelled if they are no longer declared. Tasks that were never
        declared in code are left alone, and a paused task stays paused. Safe to repeat at any time.

        dry_run  change nothing: the report is the plan

        A task that runs at this moment cannot be changed, and is one of the failures.
        Raises WorkerNotStarted, InvalidQuery, NotArmed.
        """
        from .sync import Syncer  # noqa: PLC0415 (few processes ever do this)

        syncer = Syncer(self._backend, self.queue, self._rule, self._change, self.changed_by)
        return syncer.sync(dry_run=check_flag("dry_run", dry_run))

    def relane(self, lanes: int) -> "Relaned":
        """Give the queue more lanes while it is in use, and move the waiting tasks to their new lanes.

        No task starts until the running actions have ended and all tasks are moved: for seconds to minutes.
        Repeat an interrupted relane with the same number.
        Raises InvalidSettings for fewer lanes than there are, or too many. Raises TaskConflict while another
        process does this, or if a run keeps its lanes. Raises AwsError, NotArmed and NotDeployed.
        """
        from .relane import relane  # noqa: PLC0415 (few processes ever do this)

        done = relane(self._backend, lanes)
        self._backend.audit.note("relane", self.changed_by, detail=f"{done.lanes} lanes")
        return done

    def import_tasks(self, lines: Iterable[bytes | str]) -> ImportReport:
        """Add the tasks of an export as they were; a task whose id exists already is left out.

        A task that was running becomes scheduled, and the interrupted attempt does not count. Each line is
        checked as by `add`. An interrupted import is repeated from the beginning. Raises InvalidTask with the
        line and the field that are wrong; the tasks before this line are stored, and the rule rings for them.
        Raises NotArmed.
        """
        return self._adder.import_lines(lines, self.changed_by)

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """The thorough status. With `fix`, it repairs the rule first, and also lists the solved problems.

        It checks that the targets of deliveries exist, and that the worker takes the messages of the intake
        queue. A target that it may not read is reported as advice. If the repair did not solve a problem that
        it should solve, the problem says what to do next, and is not mendable.
        Raises InvalidQuery, AwsUnavailable, NotArmed.
        """
        from duebell_editor.status.doctor import diagnose  # noqa: PLC0415 (few processes ever do this)

        found = diagnose(self._backend, fix=check_flag("fix", fix))
        if fix:
            self._backend.audit.note("repair", self.changed_by)
        return found

    def ensure_armed(self) -> SchedulerStatus:
        """Set the rule for the earliest task if it is not, also after an edit by hand. Raises NotArmed."""
        self._backend.armer.verify()
        self._backend.audit.note("repair", self.changed_by)
        return self.status()

    def dead_letters(self) -> "tuple[DeadLetter, ...]":
        """The messages of all dead-letter queues of the stack, 1,000 of each at most.

        SQS hides messages for a moment after a read. Raises AwsRefused, also if a permission is missing.
        """
        from duebell_editor.status.dead_letters import read_letters  # noqa: PLC0415 (few processes do this)

        return read_letters(self._backend)

    def redrive(self, queue: DeadLetters | str) -> int:
        """Send the messages of a dead-letter queue again, 1,000 at most; return how many.

        Messages of lost rings and failed runs are deleted instead, after the rule is set: a run then starts
        for all due tasks. Raises InvalidInput, AwsRefused, NotArmed.
        """
        from duebell_editor.status.dead_letters import redrive  # noqa: PLC0415

        count = redrive(self._backend, check_choice("queue", queue, DeadLetters))
        self._backend.audit.note("redrive", self.changed_by, detail=f"{queue}: {count:,}")
        return count

    def delete_dead_letters(self, queue: DeadLetters | str, ids: Iterable[str] | None = None) -> int:
        """Delete messages of a dead-letter queue, these or 1,000 at most; return how many.

        Raises InvalidInput, AwsRefused.
        """
        from duebell_editor.status.dead_letters import delete_letters  # noqa: PLC0415

        named = None if ids is None else check_ids(ids)
        count = delete_letters(self._backend, check_choice("queue", queue, DeadLetters), named)
        self._backend.audit.note("delete_letters", self.changed_by, detail=f"{queue}: {count:,}")
        return count

    def changes(self, *, id: str | None = None, limit: int = 100, cursor: str | None = None) -> Changes:
        """List the changes by editors, the latest first. The table keeps them with DUEBELL_AUDIT=table.

        id      only the changes of this task
        limit   at most this many, 1 to 1,000
        cursor  the cursor of the page before

        Raises InvalidQuery.
        """
        given = None if id is None else check_name("id", id)
        return self._backend.audit.page(id=given, limit=check_limit(limit), cursor=check_cursor(cursor))

    def import_calendar(self, name: str, calendar: "Calendar") -> None:
        """Store a calendar of holidays under this name, in place of an earlier one.

        A task that uses it keeps its current occurrence and the next one. To plan both anew,
        `update` the task with `calendar=name`. Raises InvalidInput, TaskConflict.
        """
        from .calendars import import_calendar  # noqa: PLC0415 (few processes ever do this)

        import_calendar(self._backend, name, calendar, by=self.changed_by)

    def preview(
        self,
        schedule: str,
        *,
        count: int = 10,
        timezone: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        calendar: str | None = None,
        holidays: Holidays | Literal["skip", "next", "previous"] | None = None,
    ) -> tuple[Schedule, Sequence[datetime], Sequence[OnHoliday]]:
        """A schedule, its next occurrences, and the first 100 occurrences in that time that fall on holidays.

        The arguments are those of `add`; `count` is 1 to 1,000. Nothing is stored. Raises InvalidSchedule,
        InvalidTask, InvalidQuery.
        """
        now, most = self._clock(), check_limit(count, field="count")
        meant = make_schedule(
            schedule,
            timezone=timezone,
            start=start,
            end=end,
            calendar=None if calendar is None else checked("calendar", calendar),
            holidays=checked("holidays", holidays),
            calendars=self._backend.calendar,
            now=now,
        )
        found = meant.preview(most, now)
        return meant, found, meant.on_holidays(now, found[-1] if found else now, 100)

    def calendars(self) -> "Mapping[str, Calendar]":
        """The calendars of holidays, by name. One read."""
        from duebell_shared.schedules.calendars import Calendars  # noqa: PLC0415 (few queues have some)

        return (self._store.read(Calendars) or Calendars()).calendars

    def _made(self, given: NewTask) -> Task:
        """The checked and signed task of these arguments, with its trace context. Raises InvalidTask."""
        new = new_task(**given, now=self._clock(), calendars=self._backend.calendar)
        task = self._signed(check_size(new))
        self._task_checker.check(task)
        if traceparent := self.traces.get(task.id):
            return msgspec.structs.replace(task, traceparent=traceparent)
        if "opentelemetry.trace" not in sys.modules:
            return task
        from duebell_shared.tracing import current_traceparent  # noqa: PLC0415 (few applications have traces)

        return msgspec.structs.replace(task, traceparent=current_traceparent())

    def _reserve(self, task: Task, *, is_generated: bool) -> Task:
        """Store a checked task as reserved, from now on, and arm the rule for it."""
        if task.batch is not None:
            raise InvalidTask("batch", "cannot be combined with a reservation: add the task itself")
        reserved = task.reserved(uuid4().hex, until=self._clock() + GRACE)
        return self._rule.add(reserved, Policy(), is_generated=is_generated).task

    def _cancelled(self, task: Task) -> Task:
        return task.cancelled(now=self._clock(), keep=self._backend.settings.retention_policy)

    def _updated(self, changes: TaskChange) -> Callable[[Task], Task]:
        """The change as a function of the task, checked against the worker. Raises InvalidTask."""
        change = fields_of(TaskChange, changes)
        check_change(change)

        def apply(task: Task) -> Task:
            changed = check_size(
                changed_task(task, change, now=self._clock(), calendars=self._backend.calendar)
            )
            if not change.keys().isdisjoint({"payload", "action", "on_failed", "then"}):
                self._task_checker.check(changed)
            return changed

        return apply

    def _signed(self, task: Task) -> Task:
        marks = {"intake": self.intake_mark} if self.intake_mark else {}
        return msgspec.structs.replace(task, changed_by=self.changed_by, **marks)

    def _noted(self, verb: str, before: Task, changed: Task) -> Task:
        """The changed task with its author, and with the change among its events."""
        noted = changed.noted(verb, before, by=self.changed_by, now=self._clock())
        return with_fitting_events(self._signed(noted))

    def _item(self, verb: Verb, id: str, change: Callable[[Task], Task], rev: int | None) -> TransactionItem:
        rev, task = checked("rev", rev), self.get(id)
        if rev is not None and task.rev != rev:
            raise TaskChanged(id, expected=rev, rev=task.rev)
        changed = self._noted(verb, task, change(task))
        if changed.owes:
            raise TaskConflict(
                f"task {quoted(id)} is in batch {quoted(task.batch)}: change it outside of the transaction"
            )
        if changed.queued and (task.queued is None or changed.queued < task.queued):
            raise InvalidTask(
                "due",
                f"is earlier than before: task {quoted(id)} would run at {changed.queued}, and no "
                f"transaction sets the rule: change it before or after the transaction",
            )
        return TransactionItem(self._backend, TaskWrite(task, changed))

    def _change(self, verb: str, id: str, change: Callable[[Task], Task], rev: int | None) -> Task:
        """Read the task, change it, and write it if its rev is unchanged; it must be `rev`, if given."""
        rev = checked("rev", rev)
        for _ in range(TRIES):
            task = self.get(id)
            try:
                if rev is not None and task.rev != rev:
                    raise TaskChanged(id, expected=rev, rev=task.rev)
                wanted = change(task)
            except TaskConflict as conflict:
                # An earlier call may have made this change without getting an answer.
                self._rule.arm_after(conflict, [task])
                raise
            if wanted is task:
                self._rule.arm([task])
                return task
            changed = self._noted(verb, task, wanted)
            is_retried = task.counted and not changed.counted
            if (self._joiner.save_retried if is_retried else self._store.save)(task, changed):
                self.queue.audit.changed(verb, (task, changed))
                # Arm even if this call kept the time: an earlier call may have changed it, and failed to arm.
                self._rule.arm([changed])
                return changed
        raise kept_changing(id)
