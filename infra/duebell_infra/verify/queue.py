"""Checks of the queue's table: writes, reads and records, on tasks in a lane that no run reads.

Each is a list of calls. They are made on the table and on a queue in memory. That queue has the same tasks
and keeps the same contract, so its answers are the right ones.
"""

import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import randrange
from typing import Any

from msgspec.structs import replace

from duebell_shared.errors import DuebellError
from duebell_shared.queue.changes import TaskWrite
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.store import Store
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key

from .checks import LANE, Finding, NotMade, Result, Scene, Wrong

_ONE_BY_ONE = "batches are not taken, so it costs more calls: see what was answered, with --json"

_YEAR = 365 * 86_400

#: More changes than any record sees.
_FAR = 10**12

#: A global index lags behind the table by less than this; AWS says a fraction of a second.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
_LAG = timedelta(seconds=10)

#: Writes of one verb: the arguments of each, by the state of its task. The first two must succeed.
_Writes = dict[str, Any]


def _inserts(scene: Scene, name: str) -> _Writes:
    [taken] = scene.insert_tasks(f"{name}-taken")
    [expired] = scene.insert_tasks(f"{name}-over", expires_at=taken.created_at - timedelta(hours=1))
    return {
        "a new id": scene.make(f"{name}-new"),
        "another new id": scene.make(f"{name}-newer"),
        "an id that is taken": replace(taken, payload_json='{"other": true}'),
        "the id of history that has expired": replace(expired, expires_at=taken.expires_at),
    }


def _claims(scene: Scene, name: str) -> _Writes:
    first, second, moved = map(_key_of, scene.insert_tasks(name, 3))
    [runs] = scene.insert_tasks(f"{name}-runs", status=Status.RUNNING)
    return {
        "a task that waits": first,
        "another task that waits": second,
        "a task that is queued for another time": moved._replace(queued=moved.queued + timedelta(seconds=30)),
        "a task that is not there": _key_of(scene.make(f"{name}-missing")),
        "a task that runs": _key_of(runs),
    }


def _changes(scene: Scene, name: str) -> _Writes:
    def changed(task: Task) -> Task:
        """The task with one attribute set and another one removed."""
        return replace(task, payload_json='{"changed": true}', failure=None, rev=task.rev + 1)

    missing = scene.make(f"{name}-missing")
    return {**_saves(scene, name, changed), "a task that is not there": (missing, changed(missing))}


def _deletions(scene: Scene, name: str) -> _Writes:
    return _saves(scene, name, lambda _: None)


def _saves(scene: Scene, name: str, new: Callable[[Task], Task | None]) -> _Writes:
    failure = Failure(type="Verify", message="a failure that the next change takes away")
    first, second, third, fourth = scene.insert_tasks(name, 4, failure=failure)
    old = {
        "a task as it was read": first,
        "another task as it was read": second,
        "a task that was changed since": replace(third, rev=third.rev + 1),
        # An earlier task of the same id that came to the same rev.
        "a task whose id was taken anew": replace(fourth, created_at=scene.now - timedelta(hours=1)),
    }
    return {what: (task, new(task)) for what, task in old.items()}


_KINDS = {"insert": _inserts, "claim": _claims, "change": _changes, "delete": _deletions}


def each(scene: Scene, *, kind: str) -> None:
    """Make the writes of this kind one by one."""
    writes = _KINDS[kind](scene, kind)
    scene.answers.clear()
    for what, given in writes.items():
        scene.compare(what, partial(_written, scene=scene, verb=kind, given=given))
        scene.compare(f"{what}, as it is stored", partial(_stored, given=given))
    if kind == "insert":
        scene.conditions_hold = True


def together(scene: Scene, *, kind: str) -> Finding:
    """Make the writes of this kind with one call, and report whether a batch made the first two."""
    writes = _KINDS[kind](scene, f"{kind}-many")
    scene.answers.clear()
    call = partial(_written, scene=scene, verb=f"{kind}-many", given=list(writes.values()))
    scene.compare(f"with one call, {', '.join(writes)}", call)
    said, alone = str(scene.answers), scene.answers.of("UpdateItem")
    batches = [answer.statements for answer in scene.answers.of("BatchExecuteStatement") if answer.statements]
    for what, given in writes.items():
        scene.compare(f"{what}, as it is stored", partial(_stored, given=given))
    if not any(codes[:2] == (None, None) for codes in batches):
        return Finding(found=f"one by one: {said}", result=Result.SLOWER, way_out=_ONE_BY_ONE)
    if kind == "claim" and len(alone) > len(writes) - 2:  # also those that the batch made
        return Finding(
            found=f"in batches: {said}; RETURNING was not answered", result=Result.SLOWER, way_out=_ONE_BY_ONE
        )
    return Finding(found=f"in batches: {said}")


def _written(store: Store, *, scene: Scene, verb: str, given: Any) -> object:
    """The answer of the store's verb. Raises DuebellError."""
    claim: Any = {"run": scene.run, "now": scene.now, "status": Status.SCHEDULED}
    verbs: dict[str, Callable[[Any], object]] = {
        "insert": store.insert,
        "insert-many": store.insert_many,
        "claim": partial(store.claim, **claim),
        "claim-many": partial(store.claim_many, **claim),
        "change": lambda pair: store.save(*pair),
        "change-many": store.save_many,
        "delete": lambda pair: store.save(*pair),
        "delete-many": store.save_many,
    }
    answer = verbs[verb](given)
    for one in answer if isinstance(answer, list) else []:
        if isinstance(one, DuebellError):
            raise one
    return answer


