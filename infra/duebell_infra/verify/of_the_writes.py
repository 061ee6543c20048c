"""Checks of the writes to the queue: each form made, and refused for each reason, in a lane apart."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from duebell_shared.failure import Failure
from duebell_shared.store import Claimed, Failed, Inserted, NotEligible, Saved, Taken
from duebell_shared.task import QueueKey, Status, Task

from .finding import Found, Result, Wrong
from .scene import Scene

__all__ = ["change", "change_many", "claim", "claim_many", "delete", "delete_many", "insert", "insert_many"]

_BATCH = "BatchExecuteStatement"

_ONE_BY_ONE = "batches are not taken, so it costs more calls: see what was answered, with --json"


def insert(scene: Scene) -> Found:
    """A task whose id is new, whose id is taken, and in the place of history that has expired."""
    store, own = scene.backend.store, scene.own
    [task] = own.stored("insert")
    _refused(store.insert(_other(task)), "an id that is taken was inserted again")
    _unchanged(scene, task)
    scene.conditions_hold = True
    [expired] = own.stored("insert-over", expires_at=task.created_at - timedelta(hours=1))
    _made(store.insert(_other(expired)), "history that has expired was in the way of a new task")
    return Found(str(scene.answers))


def insert_many(scene: Scene) -> Found:
    """Two new tasks, one whose id is taken, one in the place of expired history, with one call."""
    store, own = scene.backend.store, scene.own
    [taken] = own.stored("insert-many-taken")
    [expired] = own.stored("insert-many-over", expires_at=taken.created_at - timedelta(hours=1))
    new = [own.make(f"insert-many-{number}") for number in range(2)]
    scene.answers.clear()
    came = store.insert_many([*new, _other(taken), replace(_other(expired), expires_at=taken.expires_at)])
    _as_expected(came, [Inserted(), Inserted(), Taken(), Inserted()])
    for task in (*new, taken):
        _unchanged(scene, task)
    return _by_batch(scene, first=2)


def claim(scene: Scene) -> Found:
    """A task that waits, one that runs already, and one that is not there."""
    store, own = scene.backend.store, scene.own
    [task] = own.stored("claim")
    missing = own.make("claim-missing")
    scene.answers.clear()
    claim = partial(store.claim, run=own.run, now=scene.now(), status=Status.SCHEDULED)
    _claimed(task, claim(_key(task)))
    _refused(claim(_key(task)), "a task that runs was claimed a second time")
    _refused(claim(_key(missing)), "a task that is not there was claimed")
    _not_there(scene, missing)
    return Found(str(scene.answers))


def claim_many(scene: Scene) -> Found:
    """Two tasks that wait, one that is queued for another time, one that is not there; with one call."""
    store, own = scene.backend.store, scene.own
    tasks = own.stored("claim-many", 3)
    missing = own.make("claim-many-missing")
    keys = [_key(task) for task in (*tasks, missing)]
    keys[2] = keys[2]._replace(queued=keys[2].queued + timedelta(seconds=30))
    scene.answers.clear()
    came = store.claim_many(keys, run=own.run, now=scene.now(), status=Status.SCHEDULED)
    for task, claimed in zip(tasks[:2], came[:2], strict=True):
        if isinstance(claimed, Failed):
            raise claimed.error
        _claimed(task, claimed.task if isinstance(claimed, Claimed) else None)
    _as_expected(came[2:], [NotEligible(), NotEligible()])
    _unchanged(scene, tasks[2])
    _not_there(scene, missing)
    found = _by_batch(scene, first=2)
    if found.result is not Result.OK:
        return found
    responses = scene.answers.of(_BATCH)[-1].parsed["Responses"]
    if not all("Item" in response for response in responses[:2]):
        return Found(f"{found.text}; RETURNING was not answered", Result.SLOWER, _ONE_BY_ONE)
    return Found(f"with RETURNING, {found.text}")


def change(scene: Scene) -> Found:
    """A task as it was read, one that was changed since, and one that is not there."""
    store, own = scene.backend.store, scene.own
    [task] = own.stored("change", failure=_FAILURE)
    missing = own.make("change-missing")
    scene.answers.clear()
    _made(store.save(task, _changed(task)), "a task that is as it was read could not be changed")
    _refused(store.save(task, _other(_changed(task))), "a task that was changed since was overwritten")
    _refused(store.save(missing, _changed(missing)), "a task that is not there was changed")
    _unchanged(scene, _changed(task))
    _not_there(scene, missing)
    return Found(str(scene.answers))


def change_many(scene: Scene) -> Found:
    """Two tasks as they were read, one that was changed since, one that is not there; with one call."""
    store, own = scene.backend.store, scene.own
    tasks = own.stored("change-many", 3, failure=_FAILURE)
    missing = own.make("change-many-missing")
    stale = replace(tasks[2], rev=tasks[2].rev + 1)
    scene.answers.clear()
    came = store.save_many([(task, _changed(task)) for task in (*tasks[:2], stale, missing)])
    _as_expected(came, [Saved(), Saved(), NotEligible(), NotEligible()])
    for task in (_changed(tasks[0]), _changed(tasks[1]), tasks[2]):
        _unchanged(scene, task)
    _not_there(scene, missing)
    return _by_batch(scene, first=2)


def delete(scene: Scene) -> Found:
    """A task as it was read, after one that was changed since, and one whose id was taken anew."""
    store, own = scene.backend.store, scene.own
    [task] = own.stored("delete")
    scene.answers.clear()
    for other in (replace(task, rev=task.rev + 1), _earlier(task)):
        _refused(store.save(other, None), "a task that was changed since was deleted")
    _unchanged(scene, task)
    _made(store.save(task, None), "a task that is as it was read could not be deleted")
    _not_there(scene, task)
    return Found(str(scene.answers))


def delete_many(scene: Scene) -> Found:
    """Two tasks as they were read, one that was changed since, one whose id was taken anew; with one call."""
    store, own = scene.backend.store, scene.own
    tasks = own.stored("delete-many", 4)
    stale, taken = replace(tasks[2], rev=tasks[2].rev + 1), _earlier(tasks[3])
    scene.answers.clear()
    came = store.save_many([(task, None) for task in (*tasks[:2], stale, taken)])
    _as_expected(came, [Saved(), Saved(), NotEligible(), NotEligible()])
    for task in tasks[:2]:
        _not_there(scene, task)
    for task in tasks[2:]:
        _unchanged(scene, task)
    return _by_batch(scene, first=2)


_FAILURE = Failure(type="Verify", message="a failure that the next change takes away")


def _changed(task: Task) -> Task:
    """With one attribute set, another one removed."""
    return replace(task, payload_json='{"changed": true}', failure=None, rev=task.rev + 1)


def _other(task: Task) -> Task:
    """Another task of the same id."""
    return replace(task, payload_json='{"other": true}')


def _earlier(task: Task) -> Task:
    """One that had the id before, and came to the same rev."""
    return replace(task, created_at=task.created_at - timedelta(hours=1))


def _key(task: Task) -> QueueKey:
    return QueueKey(queued=task.queued or task.due, id=task.id, lane=task.lane)


def _by_batch(scene: Scene, *, first: int) -> Found:
    """Whether one call made the first statements, and in which form."""
    forms = [call.answer for call in scene.answers.of(_BATCH)]
    made = [answer for answer in forms if answer.statements and not any(answer.statements[:first])]
    said = str(scene.answers)
    if not made:
        return Found(f"one by one: {said}", Result.SLOWER, _ONE_BY_ONE)
    if len(forms) > 1:
        way_out = "the shorter form of the statement is not taken: nothing needs to be done"
        return Found(f"in batches, in the longer form: {said}", Result.SLOWER, way_out)
    return Found(f"in batches: {said}")


def _made(made: object, otherwise: str) -> None:
    if not made:
        raise Wrong(otherwise)


def _refused(made: object, otherwise: str) -> None:
    if made:
        raise Wrong(otherwise)


def _as_expected(came: Sequence[object], expected: Sequence[object]) -> None:
    for result in came:
        if isinstance(result, Failed):
            raise result.error
    if list(came) != list(expected):
        raise Wrong(f"of many writes came {list(came)}, and {list(expected)} is right")


def _claimed(task: Task, claimed: Task | None) -> None:
    if claimed is None:
        raise Wrong("a task that waits could not be claimed")
    expected = (Status.RUNNING, task.attempt + 1, task.rev + 1, task.payload_json)
    if (claimed.status, claimed.attempt, claimed.rev, claimed.payload_json) != expected:
        raise Wrong(f"a claim made {claimed.status}, attempt {claimed.attempt}, rev {claimed.rev} of a task")


def _unchanged(scene: Scene, task: Task) -> None:
    there = scene.backend.store.get(task.lane, task.id)
    if there != task:
        raise Wrong(f"{task.id} is not stored as it was written: {there}")


def _not_there(scene: Scene, task: Task) -> None:
    if scene.backend.store.get(task.lane, task.id) is not None:
        raise Wrong(f"{task.id} is stored, and should not be")
