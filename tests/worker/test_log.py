"""The log: a JSON line for each task and each run, and never a payload."""

from datetime import datetime, timedelta

from duebell import Editor, Worker
from duebell_shared.instants import render
from tests.support import NOON, Clock
from tests.worker.hooks import Hooks
from tests.worker.log_lines import Log
from tests.worker.stage import Stage

SECOND = timedelta(seconds=1)


def rendered(instant: datetime | None) -> str:
    assert instant is not None
    return render(instant)


def test_each_task_and_each_run_is_one_line(editor: Editor, worker: Worker, clock: Clock, log: Log) -> None:
    # Given one that succeeds, one to be retried, and one that fails
    worker.action("act")(lambda: None)
    worker.action("retry")(lambda: 1 / 0)
    worker.action("fail", attempts=1)(lambda: 1 / 0)
    for number, name in enumerate(("act", "retry", "fail")):
        editor.add(name, due=NOON + number * SECOND, id=f"task-{name}")

    # When they are run
    clock.advance(2 * SECOND)
    report = worker.run()

    # Then that is what is said of them
    common = {"event": "task", "run": report.run, "attempt": 1}
    zero = {"failure": "ZeroDivisionError", "message": "division by zero"}
    done, retried, failed = log.lines("task")
    assert done == common | {
        "level": "INFO",
        "id": "task-act",
        "action": "act",
        "outcome": "done",
        "lateness_ms": 2000,
    }
    assert retried.pop("next_attempt") == rendered(editor.get("task-retry").queued)
    assert retried == common | zero | {
        "level": "INFO",
        "id": "task-retry",
        "action": "retry",
        "outcome": "retried",
        "lateness_ms": 1000,
    }
    assert failed == common | zero | {
        "level": "WARNING",
        "id": "task-fail",
        "action": "fail",
        "outcome": "failed",
        "lateness_ms": 0,
    }
    assert log.lines("run") == [
        {"event": "run", "level": "INFO", "run": report.run, "lanes": 4}
        | {"done": 1, "retried": 1, "failed": 1, "expired": 0, "snoozed": 0, "limited": 0, "superseded": 0}
        | {"lateness_max_ms": 2000, "lateness_mean_ms": 1000, "rings_at": rendered(report.rings_at)}
        | {"lateness_parts": {"start": {"p50": 1000, "p90": 2000, "p99": 2000}}}
        | {"stopped_early": False, "lost_lease": False, "resting": []}
    ]
    assert len(log.lines()) == 4


def test_payloads_are_never_logged(editor: Editor, worker: Worker, log: Log) -> None:
    @worker.action("typed")
    def typed(payload: dict[str, int]) -> None: ...

    worker.action("fail")(lambda payload: 1 / 0)
    for name in ("typed", "fail", "unknown"):
        editor.add(name, due=NOON, payload={"card": "5555-4444"})
    worker.run()
    assert len(log.lines("task")) == 3
    assert "5555" not in log.stream.getvalue()
    assert "card" not in log.stream.getvalue().replace("payload.card", "")


def test_a_lease_that_cannot_be_renewed_is_said_and_tried_again(
    editor: Editor, staged: Worker, stage: Stage, aws: Hooks, log: Log
) -> None:
    # Given a table that refuses writes for twelve seconds, when half of the lease is over
    @staged.action("long")
    def long() -> None:
        stage.sleep(59)
        allow = aws.refuse("dynamodb.PutItem", "ThrottlingException")
        stage.sleep(12)
        allow()
        stage.sleep(130)

    editor.add("long", due=NOON)

    # When it is run, then the run goes on, for the lease holds a while yet
    report = staged.run()
    assert (report.done, report.lost_lease) == (1, False)
    assert [line["level"] for line in log.lines("not_renewed")] == ["WARNING"] * 3
