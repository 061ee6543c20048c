"""The parts of an attempt's lateness, as a run measures them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell import Lateness
from duebell_shared.instants import MILLISECOND
from duebell_shared.tasks.new_task import new_task
from duebell_worker.run.attempt import Wake, lateness_of
from duebell_worker.run.report import parts_of, percentiles
from duebell_worker.worker import rang_at
from tests.support import NOON

SECOND = timedelta(seconds=1)


def parts(late: float, *, began: float, rang: float | None = None, limited: float = 0) -> Lateness | None:
    """The parts of an attempt whose time is 12:00:30; all in seconds after 12:00."""
    due = NOON + 30 * SECOND
    wake = Wake(NOON + began * SECOND, None if rang is None else NOON + rang * SECOND)
    return lateness_of(due + late * SECOND, late * SECOND, wake, limited=limited * SECOND)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"late": 0.9, "began": 0}, None, id="on time"),
        pytest.param({"late": 5, "began": 0}, Lateness(queue=5_000), id="a run was at work"),
        pytest.param({"late": 5, "began": 31.5}, Lateness(start=1_500, queue=3_500), id="called directly"),
        pytest.param(
            {"late": 70, "began": 98, "rang": 95},
            Lateness(rounding=30_000, ring=35_000, start=3_000, queue=2_000),
            id="rung for",
        ),
        pytest.param(
            {"late": 100, "began": 125, "rang": 124},
            Lateness(rounding=90_000, ring=4_000, start=1_000, queue=5_000),
            id="the minute after the next, as it was added shortly before",
        ),
        pytest.param(
            {"late": 300, "began": 302, "rang": 301},
            Lateness(rounding=30_000, ring=241_000, start=1_000, queue=28_000),
            id="an echo, as the ring was lost",
        ),
        pytest.param(
            {"late": 50, "began": 0, "limited": 40}, Lateness(queue=10_000, limit=40_000), id="limited"
        ),
        pytest.param({"late": 2, "began": 0, "limited": 40}, Lateness(limit=2_000), id="never more in all"),
    ],
)
def test_the_parts_add_up_to_the_lateness(given: dict[str, float], expected: Lateness | None) -> None:
    assert parts(**given) == expected


def test_percentiles_are_those_of_the_parts_that_are_there() -> None:
    task = new_task(id="a", action="act", due=NOON, payload=None, now=NOON)
    many = [
        parts_of(replace(task, started_at=NOON + ms * MILLISECOND, lateness_ms=ms, lateness=ring))
        for ms, ring in ((ms, Lateness(ring=ms)) for ms in range(1_000, 101_000, 1_000))
    ]
    assert percentiles(many) == {"ring": {"p50": 50_000, "p90": 90_000, "p99": 99_000}}
    assert percentiles([]) == {}
    # And of an attempt that is queued for a later time, what was before it is a part of its own
    retried = replace(task, started_at=NOON + 5 * SECOND, lateness_ms=400)
    assert percentiles([parts_of(retried)]) == {"delay": dict.fromkeys(("p50", "p90", "p99"), 4_600)}
    assert parts_of(replace(task, started_at=NOON + SECOND / 2, lateness_ms=500)) == {}


@pytest.mark.parametrize(
    "event",
    [
        {},
        None,
        {"source": "aws.events"},
        {"source": "aws.events", "time": "soon"},
        {"source": "aws.events", "time": 3},
        {"source": "aws.s3", "time": "2026-11-21T12:00:09Z"},
    ],
)
def test_only_the_event_of_a_ring_tells_when_it_rang(event: object) -> None:
    assert rang_at(event) is None
    assert rang_at({"source": "aws.scheduler", "time": "2026-11-21T12:00:09Z"}) == NOON + 9 * SECOND
