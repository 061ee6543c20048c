"""The table over moto, when the answer to a write is lost: the SDK tries again, and finds its own write."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.store import Store
from duebell_shared.queue.table import DynamoTable
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.shared.table_calls import KEY, SOON, lose_the_next_answer, store, task

__all__ = ["store"]


def run(store: Store, added: Task) -> None:
    """The task is claimed and done."""
    assert added.queued
    key = QueueKey(queued=added.queued, id=added.id, lane=added.lane)
    claimed = store.claim(key, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.done(now=SOON, keep=RetentionPolicy(retention=timedelta(days=1))))


def test_a_deletion_without_an_answer_is_not_known_to_be_its_own(store: Store) -> None:
    assert store.insert(task())
    lose_the_next_answer(store, "DeleteItem")
    with pytest.raises(AwsUnavailable, match="not known whether this call has deleted task 'one'"):
        store.delete(task())


@pytest.mark.parametrize("given", [{}, {"due": None, "schedule": "rate(1 hour)"}], ids=["once", "recurring"])
def test_an_insert_finds_its_own_write_after_a_run_has_had_it(store: Store, given: dict[str, Any]) -> None:
    added = task(**given)
    sent = lose_the_next_answer(store, "PutItem", meanwhile=lambda: run(store, added))
    assert store.insert(added)
    assert sent == ["PutItem"] * 2
    there = store.get(0, added.id)
    assert there
    assert there.runs == (added.recurrence is not None)
    assert there.rev == 3


def test_an_insert_that_was_tried_twice_does_not_take_anothers_task_for_its_own(store: Store) -> None:
    # Given a task that is there
    assert store.insert(task(payload={"n": 2}))
    # When another is inserted under its id, and the refusal is lost
    sent = lose_the_next_answer(store, "PutItem")
    assert not store.insert(task())
    # Then it is as it was
    assert sent == ["PutItem"] * 2
    assert store.get(0, "one") == task(payload={"n": 2})


def test_a_change_finds_its_own_write(store: Store) -> None:
    assert store.insert(task())
    sent = lose_the_next_answer(store, "UpdateItem")
    assert store.save(task(), task().paused())
    assert sent == ["UpdateItem"] * 2
    assert store.get(0, "one") == task().paused()


def test_a_claim_finds_its_own_write_and_counts_one_attempt(store: Store) -> None:
    assert store.insert(task())
    sent = lose_the_next_answer(store, "UpdateItem")
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert sent == ["UpdateItem"] * 2
    assert (claimed.attempt, claimed.run) == (1, "run")
    assert store.get(0, "one") == claimed


def test_a_claim_that_was_tried_twice_does_not_take_anothers_for_its_own(store: Store) -> None:
    assert store.insert(task())
    assert store.claim(KEY, run="other", now=SOON, status=Status.SCHEDULED)
    lose_the_next_answer(store, "UpdateItem")
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None


def test_a_claim_from_before_is_not_taken_for_this_one(store: Store) -> None:
    # Given a task that a run has claimed, and that was moved then
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.moved(SOON + timedelta(hours=1), now=SOON))
    # When the same run, which has not seen that, claims it again, and the refusal is lost
    sent = lose_the_next_answer(store, "UpdateItem")
    again = store.claim(KEY, run="run", now=SOON + timedelta(seconds=1), status=Status.SCHEDULED)
    # Then it has not got it
    assert sent == ["UpdateItem"] * 2
    assert again is None


def test_a_swap_whose_answer_is_lost_leaves_it_to_the_next_read(store: Store) -> None:
    # Given a record whose swap is tried twice
    sent = lose_the_next_answer(store, "PutItem")
    record = ArmingRecord(lanes=(Lane(due=SOON),))
    # Then it counts as not made, which whoever swaps reads anew after, and finds it
    assert store.swap_record(None, record) is None
    found = store.read_record()
    assert found
    assert sent == ["PutItem"] * 2
    assert (found.lanes, found.rev) == (record.lanes, 1)


def test_a_claim_whose_answer_was_lost_does_not_count_when_the_task_was_moved_since(store: Store) -> None:
    assert isinstance(store, DynamoTable)
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) == claimed
    assert store.save(claimed, claimed.moved(timedelta(days=1), now=SOON))
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) is None
