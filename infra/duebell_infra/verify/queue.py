"""Checks of the queue's table: writes, reads and records, on tasks in a lane that no run reads."""

import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from random import randrange
from typing import Any, NamedTuple

from msgspec.structs import replace

from duebell_shared.aws.aws_session import is_here
from duebell_shared.errors import DuebellError
from duebell_shared.limits.limits import Limits, Semaphore
from duebell_shared.queue.changes import TaskWrite
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.tasks.checks import VERIFY
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .checks import Found, NotMade, Result, Wrong, expect
from .scene import LANE, Scene, key_of

_BATCH = "BatchExecuteStatement"

_ONE_BY_ONE = "batches are not taken, so it costs more calls: see what was answered, with --json"

_YEAR = 365 * 86_400

#: More changes than any record sees.
_FAR = 10**12

#: A global index lags behind the table by less than this; AWS says a fraction of a second.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
_LAG, _NONE = timedelta(seconds=10), timedelta(0)


class _Write(NamedTuple):
    """A write, and its right result.

    what       the state of the task, in words
    arguments  what the store's verb is given
    is_made    whether it must be made, or else refused
    id         the id of the task
    after      the task as it must be stored then; None: it must not be there
    """

    what: str
    arguments: Any
    is_made: bool
    id: str
    after: Task | None


class _Writes(NamedTuple):
    """Writes of one verb, the first two of which must be made; the store's verbs for one and for several."""

    writes: list[_Write]
    one: Callable[[Any], object]
    many: Callable[[list[Any]], Sequence[object]]


def _inserts(scene: Scene, name: str) -> _Writes:
    new = [scene.own.make(f"{name}-{number}") for number in range(2)]
    [taken] = scene.own.stored(f"{name}-taken")
    [expired] = scene.own.stored(f"{name}-over", expires_at=taken.created_at - timedelta(hours=1))
    other = replace(taken, payload_json='{"other": true}')
    over = replace(expired, payload_json='{"other": true}', expires_at=taken.expires_at)
    writes = [
        *(_Write("a new id", task, True, task.id, task) for task in new),
        _Write("an id that is taken", other, False, taken.id, taken),
        _Write("the id of history that has expired", over, True, over.id, over),
    ]
    return _Writes(writes, scene.store.insert, scene.store.insert_many)


def _claims(scene: Scene, name: str) -> _Writes:
    now, run = scene.own.now, scene.own.run

    def claimed(task: Task) -> Task:
        late = (now - key_of(task).queued).total_seconds()
        started = {"started_at": now, "run": run, "lateness_ms": round(late * 1000)}
        return replace(task, status=Status.RUNNING, attempt=task.attempt + 1, rev=task.rev + 1, **started)

    *waiting, moved = scene.own.stored(name, 3)
    [runs] = scene.own.stored(f"{name}-runs", status=Status.RUNNING)
    missing = scene.own.make(f"{name}-missing")
    earlier = key_of(moved)._replace(queued=key_of(moved).queued + timedelta(seconds=30))
    writes = [
        *(_Write("a task that waits", key_of(task), True, task.id, claimed(task)) for task in waiting),
        _Write("a task that is queued for another time", earlier, False, moved.id, moved),
        _Write("a task that is not there", key_of(missing), False, missing.id, None),
        _Write("a task that runs", key_of(runs), False, runs.id, runs),
    ]
    how: Any = {"run": run, "now": now, "status": Status.SCHEDULED}
    return _Writes(writes, partial(scene.store.claim, **how), partial(scene.store.claim_many, **how))


def _changes(scene: Scene, name: str) -> _Writes:
    def changed(task: Task) -> Task:
        """With one attribute set, another one removed."""
        return replace(task, payload_json='{"changed": true}', failure=None, rev=task.rev + 1)

    made = _saves(scene, name, changed)
    missing = scene.own.make(f"{name}-missing")
    gone = _Write("a task that is not there", (missing, changed(missing)), False, missing.id, None)
    return made._replace(writes=[*made.writes, gone])


def _deletions(scene: Scene, name: str) -> _Writes:
    return _saves(scene, name, lambda _: None)


def _saves(scene: Scene, name: str, new: Callable[[Task], Task | None]) -> _Writes:
    failure = Failure(type="Verify", message="a failure that the next change takes away")
    *read, third, fourth = scene.own.stored(name, 4, failure=failure)
    stale = replace(third, rev=third.rev + 1)
    # An earlier task of the same id that came to the same rev.
    earlier = replace(fourth, created_at=fourth.created_at - timedelta(hours=1))
    writes = [
        *(_Write("a task as it was read", (task, new(task)), True, task.id, new(task)) for task in read),
        _Write("a task that was changed since", (stale, new(stale)), False, stale.id, third),
        _Write("a task whose id was taken anew", (earlier, new(earlier)), False, earlier.id, fourth),
    ]
    return _Writes(writes, lambda pair: scene.store.save(*pair), scene.store.save_many)


