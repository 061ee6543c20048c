"""The storage contract, one suite for the DynamoDB table and for its twin in memory.

The table runs on moto here, and on MiniStack in the end-to-end tests: see conftest.py.
"""

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.instants import NEVER
from duebell_shared.queue.store import AT_ONCE, Store
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.history import Event, Failure, Lateness
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Missed, Recurrence
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task, queue_key
from duebell_shared.tasks.worker_record import DeclaredTask, WorkerDescription, WorkerRecord
from tests.store.conftest import LATER, key, keys, task
from tests.support import NOON

# The arming record.


def test_the_first_record_is_written_once(store: Store) -> None:
    assert store.read_record() is None
    first = store.swap_record(None, ArmingRecord(lanes=(Lane(due=LATER),)))
    assert first
    assert store.read_record() == first
    assert store.swap_record(None, ArmingRecord(lanes=(Lane(),))) is None
    assert store.read_record() == first


def test_a_record_is_swapped_only_as_it_was_read(store: Store) -> None:
    first = store.swap_record(None, ArmingRecord(lanes=(Lane(), Lane())))
    assert first
    second = store.swap_record(first, first.lowered({1: LATER}))
    assert second
    assert second.rev == first.rev + 1
    assert store.swap_record(first, first.lowered({0: NOON})) is None
    assert store.read_record() == second


# The worker record.


def test_the_worker_record_is_swapped_only_as_it_was_read(store: Store) -> None:
    assert store.read(WorkerRecord) is None
    worker = WorkerDescription(version="1", duebell="0", python="3", tzdata="2026f", started_at=NOON)
    declared = DeclaredTask(id="daily", action="act", schedule="rate(1 day)", priority=7, tags=("a", "b"))
    first = store.swap(None, WorkerRecord().started(worker, (declared,)))
    assert first
    assert store.read(WorkerRecord) == store.read(WorkerRecord, consistent=False) == first
    assert store.swap(None, first) is None
    second = store.swap(first, first.begun(msgspec.structs.replace(worker, version="2")))
    assert second
    assert (second.rev, second == first) == (first.rev + 1, False)
    assert store.swap(first, first) is None
    assert store.read(WorkerRecord) == second


# Tasks.


def test_a_task_comes_back_as_it_was_written(store: Store) -> None:
    whole = task(
        status=Status.FAILED,
        queued=None,
        attempt=3,
        started_at=NOON,
        finished_at=LATER,
        run="run",
        lateness_ms=12,
        failure=Failure(type="E", message="ü", traceback="…"),
        failures=(
            Event(at=NOON, what="attempt", attempt=2, result="failed", due=LATER, error=""),
            Event(
                at=LATER,
                what="attempt",
                attempt=3,
                result="retried",
                due=NOON,
                ended_at=LATER,
                run="run",
                lateness_ms=12,
                lateness=Lateness(ring=12),
                error='E: "ü"\n\x00',
            ),
        ),
        expires_at=NOON + timedelta(days=30),
        expires_after=timedelta(seconds=90),
        payload_json='{"big":123456789012345678901234567890,"f":0.1,"s":"\\u0000é"}',
    )
    assert store.insert(whole)
    assert store.get(0, "one") == whole


def test_a_recurring_task_comes_back_through_its_whole_life(store: Store) -> None:
    made = new_task(
        id="one",
        action="act",
        schedule="cron(0 9 ? * MON-FRI *)",
        timezone="Europe/Berlin",
        start=NOON,
        missed=Missed.ALL,
        max_runs=2,
        tags=["b", "a"],
        now=NOON,
        spread=timedelta(minutes=7),
    )
    assert store.insert(made)
    assert store.get(0, "one") == made
    # When an occurrence of it fails, is retried, and is done
    running = store.claim(key(made), run="r", now=LATER, status=Status.SCHEDULED)
    assert running
    failure = Failure(type="ValueError", message="no")
    aside = running.to_retry(LATER + timedelta(days=9), failure, now=LATER)
    assert store.save(running, aside)
    assert aside.recurrence
    assert aside.recurrence.pending
    assert store.get(0, "one") == aside
    assert len(aside.failures) == 1
    running = store.claim(key(aside), run="r", now=LATER, status=Status.SCHEDULED)
    assert running
    after = running.done(now=LATER, keep=RetentionPolicy(retention=timedelta(days=1)))
    assert store.save(running, after)
    # Then it is what it should be, the history included
    assert store.get(0, "one") == after
    assert len(after.occurrences) == 1
    # And what is taken away again is gone
    once = msgspec.structs.replace(
        after, rev=99, recurrence=None, occurrences=(), failures=(), spread=timedelta(0)
    )
    assert store.save(after, once)
    assert store.get(0, "one") == once


def test_an_id_is_taken_once(store: Store) -> None:
    assert store.get(0, "one") is None
    assert store.insert(task())
    assert not store.insert(task(action="other"))
    assert store.get(0, "one") == task()
    assert store.get(1, "one") is None


