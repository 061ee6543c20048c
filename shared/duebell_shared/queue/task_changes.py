"""The changes of tasks, as updates and deletions of their items. Pure."""

from datetime import datetime
from typing import Any

from duebell_shared.instants import to_utc
from duebell_shared.tasks.fields import STORED
from duebell_shared.tasks.task import QueueKey, Status, Task

from .item_update import Item, ItemChange, ItemDeletion, ItemUpdate
from .items import changes
from .models import stored

__all__ = ["as_added", "change_of", "claim_of", "is_claim", "put_if_free", "update_of"]


def put_if_free(item: Item, now: datetime) -> dict[str, Any]:
    """The arguments that put the item where its key is free, or held by history that has expired by `now`."""
    return {
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#id) OR #expires_at <= :now",
        "ExpressionAttributeNames": {"#id": "id", "#expires_at": "expires_at"},
        "ExpressionAttributeValues": {":now": stored(expires_at=now)["expires_at"]},
    }


def claim_of(key: QueueKey, *, run: str, now: datetime, status: Status) -> ItemUpdate:
    """The update that claims a task.

    A running task looks the same after a claim as before. If the answer to a claim is lost, the SDK makes
    it again, and that must not count another attempt: so a claim is refused that was made already.
    """
    mark = stored(run=run, started_at=now)
    lateness_ms = round((now - key.queued).total_seconds() * 1000)
    return ItemUpdate(
        key=stored(lane=key.lane, id=key.id),
        where=stored(status=status, queued=(key.queued, key.priority)),
        sets={**mark, **stored(status=Status.RUNNING, lateness_ms=lateness_ms)},
        adds=stored(attempt=1, rev=1),
        returns=True,
        unless=mark if status is Status.RUNNING else {},
    )


def change_of(old: Task, new: Task | None) -> ItemChange:
    """The change that makes `new` of `old`, if that is still what is stored."""
    return update_of(old, new) if new else ItemDeletion(_key_of(old), _as_it_was(old))


def update_of(old: Task, new: Task) -> ItemUpdate:
    """The update that makes `new` of `old`, if that is still what is stored."""
    sets, removes = changes(old, new)
    return ItemUpdate(key=_key_of(old), where=_as_it_was(old), sets=sets, removes=removes)


def _key_of(task: Task) -> Item:
    return stored(lane=task.lane, id=task.id)


def _as_it_was(old: Task) -> Item:
    """The attributes by which the stored item is known as the one that was read.

    A reserved task may have been replaced by the reservation of another process within the same millisecond.
    """
    reserved = {} if old.reservation is None else stored(reservation=old.reservation)
    return {**stored(rev=old.rev, created_at=old.created_at), **reserved}


def is_claim(task: Task, key: QueueKey, run: str, now: datetime) -> bool:
    """Tell whether the task is as this claim makes it, and was not moved or ended since."""
    is_there = task.status is Status.RUNNING and task.queued == key.queued
    return is_there and task.run == run and task.started_at == to_utc(now)


def as_added(task: Task) -> tuple[object, ...]:
    """The fields of a task that no run changes; a run may drop the payload."""
    when = task.recurrence.schedule if task.recurrence else task.due
    given = (getattr(task, attribute) for name, attribute in STORED.items() if name != "payload")
    return task.created_at, when, task.reservation, *given
