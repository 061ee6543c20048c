"""What `Editor.update` is asked to change of a task."""

from datetime import datetime, timedelta

import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.errors import InvalidTask
from duebell_shared.item_size import check_size
from duebell_shared.recurrence import Missed
from duebell_shared.task import Task

from .recurring import Recurring, changed_recurrence

__all__ = ["Update"]


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `Editor.update`. UNSET: it stays as it is; None: as for a task added without it."""

    payload: object = UNSET
    action: str | UnsetType = UNSET
    due: datetime | timedelta | UnsetType = UNSET
    schedule: str | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    start: datetime | UnsetType | None = UNSET
    end: datetime | UnsetType | None = UNSET
    missed: Missed | str | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET
    spread: timedelta | UnsetType | None = UNSET
    expires_after: timedelta | UnsetType | None = UNSET

    def check(self) -> None:
        """Raise InvalidTask for what no task could be asked for."""
        if all(value is UNSET for value in msgspec.structs.astuple(self)):
            raise InvalidTask("change", "is empty: give a payload, an action, a due date or a schedule")
        if self.due is not UNSET and self._recurring.says_something:
            raise InvalidTask("due", "goes without a schedule: move the occurrence, then update the schedule")
        if self.schedule is None:
            raise InvalidTask("schedule", "cannot be taken away: cancel the task, or give it an end")

    def of(self, task: Task, *, now: datetime) -> Task:
        """The task with the changes. Raises TaskConflict, InvalidTask, InvalidSchedule."""
        changed = task.updated(payload=self.payload, action=self.action, expires_after=self.expires_after)
        if self.spread is not UNSET:
            changed = changed.spread_over(self.spread, now=now)
        if self.due is not UNSET:
            changed = changed.moved(self.due, now=now)
        if self._recurring.says_something:
            changed = changed.rescheduled(changed_recurrence(changed, self._recurring, now), now=now)
        return check_size(changed)

    @property
    def _recurring(self) -> Recurring:
        return Recurring(**{field: getattr(self, field) for field in Recurring.__struct_fields__})
