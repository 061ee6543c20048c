"""The library that services embed: add tasks to the queue, look at them, change them."""

import copy
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Self

import boto3
import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.add_report import AddFailure, AddReport
from duebell_shared.armer import LanesChanged
from duebell_shared.backend import Backend
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
    UnreadableTask,
)
from duebell_shared.given import check_changed_by, check_name, check_progress, check_rev
from duebell_shared.instants import NEVER
from duebell_shared.lanes import lane_of
from duebell_shared.quoting import quoted
from duebell_shared.recurrence import Missed
from duebell_shared.settings import Settings
from duebell_shared.task import QueueKey, Status, Task
from duebell_shared.twins import drop_twin
from duebell_shared.verbs import Verb
from duebell_shared.zones import zone_of

from .change_log import log_change, logged
from .change_many import (
    MAX_MANY,
    ChangeReport,
    Selection,
    change_all,
    check_verb,
    select_found,
    select_named,
    statuses_for,
)
from .filtering import MAX_LIMIT, check_flag, check_ids, check_instant, check_limit, make_filter
from .history import TaskHistory, history
from .listing import Page, list_tasks
from .look import Look, Watched, look
from .many import check_all, write_all
from .reading import Queue
from .status import Diagnosis, SchedulerStatus, read_status
from .taken import (
    TRIES,
    IfExists,
    check_if_exists,
    insert_many,
    is_same_add,
    kept_changing,
    settle,
    settle_all,
)
from .timeline import Bucket, Step, check_step, timeline
from .transfer import ImportReport, export_tasks, read_chunks, write_chunk
from .values import NewTask, TaskChange

__all__ = ["Editor", "IfExists"]

_LOG = logging.getLogger("duebell.editor")

#: What an add raises whose id is taken, perhaps by its own earlier call.
_TAKEN = (TaskExists, TaskConflict)


