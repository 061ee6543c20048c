"""`status`, `doctor` and `failures`: what they say, their exit statuses, and one verdict everywhere."""

import shlex
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from duebell import Editor, Failure, ProblemKind, Status
from duebell.http import create_app
from duebell_shared.aws.alarms import Alarms, Silence
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import STARTS_WITHIN
from tests.cli.program import Duebell, fail, lines
from tests.shared.on_moto import swap
from tests.support import NOON, Clock
from tests.worker.other_runs import key_of


def test_doctor_says_that_nobody_is_told_and_that_is_no_problem(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Alarms, "silence", lambda _: Silence.UNCONFIRMED)
    status, out, _ = duebell("doctor")
    assert status == 0
    assert f"nobody is told when tasks fail: {Silence.UNCONFIRMED}" in out
    assert "the link in the mail that AWS sent" in out
    [document] = lines(duebell("doctor", "--fix", "--json").out)
    assert f"nobody is told when tasks fail: {Silence.UNCONFIRMED}" in document["advice"]
    assert document["mended"] == []


def test_doctor_says_what_it_mended(duebell: Duebell, events: Any) -> None:
    # Given a rule that someone set elsewhere
    duebell("add", "x", "--in", "1h")
    events.put_rule(Name="duebell", ScheduleExpression="cron(0 1 1 1 ? 2030)")
    # When the doctor only looks, it says what is wrong; when it mends, what it was
    assert duebell("doctor").status == 6
    status, out, _ = duebell("doctor", "--fix")
    assert status == 0
    mended, healthy, *_ = out.splitlines()
    assert mended.startswith("repaired: the rule is at cron(0 1 1 1 ? 2030)")
    assert healthy == "healthy: nothing is wrong"


@pytest.fixture
def failed(editor: Editor, backend: Backend) -> None:
    """Two tasks that failed with one error, and a recurring one that fails with it."""
    failure = Failure(type="TimeoutError", message="the bank\ndid not answer")
    for id, when in (
        ("t 1", {"due": timedelta(hours=1)}),
        ("t 2", {"due": timedelta(hours=1)}),
        ("hourly", {"schedule": "rate(1 hour)"}),
    ):
        task = editor.add("charge it", id=id, **when)
        assert backend.store.save(task, task.failed(failure, now=NOON, keep=RetentionPolicy()))


@pytest.mark.usefixtures("failed")
def test_groups_come_with_the_commands_that_run_them_again(duebell: Duebell, editor: Editor) -> None:
    said = [line.strip() for line in duebell("failures").out.splitlines()]
    assert said[:2] == ["3 tasks of charge it: TimeoutError", "the bank did not answer"]
    [group] = lines(duebell("failures", "--json").out)[0]["groups"]
    assert (group["failed"], group["failing"]) == (2, ["hourly"])
    # Then the commands do it, as they are printed
    retry, run_now = (shlex.split(line)[1:] for line in said if line.startswith("duebell "))
    assert duebell(*retry, "--yes").out == "2 tasks set to be retried now\n"
    assert duebell(*run_now).status == 0
    assert editor.get("t 1").failure is None
    assert [group.failed for group in editor.failures().groups] == [0]


@pytest.mark.usefixtures("failed")
def test_printed_commands_reach_the_scheduler_that_was_named(duebell: Duebell) -> None:
    chosen = ["--name", "B", "--region", "eu-north-1", "--profile", "a b"]
    out = duebell(*chosen, "failures").out
    assert "duebell --name B --region eu-north-1 --profile 'a b' retry --status failed" in out
    assert "duebell --name B --region eu-north-1 --profile 'a b' run-now hourly" in out
    # Also when they stand after the command, and in the ways out of problems
    assert "see why with `duebell --name B failures`" in duebell("doctor", "--name", "B").out
    # And no more than what was given
    assert "see why with `duebell failures`" in duebell("doctor").out


@pytest.mark.usefixtures("failed")
def test_a_question_names_the_scheduler_the_action_and_the_error(duebell: Duebell) -> None:
    err = duebell("retry", "--status", "failed", "--action", "charge it", "--error", "TimeoutError").err
    assert "duebell: 2 tasks (" in err
    for part in ("status failed", "action charge it", "error TimeoutError", "would be set to be retried"):
        assert part in err


SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def lease(backend: Backend) -> None:
    """A run holds all lanes for an hour."""
    now = backend.clock()
    swap(backend, lambda record: record.claimed("run", now=now, until=now + HOUR))
    backend.armer.ensure()


def start(backend: Backend) -> None:
    key = key_of(Editor(backend=backend).get("soon"))
    assert backend.store.claim(key, run="run", now=backend.clock(), status=Status.SCHEDULED)


@pytest.mark.parametrize(
    ("steps", "late_by", "kinds"),
    [
        pytest.param([], -MINUTE, [], id="fine"),
        pytest.param([lease], STARTS_WITHIN, [], id="nearly late"),
        pytest.param(
            [lease], STARTS_WITHIN + SECOND, [ProblemKind.OVERDUE], id="late, while a run is at work"
        ),
        pytest.param([lease, start], 10 * MINUTE, [], id="fine, and runs for long"),
        pytest.param(
            [],
            2 * MINUTE + SECOND,
            [ProblemKind.NOT_ARMED, ProblemKind.OVERDUE],
            id="late, the ring was lost",
        ),
        pytest.param(
            [lambda backend: fail(Editor(backend=backend), "soon")],
            -MINUTE,
            [ProblemKind.FAILED_TASKS],
            id="failing",
        ),
    ],
)
def test_all_say_the_same_of_the_same_queue(
    editor: Editor,
    backend: Backend,
    clock: Clock,
    duebell: Duebell,
    *,
    steps: Iterable[Callable[[Backend], None]],
    late_by: timedelta,
    kinds: list[ProblemKind],
) -> None:
    # Given a queue with one task that is due in a minute, and is so late, and one in an hour
    editor.add("act", due=MINUTE, id="soon")
    editor.add("act", due=HOUR, id="later")
    clock.now = NOON + MINUTE
    for step in steps:
        step(backend)
    clock.now = NOON + MINUTE + late_by
    # Then all surfaces tell the same problems, verdict and count of late tasks
    verdict, overdue = "needs attention" if kinds else "healthy", int(ProblemKind.OVERDUE in kinds)
    client = TestClient(create_app(editor), base_url="http://127.0.0.1:8125")
    for found in (editor.status(), editor.doctor().status):
        assert [one.kind for one in found.problems] == kinds
        assert (found.verdict, found.overdue) == (verdict, overdue)
    for told in (
        client.get("/api/status").json(),
        client.get("/api/doctor").json(),
        lines(duebell("status", "--json").out)[0],
        lines(duebell("doctor", "--json").out)[0],
    ):
        assert ([one["kind"] for one in told["problems"]], told["verdict"]) == (kinds, verdict)
        assert (told["healthy"], told["overdue"]) == (not kinds, overdue)
    for command in ("status", "doctor"):
        status, out, _ = duebell(command)
        assert (status, verdict in out) == (6 if kinds else 0, True)
    # And the chart and `why` call the same tasks late
    assert sum(bucket.overdue for bucket in editor.timeline(NOON)) == overdue
    assert sum(editor.why(id).is_late for id in ("soon", "later")) == overdue
