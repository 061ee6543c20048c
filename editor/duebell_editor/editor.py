"""The library that services embed: add tasks to the queue, look at them, change them."""

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, Self

import boto3
import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.add_report import AddReport
from duebell_shared.backend import Backend
from duebell_shared.errors import (
    InvalidTask,
    TaskChanged,
    TaskConflict,
)
from duebell_shared.given import check_changed_by, check_progress, check_rev
from duebell_shared.recurrence import Missed
from duebell_shared.settings import Settings
from duebell_shared.task import Task
from duebell_shared.verbs import Verb

from .adding import Adder
from .change_log import log_change
from .change_many import (
    ChangeReport,
    change_all,
    check_verb,
)
from .filtering import check_flag, check_ids
from .many import check_all
from .queue_reader import QueueReader
from .rule_setting import RuleSetter
from .status import Diagnosis, SchedulerStatus
from .taken import (
    TRIES,
    IfExists,
    check_if_exists,
    kept_changing,
)
from .transfer import ImportReport
from .values import NewTask, TaskChange

__all__ = ["Editor", "IfExists"]

_LOG = logging.getLogger("duebell.editor")


class Editor(QueueReader):
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
        super().__init__(backend or Backend.connect(settings or Settings.from_env(), session))
        self._store = self._backend.store
        self._clock = self._backend.clock
        self._rule = RuleSetter(self._backend, self.queue)
        self._adder = Adder(self._backend, self.queue, self._rule)
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
        return self._adder.add(self._check(given), if_exists, rev=rev, is_generated=id is None)

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

        return self._adder.add_many(check_all(tasks, check), chosen, if_exists, progress)

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

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """The thorough status; with `fix`, after `ensure_armed`, and with the problems that are gone by that.

        Raises AwsUnavailable, NotArmed.
        """
        before = self.status().problems if check_flag("fix", fix) else ()
        if fix:
            self._backend.armer.verify()
        status = self.status(thorough=True)
        still = {problem.kind for problem in status.problems}
        mended = tuple(one for one in before if one.mendable and one.kind not in still)
        return Diagnosis(status=status, mended=mended)

    def ensure_armed(self) -> SchedulerStatus:
        """See to it that the rule rings for the earliest task, whatever happened to it. Raises NotArmed."""
        self._backend.armer.verify()
        return self.status()

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
        return self._adder.import_lines(lines, progress)

    def _check(self, given: NewTask) -> Task:
        return msgspec.structs.replace(given.task(self._clock()), changed_by=self.changed_by)

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
                self._rule.arm_after(
                    conflict, [task]
                )  # an earlier call may have made it, and not been answered
                raise
            if wanted is task:
                self._rule.arm([task])
                return task
            changed = msgspec.structs.replace(wanted, changed_by=self.changed_by)
            if self._store.save(task, changed):
                log_change(verb, task, changed)
                # Whether or not this call changed the time: an earlier one may have, and not armed.
                self._rule.arm([changed])
                return changed
        raise kept_changing(id)
