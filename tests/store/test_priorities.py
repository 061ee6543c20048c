"""Priorities in the queue's index: the order within a millisecond, bounds and places, and claims."""

from datetime import timedelta

import pytest

from duebell_shared.queue.store import Store
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import queue_key
from tests.store.tasks import LATER, keys, task
from tests.support import NOON

MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def names(store: Store) -> list[str]:
    """Tasks of two moments, as the index has them."""
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


def test_a_bound_includes_all_priorities_of_its_moment(store: Store, names: list[str]) -> None:
    assert keys(store.queued(0, after=LATER, before=LATER)) == names[1:5]
    assert store.count(0, after=LATER, before=LATER, most=10) == 4
    assert keys(store.queued(0, after=LATER - MILLISECOND, before=LATER)) == names[:5]


def test_a_reading_goes_on_from_a_place_with_a_priority(store: Store, names: list[str]) -> None:
    for key in store.queued(0):
        at = names.index(key.id)
        assert keys(store.queued(0, after=key)) == names[at + 1 :]
        assert keys(store.queued(0, before=key, latest_first=True)) == names[:at][::-1]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_task_is_claimed_by_its_place_with_the_priority(store: Store, at_once: bool) -> None:
    given = task("one", LATER, priority=3)
    store.insert(given)

    def claim(priority: int) -> object:
        key = queue_key(given)._replace(priority=priority)
        if at_once:
            [answer] = store.claim_many([key], run="run", now=NOON, status=Status.SCHEDULED)
            return answer
        return store.claim(key, run="run", now=NOON, status=Status.SCHEDULED)

    assert claim(0) is None
    assert claim(3) == store.get(0, "one")


def test_another_priority_is_another_place(store: Store, names: list[str]) -> None:
    there = store.get(0, "a")
    assert there
    assert store.save(there, there.updated(priority=9, now=NOON))
    assert keys(store.queued(0))[1:3] in (["a", "c"], ["c", "a"])
    now = store.get(0, "a")
    assert now
    assert store.save(now, now.updated(priority=None, now=NOON))
    assert keys(store.queued(0)) == names
