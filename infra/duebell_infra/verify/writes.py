"""Checks of the writes to the queue: each form made, and refused for each reason, in a lane apart."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from duebell_shared.queue.store import Claimed, Failed, NotEligible, Taken
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.task import Status, Task

from .check import Found, check, expect
from .finding import Result
from .own_tasks import LANE, key_of
from .scene import Scene

__all__ = ["change", "change_many", "claim", "claim_many", "delete", "delete_many", "insert", "insert_many"]

_BATCH = "BatchExecuteStatement"

_ONE_BY_ONE = "batches are not taken, so it costs more calls: see what was answered, with --json"

_FAILURE = Failure(type="Verify", message="a failure that the next change takes away")


class _Write(NamedTuple):
    """A write, and its right result.

    id         the id of the task
    given      what the store is given
    is_made    whether it must be made, or else refused
    otherwise  what is wrong if it is not so
    after      the task as it must be stored then; None: it must not be there
    """

    id: str
    given: Any
    is_made: bool
    otherwise: str
    after: Task | None


@check()
def insert(scene: Scene) -> None:
    """Tasks whose id is new, whose id is taken, and in the place of history that has expired."""
    _one_by_one(scene, _inserts(scene, "insert"), scene.store.insert)
    scene.conditions_hold = True


@check()
def insert_many(scene: Scene) -> Found:
    """The same with one call."""
    return _together(scene, _inserts(scene, "insert-many"), scene.store.insert_many)


def _inserts(scene: Scene, name: str) -> list[_Write]:
    new = [scene.own.make(f"{name}-{number}") for number in range(2)]
    [taken] = scene.own.stored(f"{name}-taken")
    [expired] = scene.own.stored(f"{name}-over", expires_at=taken.created_at - timedelta(hours=1))
    other = replace(taken, payload_json='{"other": true}')
    over = replace(expired, payload_json='{"other": true}', expires_at=taken.expires_at)
    return [
        *(_Write(task.id, task, True, "a task whose id is new could not be inserted", task) for task in new),
        _Write(taken.id, other, False, "an id that is taken was inserted again", taken),
        _Write(over.id, over, True, "history that has expired was in the way of a new task", over),
    ]


@check()
def claim(scene: Scene) -> None:
    """Tasks that wait, one that is queued for another time, one that is not there, one that runs already."""
    now = scene.own.now
    claim = partial(scene.store.claim, run=scene.own.run, now=now, status=Status.SCHEDULED)
    writes = _claims(scene, "claim", now)
    _one_by_one(scene, writes, claim)
    expect(not claim(writes[0].given), "a task that runs was claimed a second time")


@check()
def claim_many(scene: Scene) -> Found:
    """The same with one call, but for one that runs already."""
    now = scene.own.now
    claim = partial(scene.store.claim_many, run=scene.own.run, now=now, status=Status.SCHEDULED)
    found = _together(scene, _claims(scene, "claim-many", now), claim)
    if found.result is not Result.OK:
        return found
    responses = scene.answers.of(_BATCH)[-1].parsed["Responses"]
    if not all("Item" in response for response in responses[:2]):
        return Found(f"{found.text}; RETURNING was not answered", Result.SLOWER, _ONE_BY_ONE)
    return Found(f"with RETURNING, {found.text}")


def _claims(scene: Scene, name: str, now: datetime) -> list[_Write]:
    def claimed(task: Task) -> Task:
        changed = {"status": Status.RUNNING, "attempt": task.attempt + 1, "rev": task.rev + 1}
        late = (now - key_of(task).queued).total_seconds()
        return replace(task, **changed, started_at=now, run=scene.own.run, lateness_ms=round(late * 1000))

    *waiting, moved = scene.own.stored(name, 3)
    missing = scene.own.make(f"{name}-missing")
    earlier = key_of(moved)._replace(queued=key_of(moved).queued + timedelta(seconds=30))
    refused = "a task that waits could not be claimed"
    return [
        *(_Write(task.id, key_of(task), True, refused, claimed(task)) for task in waiting),
        _Write(moved.id, earlier, False, "a task was claimed that is queued for another time", moved),
        _Write(missing.id, key_of(missing), False, "a task that is not there was claimed", None),
    ]


@check()
def change(scene: Scene) -> None:
    """Tasks as they were read, one that was changed since, and one that is not there."""
    _one_by_one(scene, _changes(scene, "change"), lambda pair: scene.store.save(*pair))


@check()
def change_many(scene: Scene) -> Found:
    """The same with one call."""
    return _together(scene, _changes(scene, "change-many"), scene.store.save_many)


def _changes(scene: Scene, name: str) -> list[_Write]:
    def changed(task: Task) -> Task:
        """With one attribute set, another one removed."""
        return replace(task, payload_json='{"changed": true}', failure=None, rev=task.rev + 1)

    *read, third = scene.own.stored(name, 3, failure=_FAILURE)
    missing, stale = scene.own.make(f"{name}-missing"), replace(third, rev=third.rev + 1)
    refused = "a task that is as it was read could not be changed"
    return [
        *(_Write(task.id, (task, changed(task)), True, refused, changed(task)) for task in read),
        _Write(
            stale.id, (stale, changed(stale)), False, "a task that was changed since was overwritten", third
        ),
        _Write(missing.id, (missing, changed(missing)), False, "a task that is not there was changed", None),
    ]


@check()
def delete(scene: Scene) -> None:
    """Tasks as they were read, one that was changed since, and one whose id was taken anew."""
    _one_by_one(scene, _deletions(scene, "delete"), lambda pair: scene.store.save(*pair))


@check()
def delete_many(scene: Scene) -> Found:
    """The same with one call."""
    return _together(scene, _deletions(scene, "delete-many"), scene.store.save_many)


def _deletions(scene: Scene, name: str) -> list[_Write]:
    *read, third, fourth = scene.own.stored(name, 4)
    stale = replace(third, rev=third.rev + 1)
    # An earlier task of the same id that came to the same rev.
    earlier = replace(fourth, created_at=fourth.created_at - timedelta(hours=1))
    made = "a task that was changed since was deleted"
    refused = "a task that is as it was read could not be deleted"
    return [
        *(_Write(task.id, (task, None), True, refused, None) for task in read),
        _Write(stale.id, (stale, None), False, made, third),
        _Write(earlier.id, (earlier, None), False, made, fourth),
    ]


def _one_by_one(scene: Scene, writes: list[_Write], make: Callable[[Any], object]) -> None:
    scene.answers.clear()
    for write in writes:
        _expect(scene, write, make(write.given))


def _together(scene: Scene, writes: list[_Write], make: Callable[[Any], Sequence[object]]) -> Found:
    """Make the writes with one call; find out whether it made the first two, and in which form."""
    scene.answers.clear()
    came = make([write.given for write in writes])
    said, forms = str(scene.answers), [call.answer for call in scene.answers.of(_BATCH)]
    for write, one in zip(writes, came, strict=True):
        _expect(scene, write, one)
    if not any(answer.statements and not any(answer.statements[:2]) for answer in forms):
        return Found(f"one by one: {said}", Result.SLOWER, _ONE_BY_ONE)
    if len(forms) > 1:
        way_out = "the shorter form of the statement is not taken: nothing needs to be done"
        return Found(f"in batches, in the longer form: {said}", Result.SLOWER, way_out)
    return Found(f"in batches: {said}")


def _expect(scene: Scene, write: _Write, came: object) -> None:
    if isinstance(came, Failed):
        raise came.error
    claimed = came.task if isinstance(came, Claimed) else came
    is_made = bool(claimed) and not isinstance(claimed, Taken | NotEligible)
    expect(is_made is write.is_made, write.otherwise)
    there = scene.store.get(LANE, write.id)
    expect(there == write.after, f"{write.id} is stored as {there}, and {write.after} is right")
    expect(
        not isinstance(claimed, Task) or claimed == there, f"a claim returned {claimed}, and stored {there}"
    )
