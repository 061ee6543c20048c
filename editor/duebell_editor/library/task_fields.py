"""The fields of new tasks and of changes as keyword arguments, for type checkers."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from duebell_shared.tasks.follow_up import Then
from duebell_shared.tasks.recurrence import Missed

__all__ = ["ChangeFields", "TaskFields"]

_Missed = Missed | Literal["once", "all", "skip"]


class ChangeFields(TypedDict, total=False):
    """The arguments of `Editor.update`, but for `id` and `rev`."""

    payload: object
    action: str
    due: datetime | timedelta
    schedule: str
    timezone: str | None
    start: datetime | None
    end: datetime | None
    missed: _Missed | None
    max_runs: int | None
    spread: timedelta | None
    expires_after: timedelta | None
    priority: int | None
    on_failed: str | None
    then: Then | Mapping[str, Any] | None


class TaskFields(TypedDict, total=False):
    """The arguments of `Editor.add`, but for `action`, `if_exists`, `at_most` and `rev`."""

    due: datetime | timedelta | None
    schedule: str | None
    timezone: str | None
    start: datetime | None
    end: datetime | None
    missed: _Missed | None
    max_runs: int | None
    spread: timedelta | None
    expires_after: timedelta | None
    priority: int | None
    on_failed: str | None
    then: Then | Mapping[str, Any] | None
    payload: object
    id: str | None
