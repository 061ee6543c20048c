"""The storage contract for many tasks at once, each whatever becomes of the others."""

from datetime import timedelta

from duebell_shared.queue.store import AT_ONCE, Store
from duebell_shared.retention import RetentionPolicy
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from tests.store.tasks import LATER, key, keys, task
from tests.support import NOON


def test_many_are_written_at_once_as_they_are(store: Store) -> None:
    # Given tasks of every kind, as many as go at once
    schedule = make_schedule("rate(1 hour)", start=NOON, now=NOON)
    recurrence = Recurrence(schedule=schedule, next_due=schedule.first(NOON))
    kinds = [
        task("'quoted' \"?\" {ü}", payload_json='{"f":0.1,"s":"it\'s ? \\u0000é"}'),
        task("large", payload_json=f'"{"x" * 300_000}"'),
        task("recurring", recurrence=recurrence, spread=timedelta(minutes=1)),
        task("late", expires_after=timedelta(seconds=1)),
        task("failed", attempt=2).failed(
            Failure(type="E", message="ü"), now=NOON, keep=RetentionPolicy(retention=timedelta(days=1))
        ),
        task("paused", status=Status.PAUSED, queued=None),
    ]
    plain = [task(f"plain-{number}") for number in range(AT_ONCE - len(kinds))]
    # When they are written
    made = store.insert_many(kinds + plain)
    # Then each is there as if it had been written alone, and those that wait are in the queue
    assert made == [True] * AT_ONCE
    assert [store.get(0, each.id) for each in kinds + plain] == kinds + plain
    assert set(keys(store.queued(0))) == {each.id for each in kinds + plain if each.queued}


def test_of_many_those_whose_ids_are_taken_are_not_written(store: Store) -> None:
    # Given a task, history that is kept, and history that has expired
    gone, kept = NOON - timedelta(seconds=1), NOON + timedelta(seconds=1)
    there = [
        task("there", action="old"),
        task("kept", status=Status.DONE, queued=None, expires_at=kept),
        task("gone", status=Status.DONE, queued=None, expires_at=gone),
    ]
    assert store.insert_many(there) == [True] * 3
    # When others of the same ids are written, and new ones
    given = [task(id) for id in ("new", "there", "kept", "gone", "newer")]
    # Then what is there stays, and what has expired makes room
    assert store.insert_many(given) == [True, False, False, True, True]
    assert store.get(0, "there") == there[0]
    assert store.get(0, "kept") == there[1]
    assert [store.get(0, id) for id in ("new", "gone", "newer")] == [task("new"), task("gone"), task("newer")]


def test_many_changes_are_each_made_on_the_revision_it_was_made_from(store: Store) -> None:
    # Given tasks of which one is changed, one is gone, and one is changed already as it is to be
    there = [task(id) for id in ("one", "changed", "two", "done already")]
    assert store.insert_many(there) == [True] * 4
    moved = there[1].moved(LATER, now=NOON)
    assert store.save(there[1], moved)
    assert store.save(there[3], there[3].paused())
    # When all are changed at once, by values and by taking away, then each is or is not
    changes = [(each, each.paused()) for each in (*there, task("missing"))]
    assert store.save_many(changes) == [True, False, True, True, False]
    assert [store.get(0, each.id) for each in there] == [
        there[0].paused(),
        moved,
        there[2].paused(),
        there[3].paused(),
    ]
    assert keys(store.queued(0)) == ["changed"]


def test_two_changes_of_one_task_at_once_are_one_that_is_made_and_one_that_is_not(store: Store) -> None:
    assert store.insert(task())
    changes = [(task(), task().paused()), (task(), task().moved(NOON, now=NOON))]
    assert store.save_many(changes) == [True, False]


def test_many_are_claimed_each_if_it_is_as_it_was_queued(store: Store) -> None:
    # Given tasks of which some cannot be claimed
    there = [task(id) for id in ("one", "moved", "running", "two")]
    assert store.insert_many(there) == [True] * 4
    assert store.save(there[1], there[1].moved(NOON, now=NOON))
    assert store.claim(key(there[2]), run="dead", now=LATER, status=Status.SCHEDULED)
    # When they are claimed at once, with one that is not there
    now = LATER + timedelta(milliseconds=1234)
    wanted = [key(each) for each in (*there, task("missing"))]
    claimed = store.claim_many(wanted, run="run", now=now, status=Status.SCHEDULED)
    # Then those are that wait, and come as they are stored
    one, two = (
        task(id, status=Status.RUNNING, attempt=1, rev=2, started_at=now, run="run", lateness_ms=1234)
        for id in ("one", "two")
    )
    assert claimed == [one, None, None, two, None]
    assert [store.get(0, "one"), store.get(0, "two")] == [one, two]
    # And what another run left running can be claimed as that
    claimed = store.claim_many([key(there[2]), key(there[0])], run="new", now=now, status=Status.RUNNING)
    assert [each.attempt for each in claimed if isinstance(each, Task)] == [2, 2]