def _stored(store: Store, *, given: Any) -> Task | None:
    """The task of a write, as it is stored."""
    task: Task | QueueKey = given if isinstance(given, Task | QueueKey) else given[0]
    return store.get(LANE, task.id)


def transaction(scene: Scene, *, is_stale: bool) -> None:
    """Change two tasks in one transaction. If the second was changed since, neither must be written."""
    pair = scene.insert_tasks("cancelled" if is_stale else "transaction", 2)
    read = [pair[0], replace(pair[1], rev=pair[1].rev + is_stale)]
    changed = [replace(task, payload_json='{"changed": true}', rev=task.rev + 1) for task in read]
    writes = [TaskWrite(old, new) for old, new in zip(read, changed, strict=True)]

    def refusals(store: Store) -> list[tuple[int, str]]:
        made = store.transact(writes, token=uuid.uuid4().hex)
        return [(one.index, one.code) for one in made.refusals]

    scene.answers.clear()
    scene.compare("the refusals", refusals)
    scene.compare("the tasks", lambda store: [store.get(LANE, task.id) for task in pair])


def require_conditions(scene: Scene) -> None:
    """Raise NotMade if conditions were not seen to hold: a swap that must lose could win."""
    if not scene.conditions_hold:
        raise NotMade("that conditions hold was not seen on tasks of its own, so the record is left alone")


def swaps_lost(scene: Scene) -> None:
    """Try swaps of the arming record: with a wrong `rev`, with none, with 0. All must be refused."""
    require_conditions(scene)
    record = scene.backend.armer.read()
    scene.answers.clear()
    for stale in (replace(record, rev=record.rev + _FAR), None, replace(record, rev=0)):
        if scene.store.swap_record(stale, record) is not None:
            raise Wrong("the arming record was swapped though it was not as expected: tasks can be lost")


def read(scene: Scene) -> None:
    """Read one task, several, and one that is not there."""
    tasks = [*scene.insert_tasks("read", 2), scene.make("read-missing")]
    scene.answers.clear()
    for task in tasks:
        scene.compare(task.id, partial(_stored, given=task))
    scene.compare("several tasks", lambda store: store.get_many([_key_of(task) for task in tasks]))


def index(scene: Scene) -> None:
    """List tasks that were just stored: all, within bounds, from a place on. Count them, read the head."""
    # At a time of their own, where no other task of this lane is counted with them.
    apart = timedelta(days=2, seconds=randrange(_YEAR))
    first, second, *_, last = map(_key_of, scene.insert_tasks("index", 4, queued=scene.now + apart))
    gone_at = first.queued + timedelta(milliseconds=500)
    gone = QueueKey(queued=gone_at, id=scene.make("index-gone").id, lane=LANE)
    scene.answers.clear()
    bounds: dict[str, Any] = {
        "due-index lists": {},
        "due-index up to a time": {"before": last.queued - timedelta(seconds=1)},
        "due-index from a time": {"after": second.queued, "before": last.queued},
        "due-index from a task": {"after": first},
        "due-index from a place where no item is": {"after": gone},
    }
    for what, given in bounds.items():
        scene.compare(what, partial(_queued, begin=f"{scene.run}-index", bounds=given))
    between: Any = {"after": first.queued, "before": last.queued, "most": 4}
    scene.compare("the count of due-index", lambda store: store.count(LANE, **between))
    scene.compare("whether its head comes before", lambda store: store.head(LANE) <= first.queued)


def history(scene: Scene) -> None:
    """List ended tasks, in both orders and from a place on. Count them. The queue must not have them."""
    # At a time of their own, where no other task of this lane is listed with them.
    began = scene.now - timedelta(days=2, seconds=randrange(_YEAR))
    for number in range(3):
        at = began + number * timedelta(seconds=1)
        scene.insert_tasks(f"history-{number}", status=Status.DONE, finished_at=at, queued=None)
    gone_at = began + timedelta(milliseconds=500)
    gone = PastKey(at=gone_at, id=scene.make("history-gone").id, lane=LANE, kind=Past.DONE)
    scene.answers.clear()
    lists: dict[str, Any] = {
        "past-index lists": {"after": began},
        "past-index in reverse": {"after": began, "latest_first": True},
        "past-index from a place where no item is": {"after": gone},
    }

    def listed(store: Store, *, bounds: Any) -> list[PastKey]:
        return list(store.past(LANE, Past.DONE, before=at, **bounds))

    for what, given in lists.items():
        scene.compare(what, partial(listed, bounds=given), within=_LAG)
    scene.compare("its count", lambda store: store.count_past(LANE, Past.DONE, most=3), within=_LAG)
    waiting = partial(_queued, begin=f"{scene.run}-history", bounds={})
    scene.compare("due-index without what has ended", waiting)


def _queued(store: Store, *, begin: str, bounds: Any) -> list[QueueKey]:
    """The keys of LANE within these bounds whose ids start with `begin`."""
    return [key for key in store.queued(LANE, **bounds) if key.id.startswith(begin)]


def _key_of(task: Task) -> QueueKey:
    """The key of a task in the queue's index."""
    return queue_key(task)._replace(queued=task.queued or task.due)
