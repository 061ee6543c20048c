"""Metrics in the log, as CloudWatch reads them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from duebell import Editor, Lateness, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.attempt import Wake, lateness_of
from duebell_worker.run.report import parts_of, percentiles
from duebell_worker.worker import rang_at
from tests.support import NOON, Calls, Clock
from tests.worker.log_lines import Log

HOUR = timedelta(hours=1)
GB = 2**30


@pytest.fixture
def watched(backend: Backend) -> Worker:
    """A worker that writes metrics, with an action that fails and one that does not."""
    settings = msgspec.structs.replace(backend.settings, metrics=True)
    over = Backend(settings, backend.store, backend.rule, clock=backend.clock, sleep=backend.sleep)
    worker = Worker(backend=over, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)

    @worker.action("fail", attempts=1)
    def fail() -> None:
        raise ValueError("no")

    return worker


def test_each_action_and_the_run(watched: Worker, editor: Editor, clock: Clock, log: Log) -> None:
    for id, action in (("a", "act"), ("b", "act"), ("c", "fail")):
        editor.add(action, due=HOUR, id=id, payload={"secret": "hunter2"})
    editor.add("act", due=9 * HOUR)
    editor.add("act", due=HOUR, id="late", expires_after=timedelta(seconds=5))
    clock.advance(HOUR + timedelta(seconds=7))
    watched.run()

    said = log.lines("metrics")
    by_action = {line.get("Action"): line for line in said}
    assert set(by_action) == {"act", "fail", None}
    act = by_action["act"]
    assert sorted(act["Lateness"]) == [7000] * 3
    assert (act["Done"], act["Retried"], act["Failed"], act["Expired"]) == (2, 0, 0, 1)
    assert by_action["fail"]["Failed"] == 1
    [directive] = act["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "duebell"
    assert directive["Dimensions"] == [["Scheduler"], ["Scheduler", "Action"]]
    assert {"Name": "Lateness", "Unit": "Milliseconds"} in directive["Metrics"]
    assert act["_aws"]["Timestamp"] == (NOON + HOUR + timedelta(seconds=7)).timestamp() * 1000
    run = by_action[None]
    assert (run["Scheduler"], run["Overdue"], run["QueueDepth"], run["RunDuration"]) == ("duebell", 0, 1, 0)
    assert run["PutRuleCalls"] == 1
    assert "hunter2" not in str(said)


def test_actions_that_the_worker_does_not_have_are_one_dimension(
    watched: Worker, editor: Editor, clock: Clock, log: Log
) -> None:
    editor.add_many({"action": f"bogus-{number}", "due": HOUR} for number in range(30))
    editor.add("act", due=HOUR)
    clock.advance(2 * HOUR)
    watched.run()
    by_action = {line["Action"]: line for line in log.lines("metrics") if "Action" in line}
    assert set(by_action) == {"act", "(unknown)"}
    assert by_action["(unknown)"]["Failed"] == 30
    # And which they were is in the log
    assert {line["action"] for line in log.lines("task")} >= {"bogus-0", "bogus-29"}


def test_every_metric_named_is_there_and_a_line_holds_a_hundred_values_at_most(
    watched: Worker, editor: Editor, clock: Clock, log: Log
) -> None:
    editor.add_many({"action": "act", "due": HOUR} for _ in range(250))
    clock.advance(2 * HOUR)
    watched.run()
    said = log.lines("metrics")
    for line in said:
        for directive in line["_aws"]["CloudWatchMetrics"]:
            assert all(metric["Name"] in line for metric in directive["Metrics"])
            assert all(name in line for names in directive["Dimensions"] for name in names)
    for name in ("Lateness", "LatenessStart"):  # each is an hour late, as no run came
        assert [len(line[name]) for line in said if name in line] == [100, 100, 50]
    assert sum(line.get("Done", 0) for line in said) == 250


def test_a_queue_that_cannot_be_counted_fails_no_run(
    watched: Worker, editor: Editor, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    def unavailable(*_: object, **__: object) -> int:
        raise AwsUnavailable("throttled")

    editor.add("act", due=HOUR)
    monkeypatch.setattr(watched.backend.store, "count", unavailable)
    watched.run()
    [run] = log.lines("metrics")
    assert "QueueDepth" not in run
    assert run["PutRuleCalls"] >= 0


def test_the_queue_is_counted_once_in_five_minutes_whoever_runs(
    watched: Worker, editor: Editor, clock: Clock, log: Log, calls: Calls
) -> None:
    # Given a task that waits, and nothing that is due
    editor.add("act", due=HOUR)
    queries = []
    for _ in range(11):
        before = calls["Query"], calls["PutItem"]
        watched.run()
        queries.append((calls["Query"] - before[0], calls["PutItem"] - before[1]))
        clock.advance(timedelta(minutes=1))
    # Then every fifth run counts, with one query more and no other write, and the others say nothing of it
    counted = ["QueueDepth" in line for line in log.lines("metrics")]
    assert counted == [True, False, False, False, False] * 2 + [True]
    plain = queries[1]
    assert queries[5:] == [(plain[0] + 1, plain[1]), plain, plain, plain, plain, (plain[0] + 1, plain[1])]


def test_the_fullest_lane_is_said_and_kept_in_the_record(
    watched: Worker, editor: Editor, monkeypatch: pytest.MonkeyPatch, clock: Clock, log: Log
) -> None:
    # Given a table whose writes tell how much the lanes hold
    sizes = iter([{}, {0: 2 * GB, 1: 7 * GB}, {}, {}])
    monkeypatch.setattr(watched.backend.store, "lane_sizes", lambda: next(sizes))
    watched.run()
    fullest = watched.backend.armer.read().fullest
    assert fullest
    assert (fullest.lane, fullest.bytes) == (1, 7 * GB)
    # When the next ones tell nothing, then it is said as it was
    clock.advance(timedelta(minutes=5))
    watched.run()
    assert [line["LaneBytes"] for line in log.lines("metrics")] == [7 * GB] * 2


def test_lanes_in_trouble_are_a_metric_only_where_there_are_any(
    watched: Worker, editor: Editor, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    watched.run()
    queued = watched.backend.store.queued

    def unavailable(lane: int, **given: Any) -> Iterator[QueueKey]:
        if lane == 2:
            raise AwsUnavailable("throttled")
        yield from queued(lane, **given)

    monkeypatch.setattr(watched.backend.store, "queued", unavailable)
    watched.run()
    assert [line.get("LaneTrouble") for line in log.lines("metrics")] == [None, 1]


def test_there_are_none_unless_asked_for(worker: Worker, editor: Editor, log: Log) -> None:
    worker.run()
    assert log.lines("metrics") == []


# The parts of an attempt's lateness, as a run measures them.

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


def test_what_was_before_the_time_that_an_attempt_was_queued_for_is_a_part_of_its_own() -> None:
    task = new_task(id="a", action="act", due=NOON, payload=None, now=NOON)
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