_KINDS = {"insert": _inserts, "claim": _claims, "change": _changes, "delete": _deletions}


def each(scene: Scene, *, kind: str) -> None:
    """Make the writes of this kind one by one."""
    made = _KINDS[kind](scene, kind)
    scene.answers.calls.clear()
    for write in made.writes:
        _expect(scene, write, made.one(write.arguments))
    scene.conditions_hold |= kind == "insert"


def together(scene: Scene, *, kind: str) -> Found:
    """Make the writes of this kind with one call; find out whether it made the first two."""
    made = _KINDS[kind](scene, f"{kind}-many")
    scene.answers.calls.clear()
    came = made.many([write.arguments for write in made.writes])
    said, batches = str(scene.answers), scene.answers.of(_BATCH)
    for write, one in zip(made.writes, came, strict=True):
        _expect(scene, write, one)
    if not any(call.answer.statements and not any(call.answer.statements[:2]) for call in batches):
        return Found(f"one by one: {said}", Result.SLOWER, _ONE_BY_ONE)
    if kind == "claim" and not all("Item" in one for one in batches[-1].parsed["Responses"][:2]):
        return Found(f"in batches: {said}; RETURNING was not answered", Result.SLOWER, _ONE_BY_ONE)
    return Found(f"in batches: {said}")


def _expect(scene: Scene, write: _Write, came: object) -> None:
    if isinstance(came, DuebellError):
        raise came
    should, was = ("made", "refused") if write.is_made else ("refused", "made")
    expect(bool(came) is write.is_made, f"{write.what}: the write must be {should}, and was {was}")
    there = scene.store.get(LANE, write.id)
    expect(there == write.after, f"{write.id} is stored as {there}, and {write.after} is right")
    is_same = not isinstance(came, Task) or came == there
    expect(is_same, f"a claim returned {came}, and stored {there}")


def transaction(scene: Scene, *, is_stale: bool) -> None:
    """Change two tasks in one transaction. If the second was changed since, neither must be written."""
    pair = scene.own.stored("cancelled" if is_stale else "transaction", 2)
    read = [pair[0], replace(pair[1], rev=pair[1].rev + is_stale)]
    changed = [replace(task, payload_json='{"changed": true}', rev=task.rev + 1) for task in read]
    writes = [TaskWrite(old, new) for old, new in zip(read, changed, strict=True)]

    def refusals() -> list[tuple[int, str]]:
        made = scene.store.transact(writes, token=uuid.uuid4().hex)
        return [(one.index, one.code) for one in made.refusals]

    refused = [(1, "ConditionalCheckFailed")] if is_stale else []
    stored = pair if is_stale else changed
    _rows(
        scene,
        ("the refusals", refusals, refused),
        ("the tasks", lambda: [scene.store.get(LANE, task.id) for task in pair], stored),
    )


def must_hold(scene: Scene) -> None:
    """Raise NotMade where a swap that must lose could win: conditions were not seen to hold."""
    if not scene.conditions_hold:
        raise NotMade("that conditions hold was not seen on tasks of its own, so the record is left alone")


def swaps_lost(scene: Scene) -> None:
    """Swap the arming record under a wrong `rev`, as if there were none, as if damaged: all refused."""
    must_hold(scene)
    record = scene.backend.armer.read()
    scene.answers.calls.clear()
    for stale in (replace(record, rev=record.rev + _FAR), None, replace(record, rev=0)):
        if scene.store.swap_record(stale, record) is not None:
            raise Wrong(
                "the arming record was swapped though it was not as expected: tasks can be lost",
                "`duebell doctor --fix` at once; then report it, with the output of --json",
            )


def limits(scene: Scene) -> None:
    """Swap the limits under a wrong `rev`, and write and read the counts of the built-in action."""
    must_hold(scene)
    store = scene.store
    there, before, new = store.read(Limits) or Limits(), store.read(Semaphore, VERIFY), Semaphore(waiting=1)
    written = replace(new, rev=(before.rev if before else 0) + 1)
    _rows(
        scene,
        (
            "limits swapped under a wrong rev",
            lambda: store.swap(replace(there, rev=_FAR), there),
            None,
        ),
        ("counts as they are written", lambda: store.swap(before, new, VERIFY), written),
        ("counts that were written", lambda: store.read(Semaphore, VERIFY), written),
        ("counts swapped after a change", lambda: store.swap(before, new, VERIFY), None),
    )
    scene.own.delete_semaphore()


