"""Transactions over tasks: all of their changes, or none. One suite for all stores: see conftest.py."""

from datetime import timedelta
from uuid import uuid4

import pytest

from duebell_shared.queue.changes import TaskWrite
from duebell_shared.queue.store import Store
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.store.conftest import LATER, key, keys, task
from tests.support import NOON

KEEP = RetentionPolicy()


@pytest.fixture
def token() -> str:
    """A token of its own for each test: the emulator serves several, and keeps tokens for minutes."""
    return uuid4().hex


def reserved(store: Store, id: str = "one", *, token: str = "r") -> Task:
    made = task(id).reserved(token, until=NOON + timedelta(minutes=5))
    assert store.insert(made)
    return made


def confirm(of: Task) -> TaskWrite:
    return TaskWrite(of, of.confirmed())


def test_a_reserved_task_cannot_be_claimed(store: Store) -> None:
    one = reserved(store)
    assert store.claim(key(one), run="run", now=LATER, status=Status.SCHEDULED) is None
    assert store.claim(key(one), run="run", now=LATER, status=Status.RUNNING) is None
    assert store.get(0, "one") == one


@pytest.mark.parametrize("gone", ["dropped", "taken over", "cancelled"])
def test_a_reservation_that_has_ended_cannot_be_confirmed(store: Store, token: str, gone: str) -> None:
    # Given two reserved tasks, one of which has ended, and been reserved anew within the same millisecond
    one, two = reserved(store, "one"), reserved(store, "two")
    if gone == "cancelled":
        assert store.save(one, one.cancelled(now=NOON, keep=KEEP))
    else:
        assert store.save(one, None)
    if gone == "taken over":
        reserved(store, "one", token="another")

    # When a transaction is to confirm both
    answer = store.transact([confirm(two), confirm(one)], token=token)

    # Then neither is confirmed, and the answer tells which one is wrong
    assert [(refusal.index, refusal.code) for refusal in answer.refusals] == [(1, "ConditionalCheckFailed")]
    assert store.get(0, "two") == two
    there = store.get(0, "one")
    assert there != one.confirmed()


def test_a_transaction_is_made_once_with_one_token(store: Store, token: str) -> None:
    one = reserved(store)
    for _ in range(2):
        assert store.transact([confirm(one)], token=token).refusals == ()
    assert store.transact([confirm(one)], token=uuid4().hex).refusals
    assert not store.save(one, None)
    assert store.get(0, "one") == one.confirmed()


def test_a_transaction_changes_all_of_its_tasks(store: Store, token: str) -> None:
    one, two, three = reserved(store), task("two"), task("three")
    assert store.insert(two)
    assert store.insert(three)
    writes = [
        confirm(one),
        TaskWrite(two, two.cancelled(now=NOON, keep=KEEP)),
        TaskWrite(three, three.moved(LATER + timedelta(days=1), now=NOON)),
    ]
    assert store.transact(writes, token=token).refusals == ()
    assert [store.get(0, write.old.id) for write in writes] == [write.new for write in writes]
    assert keys(store.queued(0)) == ["one", "three"]
    # And what is confirmed waits like any other task
    assert (there := store.get(0, "one"))
    assert (there.reservation, there.reserved_until, there.expires_at) == (None, None, None)
    assert store.claim(key(there), run="run", now=LATER, status=Status.SCHEDULED)
