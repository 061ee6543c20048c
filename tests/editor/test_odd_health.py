"""What is rarely wrong, and what only looks like it."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import ProblemKind
from duebell_shared.bell.arming import Fullest, LastRun, RestingLane
from duebell_shared.queue.lane_sizes import GIGABYTE
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def filled(gigabytes: int) -> dict[str, Any]:
    return {"fullest": Fullest(lane=3, bytes=gigabytes * GIGABYTE, measured_at=NOON)}


RESTS = {"last_run": LastRun(run="r", finished_at=NOON, resting=(RestingLane(lane=2, since=NOON - HOUR),))}


@pytest.mark.parametrize(
    ("fields", "kind", "what", "way_out"),
    [
        (filled(7), None, "", ""),
        (filled(8), ProblemKind.LANE_FILLS, "lane 3 held 8 GB at 2026-11-21T12:00:00.000Z", "duebell relane"),
        (RESTS, ProblemKind.LANE_RESTS, "lane 2 since 2026-11-21T11:00:00.000Z", "the worker's log"),
        ({"relaner": "someone", "relaner_until": NOON + MINUTE}, None, "", ""),
        (
            {"relaner": "someone", "relaner_until": NOON - MINUTE},
            ProblemKind.RELANE,
            "giving the queue more lanes was interrupted",
            "repeat it: `duebell relane 4`",
        ),
    ],
)
def test_lanes_that_fill_or_rest_and_a_relane_that_was_broken_off_are_told(
    scheduler: Scheduler, fields: dict[str, Any], kind: ProblemKind | None, what: str, way_out: str
) -> None:
    scheduler.editor.ensure_armed()
    scheduler.backend.armer.change(lambda record: replace(record, **fields))
    found = {one.kind: one for one in scheduler.editor.status().problems}
    assert list(found) == ([kind] if kind else [])
    if kind:
        assert what in found[kind].what
        assert way_out in found[kind].way_out


def test_a_date_that_has_passed_is_not_overdue_when_it_was_just_added(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", due=-1000 * HOUR)
    assert (task.due, task.queued) == (NOON - 1000 * HOUR, NOON)
    assert scheduler.editor.status().healthy
    scheduler.clock.advance(10 * MINUTE)
    assert ProblemKind.OVERDUE in {problem.kind for problem in scheduler.editor.status().problems}