class Editor:
    """Adds tasks and changes them. Thread-safe; make one and keep it.

    Every method may raise AwsRefused, AwsUnavailable and NotDeployed. Those that set a time return only when
    the rule is confirmed to ring for it; they raise NotArmed when the change is stored and that is not so.

    Those that change one task take the `rev` that it had when it was read: if it was changed since, by
    whomever, they change nothing and raise TaskChanged.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        session: boto3.Session | None = None,
        backend: Backend | None = None,
        changed_by: str | None = None,
    ) -> None:
        """Settings default to the environment's, the session to the AWS SDK's own. Makes no call yet.

        backend     stands in for both, for tests with a clock of their own
        changed_by  who changes tasks by this editor, 1 to 128 printable characters, kept on each task that it
                    adds or changes; the settings' if not given

        Raises InvalidTask.
        """
        self._backend = backend or Backend.connect(settings or Settings.from_env(), session)
        self.queue = Queue(self._backend)
        self._store = self._backend.store
        self._armer = self._backend.armer
        self._clock = self._backend.clock
        self.changed_by = check_changed_by(changed_by) or self._backend.settings.changed_by

    @classmethod
    def from_env(cls) -> Self:
        """An editor set up by the `DUEBELL_…` variables and the AWS SDK's own. Raises InvalidSettings."""
        return cls(Settings.from_env())

    def acting_as(self, changed_by: str | None) -> Self:
        """The same editor for changes by someone else, for one request say: it shares all but that.

        1 to 128 printable characters, or None for unknown. Raises InvalidTask.
        """
        other = copy.copy(self)
        other.changed_by = check_changed_by(changed_by)
        return other

    def add(
        self,
        action: str,
        *,
        due: datetime | timedelta | None = None,
        schedule: str | None = None,
        timezone: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        missed: Missed | Literal["once", "all", "skip"] | None = None,
        max_runs: int | None = None,
        spread: timedelta | None = None,
        expires_after: timedelta | None = None,
        payload: object = None,
        id: str | None = None,
        if_exists: IfExists | Literal["fail", "keep", "replace"] = IfExists.FAIL,
        rev: int | None = None,
    ) -> Task:
        """Add a task: run `action` with `payload` at `due`, or by a `schedule`. Returns it as stored.

        action         name of an action of the worker, 1 to 256 printable characters
        due            an aware datetime, or a timedelta from now; what is past, or a negative timedelta, runs
                       at once (the first minute that a rule can safely ring in)
        schedule       instead of due: `rate(2 hours)`, `cron(0 9 ? * MON-FRI *)` as AWS writes it, five cron
                       fields as everyone else does, or `at(2026-12-31T09:00:00)`; 1 KB at most
        timezone       the schedule's, an IANA name; UTC if not given
        start, end     the schedule's first and last possible moment, aware; a rate counts from its start
        missed         what becomes of occurrences that passed while nothing could run: they are made up for
                       once (the default), all, or not at all: see Missed
        max_runs       the schedule ends after so many occurrences
        spread         run it up to so long after it is due, always the same for the same id, so that many
                       tasks of one time do not all run at once; at most a day
        expires_after  do not run it when that cannot be started within so much of its due date; a century at
                       most
        payload        what JSON can hold, or a dataclass, msgspec or pydantic value; at most 350 KB and 100
                       levels. A set is refused, unless its field in such a type says that it is one
        id             1 to 256 printable characters; generated if not given
        if_exists      with a task of this id there: fail (TaskExists), keep that one, or replace it
        rev            replace it only if it is at this rev (TaskChanged if not)

        Raises InvalidTask and InvalidSchedule before anything is written, TaskExists, TaskChanged, NotArmed.
        """
        if_exists = check_if_exists(if_exists)
        if check_rev(rev) is not None and if_exists is not IfExists.REPLACE:
            raise InvalidTask("rev", "goes with if_exists='replace'")
        given = NewTask(
            action=action,
            due=due,
            schedule=schedule,
            timezone=timezone,
            start=start,
            end=end,
            missed=missed,
            max_runs=max_runs,
            spread=spread,
            expires_after=expires_after,
            payload=payload,
            id=id,
        )
        return self._add(self._check(given), if_exists, rev=rev, is_generated=id is None)

    def add_many(
        self,
        tasks: Iterable[NewTask | Mapping[str, Any]],
        *,
        if_exists: IfExists | Literal["fail", "keep", "replace"] = IfExists.FAIL,
        progress: Callable[[int], None] = lambda _: None,
    ) -> AddReport:
        """Add any number of tasks, and arm once. Each is a NewTask, or a mapping with the arguments of `add`.

        All are checked before any is written, and InvalidTask names the one that cannot be right. What fails
        while writing (an id that is taken, AWS not answering) is in the report, beside the ids of those that
        are stored. `progress` is told how many are done. Raises NotArmed, with the report as its `report`,
        when they are stored and the rule could not be confirmed.
        """
        if_exists = check_if_exists(if_exists)
        check_progress(progress)
        chosen: set[str] = set()

        def check(given: NewTask) -> Task:
            task = self._check(given)
            chosen.update([] if given.id is None else [task.id])
            return task

        checked = check_all(tasks, check)
        lanes = self.queue.lanes if checked else 0
        new = [self._placed(task, lanes) for task in checked]
        stored, report = write_all(
            new,
            logged("add", lambda tasks: insert_many(self.queue, tasks, chosen)),
            lambda taken: settle_all(self.queue, taken, if_exists),
            progress,
        )
        index = {task.id: index for index, task in enumerate(new)}
        refused = [failure.id for failure in report.failures if isinstance(failure.error, _TAKEN)]
        try:
            twins = self._arm_added([task for task in stored if task is new[index[task.id]]], lanes)
            failures = self._add_again(twins, if_exists)
            report = report.corrected(
                AddFailure(index=index[id], id=id, error=error) for id, error in failures.items()
            )
            self._arm([task for task in stored if task is not new[index[task.id]]])
            self._arm_ids(refused)
        except NotArmed as error:
            error.report = report
            raise
        return report

    def get(self, id: str) -> Task:
        """The task with this id: one read, strongly consistent. Raises TaskNotFound."""
        task = self.queue.get(check_name("id", id))
        if task is None:
            raise TaskNotFound(id)
        return task

    def list(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        action: str | None = None,
        prefix: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
        latest_first: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        most_keys: int | None = None,
    ) -> Page:
        """Tasks by time: when they are next looked at, or when they ended; the paused by their due date.

        status         one or several; what is in the queue (scheduled and running) if not given
        action         of this action only
        prefix         whose ids start with this only
        after, before  within these, both included
        latest_first   the latest first, not the earliest
        limit          at most this many, 1 to 1,000
        cursor         the last page's, for the next
        most_keys      look at so many entries of the indexes at most, and read a fifth as many tasks: what is
                       rare among many is not looked for to the end. The page may be short then, or empty,
                       and its cursor goes on from there

        What ended within the last second may be missing: the index of the past follows the tasks.
        Raises InvalidQuery.
        """
        which = make_filter(
            status=status,
            action=action,
            prefix=prefix,
            after=after,
            before=before,
            latest_first=latest_first,
            limit=limit,
            cursor=cursor,
        )
        if most_keys is not None:
            check_limit(most_keys, field="most_keys", most=None)
        return list_tasks(self.queue, which, most_keys=most_keys)

    def select(
        self,
        verb: Verb | str,
        *,
        ids: Iterable[str] | None = None,
        status: Status | str | Iterable[Status | str] | None = None,
        action: str | None = None,
        prefix: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = MAX_MANY,
    ) -> Selection:
        """The tasks that `change_many` can do something to, by its verb; the filter is that of `list`.

        ids    of these tasks only, and no filter
        limit  at most so many of those found

        Raises InvalidQuery.
        """
        verb = check_verb(verb)
        if ids is not None:
            return select_named(self.queue, verb, check_ids(ids))
        which = make_filter(
            status=status,
            action=action,
            prefix=prefix,
            after=after,
            before=before,
            limit=min(check_limit(limit, most=None), MAX_LIMIT),
        )
        statuses = statuses_for(verb, which.statuses if status else None)
        found = msgspec.structs.replace(which, statuses=statuses, limit=limit)
        return select_found(self.queue, found)

    def change_many(self, verb: Verb | str, ids: Iterable[str]) -> ChangeReport:
        """Cancel, pause, resume, retry or run_now each of these tasks, side by side.

        What one does not allow is in the report. When AWS stops to answer, the rest is not tried. Raises
        InvalidQuery; AwsError or NotDeployed when that is why not one of them was changed.
        """
        return change_all(self, check_verb(verb), check_ids(ids))

    def move(self, id: str, *, due: datetime | timedelta, rev: int | None = None) -> Task:
        """Another due date for a task that is scheduled, paused or running, with all attempts to come.

        A running attempt is not stopped, but its outcome no longer applies. Of a recurring task this moves
        the one occurrence that it stands at, as long as that does not run, and leaves the others alone.
        Raises TaskNotFound, TaskConflict, InvalidTask, NotArmed.
        """
        return self._change(Verb.MOVE, id, lambda task: task.moved(due, now=self._clock()), rev)

    def update(
        self,
        id: str,
        *,
        payload: object = UNSET,
        action: str | UnsetType = UNSET,
        due: datetime | timedelta | UnsetType = UNSET,
        schedule: str | UnsetType = UNSET,
        timezone: str | UnsetType | None = UNSET,
        start: datetime | UnsetType | None = UNSET,
        end: datetime | UnsetType | None = UNSET,
        missed: Missed | Literal["once", "all", "skip"] | UnsetType | None = UNSET,
        max_runs: int | UnsetType | None = UNSET,
        spread: timedelta | UnsetType | None = UNSET,
        expires_after: timedelta | UnsetType | None = UNSET,
        rev: int | None = None,
    ) -> Task:
        """Change a task that is scheduled or paused, in one step; the arguments are those of `add`.

        What is not given stays as it is, and None means what it means for `add`: `end=None` is no end,
        `payload=None` an empty object. Another schedule comes with its own time zone, start and end. It
        holds from now on: an occurrence of the old one that was not tried yet gives way to its first, unless
        the new one has it too.
        A failed task can be given another payload or action, to be retried then.
        Raises TaskNotFound, TaskConflict, InvalidTask, InvalidSchedule, NotArmed.
        """
        change = TaskChange(
            payload=payload,
            action=action,
            due=due,
            schedule=schedule,
            timezone=timezone,
            start=start,
            end=end,
            missed=missed,
            max_runs=max_runs,
            spread=spread,
            expires_after=expires_after,
        )
        change.check()
        return self._change(Verb.UPDATE, id, lambda task: change.applied_to(task, now=self._clock()), rev)

    def cancel(self, id: str, *, rev: int | None = None) -> Task:
        """Never run this task; it is kept as history. A failed task too, which settles it.

        A running attempt is not stopped, but its outcome no longer applies.
        Raises TaskNotFound, TaskConflict.
        """
        keep = self._backend.settings.keeping
        return self._change(Verb.CANCEL, id, lambda task: task.cancelled(now=self._clock(), keep=keep), rev)

    def pause(self, id: str, *, rev: int | None = None) -> Task:
        """Take a scheduled task out of the queue until it is resumed. Raises TaskNotFound, TaskConflict."""
        return self._change(Verb.PAUSE, id, Task.paused, rev)

    def resume(self, id: str, *, rev: int | None = None) -> Task:
        """Put a paused task back; it runs at once if its due date has passed.

        Of a recurring task's occurrences that passed meanwhile, its policy on missed ones disposes.
        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RESUME, id, lambda task: task.resumed(now=self._clock()), rev)

    def run_now(self, id: str, *, rev: int | None = None) -> Task:
        """Run a recurring task once more, now, beside its schedule, which goes on undisturbed.

        A scheduled task that runs once is run now instead of when it is due.
        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RUN_NOW, id, lambda task: task.run_now(now=self._clock()), rev)

    def retry(self, id: str, *, rev: int | None = None) -> Task:
        """Run a failed or expired task again, now, with all attempts to come.

        Raises TaskNotFound, TaskConflict, NotArmed.
        """
        return self._change(Verb.RETRY, id, lambda task: task.retried(now=self._clock()), rev)

    def status(self, *, thorough: bool = False) -> SchedulerStatus:
        """How the scheduler stands, and what is wrong with it, if anything.

        thorough  also look for recurring tasks that fail, and for lanes that nobody looks into

        What AWS refuses, or has not got, is among the problems. Raises AwsUnavailable.
        """
        return read_status(self._backend, thorough=thorough)

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """The thorough status; with `fix`, after `ensure_armed`, and with the problems that are gone by that.

        Raises AwsUnavailable, NotArmed.
        """
        before = self.status().problems if check_flag("fix", fix) else ()
        if fix:
            self._armer.verify()
        status = self.status(thorough=True)
        still = {problem.kind for problem in status.problems}
        mended = tuple(one for one in before if one.mendable and one.kind not in still)
        return Diagnosis(status=status, mended=mended)

    def timeline(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> tuple[Bucket, ...]:
        """How many tasks are to come, in so many buckets from the step that `start` is in.

        step      minute, hour, day or month; days and months are those of the time zone, an IANA name
        count     of the buckets, 1 to 100

        What is overdue counts where it was due. Where there are very many, one lane stands for all, and the
        counts are estimates. Raises InvalidQuery, InvalidSchedule for an unknown time zone.
        """
        return timeline(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def history(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> TaskHistory:
        """How many tasks ended, how, and how late they were started; the arguments are those of `timeline`.

        Cancelled tasks did not run and are left out. Raises InvalidQuery, InvalidSchedule.
        """
        return history(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def look(
        self, *, after: datetime | None = None, before: datetime = NEVER, ids: Iterable[str] = ()
    ) -> Look:
        """A cheap look at the queue between two times, and at these tasks: whatever has changed, it differs.

        One read for the scheduler's record, one for each lane and task.
        """
        begin = None if after is None else check_instant("after", after)
        watched = Watched(after=begin, before=check_instant("before", before), ids=check_ids(ids))
        return look(self.queue, watched)

    def ensure_armed(self) -> SchedulerStatus:
        """See to it that the rule rings for the earliest task, whatever happened to it. Raises NotArmed."""
        self._armer.verify()
        return self.status()

    def export_tasks(self) -> Iterator[bytes]:
        """Every task as a line of JSON, history included, read as it is consumed: for `import_tasks`."""
        return export_tasks(self.queue)

    def import_tasks(
        self, lines: Iterable[bytes | str], *, progress: Callable[[int], None] = lambda _: None
    ) -> ImportReport:
        """Add the tasks of an export as they were, but for ids that are there already.

        One that was running is scheduled, and the attempt that was being made does not count. Each line is
        checked as `add` checks what it is given. `progress` is told now and then how many are done. An import
        that was broken off is repeated from the beginning. Raises InvalidTask with the line that is none, and
        the field; those before it are stored, and the rule rings for them. Raises NotArmed.
        """
        check_progress(progress)
        done = 0
        report = ImportReport(written=0, there=0)
        for chunk in read_chunks(lines):
            lanes = self.queue.lanes
            part, written, there = write_chunk(
                [self._placed(task, lanes) for task in chunk],
                logged("import", lambda tasks: insert_many(self.queue, tasks, {task.id for task in tasks})),
            )
            failures = self._add_again(self._arm_added(written, lanes), IfExists.KEEP)
            self._arm(there)
            report = report + part.corrected(
                AddFailure(index=index, id=task.id, error=failures[task.id])
                for index, task in enumerate(chunk)
                if task.id in failures
            )
            done += len(chunk)
            progress(done)
        return report

    def _placed(self, task: Task, lanes: int) -> Task:
        """The task in its lane, of so many."""
        return msgspec.structs.replace(task, lane=lane_of(task.id, lanes))

    def _check(self, given: NewTask) -> Task:
        return msgspec.structs.replace(given.task(self._clock()), changed_by=self.changed_by)

    def _add(
        self,
        checked: Task,
        if_exists: IfExists,
        *,
        rev: int | None = None,
        is_generated: bool = False,
        is_again: bool = False,
    ) -> Task:
        """Write a new task in its lane, and arm. `is_again`: it was written before, as a twin of another."""
        while True:
            lanes = self.queue.lanes  # only now that all is checked: the first look makes the record
            new = self._placed(checked, lanes)
            if is_again and (there := self.queue.get(new.id)) and is_same_add(there, new):
                self._arm([there])  # the other is the very same: an earlier try to write it took effect late
                return there
            is_elsewhere = not is_generated and self.queue.placed_before([new.id])
            if not is_elsewhere and self._store.insert(new):
                log_change("add", None, new)
                task = new
            else:
                task = self._settle(new, if_exists, rev)
            if task is not new:
                self._arm([task])
                return task
            if not self._arm_added([new], lanes):
                return new if self.queue.lanes == lanes else self.queue.get(new.id) or new
            is_again = True

    def _settle(self, new: Task, if_exists: IfExists, rev: int | None) -> Task:
        """Keep, replace or refuse: settle a new task whose id is taken."""
        try:
            return settle(self.queue, new, if_exists, rev=rev)
        except _TAKEN as taken:
            # It may be the very task of an earlier call that was not answered, and the rule not set for it.
            self._arm_after(taken, self.queue.get_many([new.id]).values())
            raise

    def _add_again(self, tasks: Sequence[Task], if_exists: IfExists) -> dict[str, DuebellError]:
        """Settle what becomes of tasks that were twins; the errors there are. Raises NotArmed."""
        added = self._backend.parallel(lambda task: self._add(task, if_exists, is_again=True), tasks)
        failed = {
            task.id: error
            for task, error in zip(tasks, added, strict=True)
            if isinstance(error, DuebellError)
        }
        for error in failed.values():
            if isinstance(error, NotArmed):
                raise error
        return failed

    def _change(self, verb: Verb, id: str, change: Callable[[Task], Task], rev: int | None) -> Task:
        """Read, change and write on condition of the rev that was read: `rev`, if one is expected."""
        rev = check_rev(rev)
        for _ in range(TRIES):
            task = self.get(id)
            try:
                if rev is not None and task.rev != rev:
                    raise TaskChanged(id, expected=rev, rev=task.rev)
                wanted = change(task)
            except TaskConflict as conflict:
                self._arm_after(conflict, [task])  # an earlier call may have made it, and not been answered
                raise
            if wanted is task:
                self._arm([task])
                return task
            changed = msgspec.structs.replace(wanted, changed_by=self.changed_by)
            if self._store.save(task, changed):
                log_change(verb, task, changed)
                # Whether or not this call changed the time: an earlier one may have, and not armed.
                self._arm([changed])
                return changed
        raise kept_changing(id)

    def _arm_added(self, tasks: Sequence[Task], lanes: int) -> Sequence[Task]:
        """`_arm` for tasks that were just inserted, each in its lane of so many.

        When the queue was given more lanes meanwhile, they run where they are, and are found there. Returns
        those that are twins of tasks with the same ids where these belong now; they are deleted.
        """
        try:
            self._arm(tasks, lanes=lanes)
        except LanesChanged:
            self._arm(tasks)
            return self._twins(tasks, self.queue.lanes_now())
        return ()

    def _twins(self, tasks: Iterable[Task], lanes: int) -> Sequence[Task]:
        """Those of these tasks that were deleted as twins of tasks in their lanes of so many."""
        misplaced = [task for task in tasks if lane_of(task.id, lanes) != task.lane]
        twins = []
        try:
            others = self.queue.in_lanes(lanes, [task.id for task in misplaced])
            for task in misplaced:
                key = QueueKey(queued=task.queued or NEVER, id=task.id, lane=task.lane)
                if task.id in others and drop_twin(self._store, key, lanes, self._clock()):
                    twins.append(task)
        except (AwsError, UnreadableTask) as error:  # runs look again, before they start one
            _LOG.warning("tasks may be stored in two lanes, as could not be looked at: %s", error)
        return twins

    def _arm_ids(self, ids: Collection[str]) -> None:
        """`_arm` for the tasks with these ids, as far as they are there."""
        try:
            there = self.queue.get_many(ids).values()
        except AwsError as error:
            raise NotArmed(f"{len(ids):,} tasks were there before and could not be read: {error}") from error
        self._arm(there)

    def _arm_after(self, conflict: DuebellError, tasks: Collection[Task]) -> None:
        """`_arm` for what is there, when the call itself changed nothing."""
        try:
            self._arm(tasks)
        except NotArmed as error:
            raise NotArmed(f"{conflict}; and {error.__cause__ or error.what}") from conflict

    def _arm(self, tasks: Collection[Task], *, lanes: int | None = None) -> None:
        """See to it that the rule rings for these tasks, as far as they wait in the queue.

        `lanes` is the number of lanes that they were just placed by. Raises LanesChanged if there are others.
        """
        dues: dict[int, datetime] = {}
        waiting = [(task.lane, task.queued, task.id) for task in tasks if task.queued]
        for lane, queued, _ in waiting:
            dues[lane] = min(queued, dues.get(lane, queued))
        if not dues:
            if lanes and tasks and self.queue.lanes_now() != lanes:
                raise LanesChanged
            return
        try:
            lowered = self._armer.lower(dues, lanes=lanes)
            record = self._armer.ensure(lowered)
        except (AwsError, NotArmed, NotDeployed) as error:
            what = f"task {quoted(waiting[0][2])} is" if len(waiting) == 1 else f"{len(waiting):,} tasks are"
            task = next(iter(tasks)) if len(tasks) == 1 else None
            reason, way_out = (error.what, error.way_out) if isinstance(error, NotArmed) else (str(error), "")
            raise NotArmed(f"{what} stored, but {reason}", way_out=way_out, task=task) from error
        self._backend.hasten(record)
