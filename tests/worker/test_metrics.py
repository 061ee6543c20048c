"""Metrics in the log, as CloudWatch reads them."""

from datetime import timedelta

import msgspec
import pytest

from duebell_editor import Editor
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_worker import Worker
from tests.support import NOON, Clock
from tests.worker.log_lines import Log

HOUR = timedelta(hours=1)


@pytest.fixture
def watched(backend: Backend) -> Worker:
    """A worker that writes metrics, with an action that fails and one that does not."""
    settings = msgspec.structs.replace(backend.settings, metrics=True)
    over = Backend.over(settings, backend.store, backend.rule, clock=backend.clock, sleep=backend.sleep)
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
    assert run["PutRuleCalls"] == 2
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
    assert [len(line["Lateness"]) for line in said if "Lateness" in line] == [100, 100, 50]
    assert sum(line.get("Done", 0) for line in said) == 250


def test_a_queue_that_cannot_be_counted_fails_no_run(
    watched: Worker, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    def unavailable(*_: object, **__: object) -> int:
        raise AwsUnavailable("throttled")

    monkeypatch.setattr(watched.backend.store, "count", unavailable)
    watched.run()
    [run] = log.lines("metrics")
    assert "QueueDepth" not in run
    assert run["PutRuleCalls"] >= 0


def test_there_are_none_unless_asked_for(worker: Worker, editor: Editor, log: Log) -> None:
    worker.run()
    assert log.lines("metrics") == []
