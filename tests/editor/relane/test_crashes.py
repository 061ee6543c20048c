"""The relaner dies or fails at any moment: nothing is lost, and it can be repeated."""

from collections import Counter
from typing import Any

import pytest

from duebell import AwsUnavailable, TaskConflict
from duebell_editor.library.relane import relane
from duebell_shared.queue.places import lane_of
from tests.editor.memory import Scheduler
from tests.editor.relane.scene import (
    FROM,
    HOUR,
    LEASE,
    MINUTE,
    STEPS,
    TO,
    StepByStep,
    claims,
    fill,
    filled,
    misplaced,
    newcomer,
    record_of,
    seen_by,
    waiting,
)
from tests.support import NOON


class Dead(BaseException):
    """The relaner's process has died."""


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_any_moment_runs_go_on_and_it_can_be_repeated(step: int) -> None:
    scheduler = filled()
    before = dict(scheduler.store.tasks)
    in_queue = {id: task.queued for (_, id), task in before.items() if task.queued}

    def die() -> None:
        store._step = store.calls + 1  # the dead make no more calls
        raise Dead

    store = StepByStep(scheduler.store, step, die)
    with pytest.raises(Dead):
        relane(seen_by(scheduler, store), TO)
    # Then every task is there once and found, and the rule rings for it by the end of the lease
    editor = newcomer(scheduler)
    assert waiting(scheduler) == Counter(in_queue.keys())
    assert {editor.get(id).rev for _, id in before} == {task.rev for task in before.values()}
    record = record_of(scheduler)
    for id, queued in in_queue.items():
        lane = record.lanes[editor.get(id).lane]
        assert lane.owner or min(each.due for each in record.lanes) <= queued
        assert lane.until <= NOON + LEASE or not lane.owner
    # And when the lease is over, a run gets all lanes
    scheduler.clock.advance(LEASE)
    assert claims(scheduler) == tuple(range(len(record.lanes)))
    scheduler.backend.armer.change(lambda record: record.released("run", dict.fromkeys(range(TO), NOON)))
    # And repeated it comes to its end
    relane(scheduler.backend, TO)
    record = record_of(scheduler)
    assert (len(record.lanes), record.earlier, record.relaner) == (TO, (FROM,), None)
    assert waiting(scheduler) == Counter(in_queue.keys())
    assert {lane for lane, id in scheduler.store.tasks if lane != lane_of(id, TO)} <= set(range(FROM))
    assert all(editor.get(id).lane == lane_of(id, TO) for id in in_queue)


def test_moves_that_fail_for_good_end_it_and_the_lanes_are_held_until_none_can_land(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fill(scheduler)
    monkeypatch.setattr(
        scheduler.store, "relocate", lambda keys, **_: [AwsUnavailable("throttled")] * len(keys)
    )
    with pytest.raises(AwsUnavailable, match="throttled"):
        relane(scheduler.backend, TO)
    assert claims(scheduler) == ()
    assert record_of(scheduler).rings_at is not None
    scheduler.clock.advance(LEASE)
    assert claims(scheduler) == tuple(range(TO))
    assert {newcomer(scheduler).get(id).lane for id in before} <= set(range(FROM))


def test_one_that_has_lost_its_lease_arms_for_what_it_moved_and_stops(scheduler: Scheduler) -> None:
    # Given a relaner that stands still for longer than its lease, just before it moves tasks
    ids = misplaced()[:5]
    for id in ids:
        scheduler.editor.add("act", due=HOUR, id=id)
    store = StepByStep(scheduler.store, 0, lambda: None)
    relocate, heads = scheduler.store.relocate, scheduler.store.head

    def late(*given: Any, **more: Any) -> Any:
        # And a run that reads the heads of the new lanes before that, and those of the old ones after it
        scheduler.clock.advance(LEASE + MINUTE)
        assert claims(scheduler) == tuple(range(TO))
        read = {lane: heads(lane) for lane in range(FROM, TO)}
        moved = relocate(*given, **more)
        read |= {lane: heads(lane) for lane in range(FROM)}
        scheduler.backend.armer.change(lambda record: record.cleared("run").released("run", read))
        return moved

    store.relocate = late  # type: ignore[attr-defined]
    with pytest.raises(TaskConflict, match="others went on meanwhile"):
        relane(seen_by(scheduler, store), TO)
    assert min(lane.due for lane in record_of(scheduler).lanes) <= NOON + HOUR
    assert {newcomer(scheduler).get(id).lane for id in ids} <= set(range(FROM, TO))
