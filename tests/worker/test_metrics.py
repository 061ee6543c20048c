"""Metrics in the log, as CloudWatch reads them."""

import pytest
from msgspec.structs import replace

from duebell import Lateness
from duebell_shared.tasks.new_task import new_task
from duebell_worker.run.attempt import Wake, lateness_of
from duebell_worker.run.report import PARTS, parts_of, percentiles
from duebell_worker.worker import rang_at
from tests.support import NOON, Clock
from tests.worker.log_lines import Log
from tests.worker.scene import HOUR, MINUTE, SECOND, Scene

GB = 2**30


@pytest.fixture
def watched(clock: Clock) -> Scene:
    """A worker that writes metrics, with an action that fails and one that does not."""
    scene = Scene(clock, metrics=True)

    @scene.worker.action("fail", attempts=1)
    def fail() -> None:
        raise ValueError("no")

    return scene


def test_actions_that_the_worker_does_not_have_are_one_dimension(watched: Scene, log: Log) -> None:
    for number in range(30):
        watched.editor.add(f"bogus-{number}", due=HOUR)
    watched.editor.add("act", due=HOUR)
    watched.run(at=NOON + 2 * HOUR)
    by_action = {line["Action"]: line for line in log.lines("metrics") if "Action" in line}
    assert set(by_action) == {"act", "(unknown)"}
    assert by_action["(unknown)"]["Failed"] == 30
    # And which they were is in the log
    assert {line["action"] for line in log.lines("task")} >= {"bogus-0", "bogus-29"}


def test_every_metric_named_is_there_and_a_line_holds_a_hundred_values_at_most(
    watched: Scene, log: Log
) -> None:
    for _ in range(250):
        watched.editor.add("act", due=HOUR)
    watched.run(at=NOON + 2 * HOUR)
    said = log.lines("metrics")
    for line in said:
        for directive in line["_aws"]["CloudWatchMetrics"]:
            assert all(metric["Name"] in line for metric in directive["Metrics"])
            assert all(name in line for names in directive["Dimensions"] for name in names)
    for name in ("Lateness", "LatenessStart"):  # each is an hour late, as no run came
        assert [len(line[name]) for line in said if name in line] == [100, 100, 50]
    assert sum(line.get("Done", 0) for line in said) == 250


def test_a_queue_that_cannot_be_counted_fails_no_run(watched: Scene, log: Log) -> None:
    watched.editor.add("act", due=HOUR)
    watched.store.refuse(range(4), {"count"})
    watched.worker.run()
    [run] = log.lines("metrics")
    assert "QueueDepth" not in run
    assert run["PutRuleCalls"] >= 0


def test_the_queue_is_counted_once_in_five_minutes_whoever_runs(watched: Scene, log: Log) -> None:
    # Given a task that waits, and nothing that is due
    watched.editor.add("act", due=HOUR)
    costs = []
    for minute in range(11):
        watched.run(at=NOON + minute * MINUTE)
        costs.append((watched.costs(), sum(watched.store.calls["count", lane] for lane in range(4))))
    # Then every fifth run counts, and makes no other call more, and the others say nothing of it
    counted = ["QueueDepth" in line for line in log.lines("metrics")]
    assert counted == [True, False, False, False, False] * 2 + [True]
    plain, _ = costs[1]
    assert costs[1:] == [(plain, int(is_counted)) for is_counted in counted[1:]]


def test_the_fullest_lane_is_said_and_kept_in_the_record(
    watched: Scene, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    # Given a table whose writes tell how much the lanes hold
    sizes = iter([{}, {0: 2 * GB, 1: 7 * GB}, {}, {}])
    monkeypatch.setattr(watched.store, "lane_sizes", lambda: next(sizes))
    watched.run(at=NOON)
    fullest = watched.backend.armer.read().fullest
    assert fullest
    assert (fullest.lane, fullest.bytes) == (1, 7 * GB)
    # When the next ones tell nothing, then it is said as it was
    watched.run(at=NOON + 5 * MINUTE)
    assert [line["LaneBytes"] for line in log.lines("metrics")] == [7 * GB] * 2


def test_lanes_in_trouble_are_a_metric_only_where_there_are_any(watched: Scene, log: Log) -> None:
    watched.worker.run()
    watched.store.refuse({2}, {"queued"})
    watched.worker.run()
    assert [line.get("LaneTrouble") for line in log.lines("metrics")] == [None, 1]


def test_there_are_none_unless_asked_for(scene: Scene, log: Log) -> None:
    scene.worker.run()
    assert log.lines("metrics") == []


# The parts of an attempt's lateness, as a run measures them.


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


def test_what_was_before_the_time_that_an_attempt_was_queued_for_is_a_part_of_its_own() -> None:
    task = new_task(id="a", action="act", due=NOON, payload=None, now=NOON)
    retried = replace(task, started_at=NOON + 5 * SECOND, lateness_ms=400)
    assert percentiles([parts_of(retried)]) == {"delay": dict.fromkeys(("p50", "p90", "p99"), 4_600)}
    assert parts_of(replace(task, started_at=NOON + SECOND / 2, lateness_ms=500)) == {}


@pytest.mark.parametrize(("count", "ranks"), [(1, [1] * 3), (100, [50, 90, 99]), (101, [51, 91, 100])])
def test_a_percentile_is_one_of_the_values(count: int, ranks: list[int]) -> None:
    found = percentiles([dict.fromkeys(PARTS, number) for number in range(count, 0, -1)])
    assert found == {name: dict(zip(("p50", "p90", "p99"), ranks, strict=True)) for name in PARTS}


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        {"source": "aws.events", "time": "soon"},
        {"source": "aws.events", "time": 3},
        {"source": "aws.s3", "time": "2026-11-21T12:00:09Z"},
    ],
)
def test_only_the_event_of_a_ring_tells_when_it_rang(event: object) -> None:
    assert rang_at(event) is None
    assert rang_at({"source": "aws.scheduler", "time": "2026-11-21T12:00:09Z"}) == NOON + 9 * SECOND