def read(scene: Scene) -> None:
    """Read one task, several, and one that is not there."""
    store = scene.store
    tasks = scene.own.stored("read", 2)
    missing = scene.own.make("read-missing")
    keys = [key_of(task) for task in (*tasks, missing)]
    _rows(
        scene,
        ("each task", lambda: [store.get(LANE, task.id) for task in tasks], tasks),
        ("a task that is not there", lambda: store.get(LANE, missing.id), None),
        ("several tasks", lambda: store.get_many(keys), {task.id: task for task in tasks}),
    )


def index(scene: Scene) -> None:
    """List tasks that were just stored, in order: all, within bounds, from a place on, counted, the head."""
    store, own = scene.store, scene.own
    # At a time of their own, where no other task of this lane is counted with them.
    apart = timedelta(days=2, seconds=randrange(_YEAR))
    first, *others = (key_of(task) for task in own.stored("index", 4, queued=own.now + apart))
    last, earlier = others[-1], own.make("index-gone").id
    gone = QueueKey(queued=first.queued + timedelta(milliseconds=500), id=earlier, lane=LANE)
    before = last.queued - timedelta(seconds=1)

    def listed(**bounds: Any) -> list[QueueKey]:
        found = store.queued(LANE, **bounds)
        return [key for key in found if key.id.startswith(f"{own.run}-index")]

    _rows(
        scene,
        ("due-index lists", listed, [first, *others]),
        ("due-index up to a time", lambda: listed(before=before), [first, *others[:-1]]),
        ("due-index from a time", lambda: listed(after=others[0].queued, before=last.queued), others),
        ("due-index from a task", lambda: listed(after=first), others),
        ("due-index from a place where no item is", lambda: listed(after=gone), others),
        ("its count", lambda: store.count(LANE, after=first.queued, before=last.queued, most=4), 4),
        ("whether its head comes before", lambda: store.head(LANE) <= first.queued, True),
    )


def history(scene: Scene) -> None:
    """List tasks that have ended, in both orders, from a place on, counted; they are not in the queue."""
    store, own = scene.store, scene.own
    # At a time of their own, where no other task of this lane is listed with them.
    began = own.now - timedelta(days=2, seconds=randrange(_YEAR))
    ended = []
    for number in range(3):
        at = began + number * timedelta(seconds=1)
        [task] = own.stored(f"history-{number}", status=Status.DONE, finished_at=at, queued=None)
        ended.append(PastKey(at=at, id=task.id, lane=LANE, kind=Past.DONE))
    gone = ended[0]._replace(at=began + timedelta(milliseconds=500), id=own.make("history-gone").id)

    def listed(after: Any = began, **more: Any) -> list[PastKey]:
        return list(store.past(LANE, Past.DONE, after=after, before=at, **more))

    def waiting() -> set[str]:
        return {key.id for key in store.queued(LANE)} & {key.id for key in ended}

    _rows(
        scene,
        ("past-index lists", listed, ended),
        ("past-index in reverse", lambda: listed(latest_first=True), ended[::-1]),
        ("past-index from a place where no item is", lambda: listed(gone), ended[1:]),
        ("its count", lambda: store.count_past(LANE, Past.DONE, most=3), 3),
        ("tasks that have ended and are in due-index", waiting, set()),
        within=_LAG,
    )


def _rows(scene: Scene, *rows: tuple[str, Callable[[], object], object], within: timedelta = _NONE) -> None:
    """Make the calls, and compare each answer with the right one, until it is so or the time is over."""
    scene.answers.calls.clear()
    for what, make, right in rows:
        until = scene.now() + within
        while (answer := make()) != right:
            expect(scene.now() < until, f"{what}: {answer}, and {right} is right")
            scene.backend.sleep(1.0)


def expiry(scene: Scene) -> Found:
    """DynamoDB deletes tasks that have expired."""
    client, table = scene.client("dynamodb"), scene.backend.settings.table
    told = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    status, attribute = told["TimeToLiveStatus"], told.get("AttributeName", "expires_at")
    if status in {"ENABLED", "ENABLING"} and attribute == "expires_at":
        return Found(f"time to live by expires_at: {status}")
    if is_here(client.meta.endpoint_url):
        raise NotMade(f"time to live is {status}: the AWS on this machine deletes nothing")
    raise Wrong(
        f"time to live is {status}, by {attribute}: history is never deleted",
        f"aws dynamodb update-time-to-live --table-name {table} --time-to-live-specification "
        f"Enabled=true,AttributeName=expires_at",
    )
