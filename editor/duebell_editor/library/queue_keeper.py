"""The part of the editor that works on the whole queue, and the one way in which it changes a stored task."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from duebell_editor.listing.filters import check_flag
from duebell_shared.backend import Backend
from duebell_shared.errors import TaskChanged, TaskConflict
from duebell_shared.tasks.fields import checked
from duebell_shared.tasks.given import check_progress
from duebell_shared.tasks.intake_mark import IntakeMark
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.verbs import Verb

from .adder import Adder
from .change_log import log_change
from .queue_reader import QueueReader
from .rule_setter import RuleSetter
from .taken_ids import TRIES, kept_changing
from .transfer import ImportReport

if TYPE_CHECKING:
    from .relane import Relaned
    from .sync import SyncReport

__all__ = ["QueueKeeper"]


class QueueKeeper(QueueReader):
    """Reads the queue, and keeps it as a whole: its lanes, its declared tasks, what is imported."""

    def __init__(self, backend: Backend, changed_by: str | None) -> None:
        super().__init__(backend)
        self._store = backend.store
        self._clock = backend.clock
        self._rule = RuleSetter(backend, self.queue)
        self._adder = Adder(backend, self.queue, self._rule)
        self.changed_by = changed_by
        #: The mark of the intake message that this editor acts for.
        self.intake_mark: IntakeMark | None = None

    def sync(self, *, dry_run: bool = False) -> "SyncReport":
        """Bring the recurring tasks of the queue to what the code of the worker declares.

        With `@worker.recurring`, that is; the worker that started last says what it is. Tasks are added,
        changed in the fields that differ, and cancelled when they are declared no more. Tasks that were never
        declared in code are left alone, and a paused task stays paused. Safe to repeat at any time.

        dry_run  change nothing: the report is the plan

        A task that runs at this moment cannot be changed, and is one of the failures.
        Raises WorkerNotStarted, InvalidQuery, NotArmed.
        """
        from .sync import Syncer  # noqa: PLC0415 (few processes ever do this)

        syncer = Syncer(
            self._backend,
            self.queue,
            self._adder,
            self._rule,
            change=self._change,
            changed_by=self.changed_by,
        )
        return syncer.sync(dry_run=check_flag("dry_run", dry_run))

    def relane(self, lanes: int, *, progress: Callable[[str], None] = lambda _: None) -> "Relaned":
        """Give the queue more lanes while it is in use, and move the tasks that wait to where they belong.

        No task is started meanwhile: until the running actions have ended and all tasks are moved, seconds to
        minutes. `progress` is called with lines to show. Repeat an interrupted relane with the same number.
        Raises InvalidSettings for fewer lanes than there are or too many, TaskConflict while another process
        does this or a run does not leave, AwsError, NotArmed and NotDeployed.
        """
        from .relane import relane  # noqa: PLC0415 (few processes ever do this)

        check_progress(progress)
        return relane(self._backend, lanes, progress=progress)

    def import_tasks(
        self, lines: Iterable[bytes | str], *, progress: Callable[[int], None] = lambda _: None
    ) -> ImportReport:
        """Add the tasks of an export as they were; a task whose id exists already is left out.

        A task that was running becomes scheduled, and the interrupted attempt does not count. Each line is
        checked as by `add`. `progress` is called now and then with the number of tasks done. An interrupted
        import is repeated from the beginning. Raises InvalidTask with the line and the field that are wrong;
        the tasks before this line are stored, and the rule rings for them. Raises NotArmed.
        """
        check_progress(progress)
        return self._adder.import_lines(lines, progress)

    def _signed(self, task: Task) -> Task:
        """The task with the author of this editor's changes."""
        marks = {"intake": self.intake_mark} if self.intake_mark else {}
        return msgspec.structs.replace(task, changed_by=self.changed_by, **marks)

    def _change(self, verb: Verb, id: str, change: Callable[[Task], Task], rev: int | None) -> Task:
        """Read the task, change it, and write it on condition of the rev read; `rev` is the one expected."""
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
            changed = self._signed(wanted)
            if self._store.save(task, changed):
                log_change(verb, task, changed)
                # Even if this call did not change the time: an earlier one may have, and failed to arm.
                self._rule.arm([changed])
                return changed
        raise kept_changing(id)
