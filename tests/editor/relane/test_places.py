"""A queue in use is given more lanes: each task is where its id is looked for."""

import pytest
from msgspec.structs import replace

from duebell import Status
from duebell_editor.library.relane import Relaned, relane
from duebell_shared.errors import InvalidSettings
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import MAX_LANES
from tests.editor.memory import Scheduler
from tests.editor.relane.scene import FROM, HOUR, fill, newcomer, record_of, stale, waiting
from tests.support import NOON


@pytest.mark.parametrize("to", [5, 8, 64])
def test_what_waits_is_where_its_id_is_looked_for_and_what_has_ended_is_found(
    scheduler: Scheduler, to: int
) -> None:
    before, old = fill(scheduler), stale(scheduler)
    done = relane(scheduler.backend, to)
    # Then every task is found as it was, by editors from before and after, one by one and together
    for editor in (old, newcomer(scheduler)):
        found = {id: editor.get(id) for id in before}
        assert found.keys() == editor.queue.get_many(before).keys()
        for id, task in found.items():
            moves = not task.status.is_finished
            assert task.lane == lane_of(id, to if moves else FROM)
            assert replace(task, lane=0) == replace(before[id], lane=0)
    # And the record says how it came, holds nothing any more, and the rule rings for the first of them
    record = record_of(scheduler)
    assert (len(record.lanes), record.earlier, record.relaner) == (to, (FROM,), None)
    assert not any(lane.owner for lane in record.lanes)
    assert record.rings_at == NOON + HOUR
    assert done == Relaned(lanes=to, moved=sum(task.lane != before[id].lane for id, task in found.items()))


@pytest.mark.parametrize("lanes", [0, 3, MAX_LANES + 1])
def test_fewer_lanes_or_too_many_are_refused(scheduler: Scheduler, lanes: int) -> None:
    with pytest.raises(InvalidSettings, match=r"lanes: must be 4, as many as there are, to 64"):
        relane(scheduler.backend, lanes)


def test_it_can_be_done_again_and_again(scheduler: Scheduler) -> None:
    before = fill(scheduler)
    for lanes in (5, 6, 16, 64):
        relane(scheduler.backend, lanes)
    assert record_of(scheduler).earlier == (4, 5, 6, 16)
    editor = newcomer(scheduler)
    assert {editor.get(id).status for id in before} == set(Status)
    assert all(count == 1 for count in waiting(scheduler).values())
