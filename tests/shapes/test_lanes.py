"""Items in lanes where they do not belong: they hurt nobody, and run if a run ever looks there."""

from datetime import timedelta

import pytest

from duebell import TaskNotFound
from duebell_shared.queue.places import lane_of

from .foreign import ITEM
from .scene import Scene

SOON = timedelta(minutes=10)


def wrong_lane(id: str) -> int:
    return (lane_of(id, 4) + 1) % 4


def test_a_task_in_a_lane_that_is_not_its_ids_runs(scene: Scene) -> None:
    scene.editor.add("note", due=SOON, id="a")
    scene.table.put("stray", ITEM, lane=wrong_lane("stray"))
    assert [task.id for task in scene.editor.list().tasks] == ["a", "stray"]
    scene.clock.advance(2 * SOON)

    assert scene.run().done == 2
    assert sorted(scene.ran) == ["a", "stray"]
    assert scene.editor.status().healthy
    # An editor looks for an id in its own lane only
    with pytest.raises(TaskNotFound):
        scene.editor.get("stray")


def test_a_queue_that_outlived_its_record_is_found_in_all_of_its_lanes(scene: Scene) -> None:
    # Given tasks in lanes beyond those of the settings, and no record
    scene.table.delete_arming()
    scene.table.put("far", ITEM, lane=9)
    scene.table.put("near", ITEM, lane=0)

    # When it is made anew
    assert scene.newcomer.status().lanes == 10
    scene.clock.advance(2 * SOON)
    scene.run()

    # Then both run
    assert sorted(scene.ran) == ["far", "near"]
    assert scene.newcomer.status().healthy
