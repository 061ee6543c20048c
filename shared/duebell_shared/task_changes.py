"""The changes of tasks, as updates and deletions of their items. Pure."""

from datetime import datetime

from .instants import render, to_utc
from .item_update import Item, ItemChange, ItemDeletion, ItemUpdate
from .items import changes
from .room import room_of_claim
from .task import QueueKey, Status, Task

__all__ = ["as_added", "change_of", "claim_of", "is_claim", "item_key", "update_of"]


def claim_of(key: QueueKey, *, run: str, now: datetime, status: Status) -> ItemUpdate:
    """The update that claims a task.

    A running task looks the same after a claim as before. If the answer to a claim is lost, the SDK makes
    it again, and that must not count another attempt: so a claim is refused where it has been made.
    """
    mark = {"run": {"S": run}, "started_at": {"S": render(now)}}
    sets = {
        "status": {"S": Status.RUNNING.value},
        **mark,
        "lateness_ms": {"N": str(round((now - key.queued).total_seconds() * 1000))},
    }
    return ItemUpdate(
        key=item_key(key.lane, key.id),
        where={"status": {"S": status.value}, "queued": {"S": render(key.queued)}},
        sets={**sets, **room_of_claim(sets, status)},
        adds={"attempt": {"N": "1"}, "rev": {"N": "1"}},
        returns=True,
        unless=mark if status is Status.RUNNING else {},
    )


def change_of(old: Task, new: Task | None) -> ItemChange:
    """The change that makes `new` of `old`, if that is still what is stored."""
    return ItemDeletion(item_key(old.lane, old.id), _as_it_was(old)) if new is None else update_of(old, new)


def update_of(old: Task, new: Task) -> ItemUpdate:
    """The update that makes `new` of `old`, likewise."""
    sets, removes = changes(old, new)
    return ItemUpdate(key=item_key(old.lane, old.id), where=_as_it_was(old), sets=sets, removes=removes)


def _as_it_was(old: Task) -> Item:
    """The attributes by which the stored item is known as the one that was read."""
    return {"rev": {"N": str(old.rev)}, "created_at": {"S": render(old.created_at)}}


def item_key(lane: int, id: str) -> Item:
    """The key of the item of the task with this id."""
    return {"lane": {"S": str(lane)}, "id": {"S": id}}


def is_claim(task: Task, key: QueueKey, run: str, now: datetime) -> bool:
    """Tell whether the task is as this claim makes it, and was not moved or ended since."""
    is_there = task.status is Status.RUNNING and task.queued == key.queued
    return is_there and task.run == run and task.started_at == to_utc(now)


def as_added(task: Task) -> tuple[object, ...]:
    """The fields of a task that no run changes; a run may drop the payload."""
    when = task.recurrence.schedule if task.recurrence else task.due
    return task.created_at, task.action, when, task.spread, task.expires_after