def test_only_a_call_that_deletes_a_task_says_so(store: Store) -> None:
    assert not store.delete(task())
    assert store.insert(task())
    changed = task().moved(LATER, now=NOON)
    assert store.save(task(), changed)
    assert not store.delete(task())
    assert store.delete(changed)
    assert not store.delete(changed)
    assert store.get(0, "one") is None


@pytest.mark.parametrize("seconds", [-1, 1])
def test_only_history_that_has_expired_makes_room(store: Store, seconds: int) -> None:
    history = task(status=Status.DONE, queued=None, expires_at=NOON + timedelta(seconds=seconds))
    assert store.insert(history)
    assert store.insert(task()) is (seconds < 0)
    assert store.get(0, "one") == (task() if seconds < 0 else history)


def test_a_change_is_made_on_the_revision_it_was_made_from(store: Store) -> None:
    first = task()
    assert store.insert(first)
    paused = first.paused()
    assert store.save(first, paused)
    assert store.get(0, "one") == paused
    assert not store.save(first, first.cancelled(now=NOON, keep=RetentionPolicy(retention=timedelta(days=1))))
    assert store.get(0, "one") == paused


# Claims.


def test_a_claim_starts_an_attempt_and_returns_the_task(store: Store) -> None:
    now = LATER + timedelta(milliseconds=1234)
    assert store.claim(key(task()), run="run", now=now, status=Status.SCHEDULED) is None  # it is not there
    assert store.get(0, "one") is None
    assert store.insert(task())
    claimed = store.claim(key(task()), run="run", now=now, status=Status.SCHEDULED)
    expected = task(status=Status.RUNNING, attempt=1, rev=2, started_at=now, run="run", lateness_ms=1234)
    assert claimed == expected
    assert store.get(0, "one") == expected


@pytest.mark.parametrize(
    "changed",
    [
        lambda one: one.paused(),
        lambda one: one.moved(LATER + timedelta(hours=1), now=NOON),
        lambda one: one.cancelled(now=NOON, keep=RetentionPolicy(retention=timedelta(days=1))),
    ],
)
def test_what_was_changed_since_it_was_seen_is_not_claimed(
    store: Store, changed: Callable[[Task], Task]
) -> None:
    assert store.insert(task())
    assert store.save(task(), changed(task()))
    before = store.get(0, "one")
    for status in (Status.SCHEDULED, Status.RUNNING):
        assert store.claim(key(task()), run="run", now=LATER, status=status) is None
    assert store.get(0, "one") == before


def test_a_running_task_is_claimed_as_that_only(store: Store) -> None:
    assert store.insert(task())
    assert store.claim(key(task()), run="dead", now=LATER, status=Status.SCHEDULED)
    assert store.claim(key(task()), run="new", now=LATER, status=Status.SCHEDULED) is None
    again = store.claim(key(task()), run="new", now=LATER, status=Status.RUNNING)
    assert again
    assert (again.run, again.attempt) == ("new", 2)


# The queue.


def test_the_queue_is_in_order_and_within_bounds(store: Store) -> None:
    for minutes in (50, 10, 30, 20, 40):
        assert store.insert(task(f"at-{minutes}", NOON + timedelta(minutes=minutes)))
    between = store.queued(0, after=NOON + timedelta(minutes=20), before=NOON + timedelta(minutes=40))
    assert keys(between) == ["at-20", "at-30", "at-40"]
    assert keys(store.queued(0)) == ["at-10", "at-20", "at-30", "at-40", "at-50"]
    assert keys(store.queued(1)) == []
    assert store.head(0) == NOON + timedelta(minutes=10)
    assert store.head(1) == NEVER
    # And the head can be asked for without some
    first, *others = store.queued(0)
    assert store.head(0, skipping={first}) == NOON + timedelta(minutes=20)
    assert store.head(0, skipping={first, *others}) == NEVER


def test_the_queue_goes_on_behind_a_key_whether_it_is_still_there_or_not(store: Store) -> None:
    # Given more tasks of one moment than are read at a time, and some before and behind it
    dues = {f"at-noon-{n:03}": NOON for n in range(220)}
    dues |= {"sooner": NOON - timedelta(minutes=1), "later": LATER}
    assert all(store.insert_many([task(id, due)]) == [True] for id, due in dues.items())
    every = list(store.queued(0))
    assert len(every) == 222
    for place in (0, 199, 200, 221):
        # When it is read on from a key, then all of what is behind it comes
        gone = every[place]
        assert list(store.queued(0, after=gone)) == every[place + 1 :]
        assert list(store.queued(0, after=gone, before=NOON)) == every[place + 1 : 221]
        # And also when that task has left the queue
        there = store.get(0, gone.id)
        assert there
        assert store.save(there, there.paused())
        assert list(store.queued(0, after=gone)) == every[place + 1 :]
        paused = store.get(0, gone.id)
        assert paused
        assert store.save(paused, msgspec.structs.replace(there, rev=paused.rev + 1))
    assert list(store.queued(0)) == every
    assert list(store.queued(0, after=every[221], before=NOON)) == []


