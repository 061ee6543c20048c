"""Moving tasks to the lanes that their ids have among more lanes: the storage contract."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.instants import NEVER
from duebell_shared.queue.places import Past, lane_of
from duebell_shared.queue.store import AT_ONCE, Store
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.store.conftest import LATER, key, task
from tests.support import NOON

LANES = 8


def in_old_lane(number: int = 0, **fields: Any) -> Task:
    """A task that is in lane 0 and belongs elsewhere among eight."""
    ids = [f"task-{n}" for n in range(200) if lane_of(f"task-{n}", LANES)]
    return task(id=ids[number], lane=0, **fields)


def new_lane(of: Task) -> int:
    return lane_of(of.id, LANES)


def place(of: Task) -> QueueKey:
    return QueueKey(queued=NEVER, id=of.id, lane=of.lane)


def test_a_task_is_moved_as_it_is_with_its_place_in_the_queue(store: Store) -> None:
    old = in_old_lane(rev=7, attempt=2, payload_json='{"big":123456789012345678901234567890,"s":"\\u0000é"}')
    assert store.insert(old)
    assert store.relocate([place(old)], lanes=LANES, now=NOON) == [True]
    # Then it is at the new place only
    assert store.get(0, old.id) is None
    moved = store.get(new_lane(old), old.id)
    assert moved == task(id=old.id, lane=new_lane(old), rev=7, attempt=2, payload_json=old.payload_json)
    assert list(store.queued(0)) == []
    assert list(store.queued(new_lane(old))) == [key(moved)]
    # And it goes on there
    assert store.claim(key(moved), run="r", now=LATER, status=Status.SCHEDULED)


def test_a_paused_task_is_moved_in_the_index_of_the_past(store: Store) -> None:
    old = in_old_lane(status=Status.PAUSED, queued=None)
    assert store.insert(old)
    assert store.relocate([place(old)], lanes=LANES, now=NOON) == [True]
    assert [found.id for found in store.past(new_lane(old), Past.PAUSED)] == [old.id]
    assert list(store.past(0, Past.PAUSED)) == []


def test_a_task_whose_new_place_is_taken_stays(store: Store) -> None:
    old = in_old_lane()
    other = task(id=old.id, lane=new_lane(old), action="other")
    assert store.insert(old)
    assert store.insert(other)
    assert store.relocate([place(old)], lanes=LANES, now=NOON) == [False]
    assert store.get(0, old.id) == old
    assert store.get(new_lane(old), old.id) == other


@pytest.mark.parametrize(("after", "result"), [(-1, False), (0, True), (1, True)])
def test_history_that_has_expired_is_no_obstacle(store: Store, after: int, result: object) -> None:
    old = in_old_lane()
    ended = task(
        id=old.id, lane=new_lane(old), status=Status.DONE, queued=None, finished_at=NOON, expires_at=LATER
    )
    assert store.insert(old)
    assert store.insert(ended)
    assert store.relocate([place(old)], lanes=LANES, now=LATER + timedelta(seconds=after)) == [result]


def test_several_are_moved_each_by_itself(store: Store) -> None:
    there = [in_old_lane(number) for number in range(AT_ONCE)]
    for each in there[1:]:
        assert store.insert(each)
    assert store.insert(task(id=there[3].id, lane=new_lane(there[3])))
    moved = store.relocate([place(each) for each in there], lanes=LANES, now=NOON)
    assert moved == [number not in {0, 3} for number in range(AT_ONCE)]
    assert [found.id for found in store.queued(0)] == [there[3].id]
