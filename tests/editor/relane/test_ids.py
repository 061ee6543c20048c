"""An id is one task, whether its lane comes from the earlier number of lanes or from the present one."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import NewTask, Status, TaskExists
from duebell_editor.library.relane import Relaned, relane
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.task import QueueKey
from tests.editor.memory import Scheduler
from tests.editor.relane.scene import FROM, HOUR, MINUTE, TO, misplaced, newcomer, record_of, stale, waiting
from tests.support import NOON


def test_a_task_that_is_moved_while_it_is_looked_for_is_found(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task that waits where the earlier number of lanes has put it
    id = misplaced()[0]
    scheduler.editor.add("act", due=HOUR, id=id)
    scheduler.backend.armer.change(lambda record: record.relaning("me", until=NOON).widened(TO))
    editor, store = newcomer(scheduler), scheduler.store
    for name in ("get", "get_many"):
        # When it is moved just after it was not found where it belongs
        look = getattr(store, name)

        def look_and_move(*given: Any, look: Any = look) -> Any:
            found = look(*given)
            monkeypatch.undo()
            assert not found
            assert store.relocate([QueueKey(NOON, id, lane_of(id, FROM))], lanes=TO, now=NOON) == [True]
            return found

        monkeypatch.setattr(store, name, look_and_move)
        assert (editor.get(id) if name == "get" else editor.queue.get_many([id])[id]).lane == lane_of(id, TO)
        moved = store.tasks[lane_of(id, TO), id]
        assert store.save(moved, None)
        monkeypatch.undo()
        scheduler.store.insert(replace(moved, lane=lane_of(id, FROM)))


def test_ended_tasks_are_in_the_way_of_a_new_one_of_their_id_until_they_expire(scheduler: Scheduler) -> None:
    id = misplaced()[0]
    done = scheduler.become(scheduler.editor.add("act", due=HOUR, id=id), Status.DONE)
    relane(scheduler.backend, TO)
    editor = newcomer(scheduler)
    with pytest.raises(TaskExists):
        editor.add("act", due=HOUR, id=id)
    assert editor.add("act", due=HOUR, id=id, if_exists="keep") == done
    replaced = editor.add("again", due=HOUR, id=id, if_exists="replace")
    assert editor.get(id) == replaced
    assert waiting(scheduler) == Counter([id])
    scheduler.become(replaced, Status.DONE)
    scheduler.clock.advance(timedelta(days=31))
    assert editor.add("anew", due=HOUR, id=id).lane == lane_of(id, TO)
    assert editor.get(id).action == "anew"
    assert editor.queue.get_many([id])[id].action == "anew"


def test_a_generated_id_is_looked_for_nowhere(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    relane(scheduler.backend, TO)
    editor = stale(scheduler)

    def look(*_: Any) -> Any:
        pytest.fail("a look that is not needed")

    monkeypatch.setattr(scheduler.store, "get_many", look)
    editor.add("act", due=HOUR)
    assert editor.add_many([NewTask(action="act", due=HOUR)] * 3).failures == ()


# An add that was written by the earlier number of lanes, and never told of.


@pytest.mark.parametrize("status", [Status.SCHEDULED, Status.RUNNING])
def test_a_task_whose_id_is_taken_in_its_new_lane_is_left_and_named(
    scheduler: Scheduler, status: Status
) -> None:
    # Given a task that another editor has added meanwhile, too
    id = misplaced()[0]
    made = scheduler.editor.add("forgotten", due=HOUR, id=id)
    scheduler.become(made, status)
    scheduler.backend.armer.change(lambda record: record.relaning("dead", until=NOON).widened(TO))
    assert scheduler.store.insert(replace(made, action="added", lane=lane_of(id, TO)))
    scheduler.clock.advance(MINUTE)
    # Then it stays, and a run finds it: see duebell_shared.queue.store.drop_stray_copy
    assert relane(scheduler.backend, TO) == Relaned(lanes=TO, left=(id,))
    assert waiting(scheduler)[id] == 2
    assert newcomer(scheduler).get(id).action == "added"
    assert record_of(scheduler).relaner is None