def test_a_stretch_of_the_queue_is_counted_with_both_its_ends_up_to_a_bound(store: Store) -> None:
    for number in range(5):
        assert store.insert(task(f"t{number}", due=NOON + timedelta(minutes=number)))
    assert store.count(0, most=100) == 5
    assert store.count(0, most=2) == 2
    assert store.count(1, most=100) == 0
    second, fourth = NOON + timedelta(minutes=1), NOON + timedelta(minutes=3)
    assert store.count(0, before=second, most=100) == 2
    assert store.count(0, after=second, before=fourth, most=100) == 3
    assert store.count(0, after=second, before=second, most=100) == 1
    assert store.count(0, after=second, most=100) == 4
    assert store.count(0, after=second, before=fourth, most=2) == 2
    assert store.count(0, after=fourth, before=second, most=100) == 0
    almost = fourth - timedelta(microseconds=1)
    assert store.count(0, after=second, before=almost, most=100) == 2


def test_tasks_are_found_by_the_beginning_of_their_ids(store: Store) -> None:
    # Given ids that sort by their UTF-8, of every status, and other ids
    ids = ["sale-", "sale-1", "sale-10", "sale-2", "sale-é", "sale-Z"]
    for id in [*ids, "sal", "salf", "other"]:
        assert store.insert(task(id))
    done = store.get(0, "sale-2")
    assert done
    assert store.save(done, done.paused())
    # Then they come in that order, and a page goes on behind the last, be it there or not
    in_order = sorted(ids, key=str.encode)
    found, end = store.named(0, "sale-", most=10)
    assert ([one.id for one in found], end) == (in_order, None)
    found, end = store.named(0, "sale-", most=2)
    assert ([one.id for one in found], end) == (in_order[:2], in_order[1])
    found, end = store.named(0, "sale-", after=end, most=10)
    assert ([one.id for one in found], end) == (in_order[2:], None)
    found, _ = store.named(0, "sale-", after="sale-11", most=10)
    assert [one.id for one in found] == in_order[3:]
    assert store.named(1, "sale-", most=10) == ([], None)
    assert store.named(0, "nothing", most=10) == ([], None)


# The storage contract for many tasks at once, each whatever becomes of the others.


def test_many_are_written_at_once_as_they_are(store: Store) -> None:
    # Given tasks of every kind, as many as go at once
    schedule = make_schedule("rate(1 hour)", start=NOON, now=NOON)
    recurrence = Recurrence(schedule=schedule, next_due=schedule.next_after(NOON))
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


# Priorities in the queue's index: the order within a millisecond, bounds and places, and claims.


MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def names(store: Store) -> list[str]:
    for id, due, priority in (
        ("a", LATER, 0),
        ("b", LATER, 5),
        ("c", LATER, 9),
        ("d", LATER, 1),
        ("e", LATER - MILLISECOND, 0),
        ("f", LATER + MILLISECOND, 9),
    ):
        store.insert(task(id, due, priority=priority))
    return ["e", "c", "b", "d", "a", "f"]


def test_tasks_of_a_moment_come_by_priority(store: Store, names: list[str]) -> None:
    assert keys(store.queued(0)) == names
    assert keys(store.queued(0, latest_first=True)) == names[::-1]
    assert [key.priority for key in store.queued(0)] == [0, 9, 5, 1, 0, 9]
    # A bound includes all priorities of its moment
    assert keys(store.queued(0, after=LATER, before=LATER)) == names[1:5]
    assert keys(store.queued(0, after=LATER, before=LATER, latest_first=True)) == names[1:5][::-1]
    assert store.count(0, after=LATER, before=LATER, most=10) == 4
    # And a reading goes on from a place with a priority
    for at, place in enumerate(store.queued(0)):
        assert keys(store.queued(0, after=place)) == names[at + 1 :]
        assert keys(store.queued(0, before=place, latest_first=True)) == names[:at][::-1]


def test_a_task_is_claimed_by_its_place_with_the_priority(store: Store) -> None:
    tasks = [task(id, priority=3) for id in ("one", "two")]
    assert store.insert_many(tasks) == [True] * 2
    for priority in (0, 3):
        one, two = (queue_key(each)._replace(priority=priority) for each in tasks)
        claimed = [
            store.claim(one, run="run", now=NOON, status=Status.SCHEDULED),
            *store.claim_many([two], run="run", now=NOON, status=Status.SCHEDULED),
        ]
        assert claimed == ([store.get(0, each.id) for each in tasks] if priority else [None, None])


def test_another_priority_is_another_place(store: Store, names: list[str]) -> None:
    there = store.get(0, "a")
    assert there
    assert store.save(there, there.updated(priority=9, now=NOON))
    assert keys(store.queued(0))[1:3] in (["a", "c"], ["c", "a"])
    now = store.get(0, "a")
    assert now
    assert store.save(now, now.updated(priority=None, now=NOON))
    assert keys(store.queued(0)) == names
