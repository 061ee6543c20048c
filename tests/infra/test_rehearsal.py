"""The scheduler for users' tests: time passes, the rule rings, actions run."""

from datetime import UTC, datetime, timedelta

import pytest

from duebell import Status, Task, Then, UnknownAction, Worker
from duebell_infra.testing import Rehearsal

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def expired() -> list[str]:
    return []


@pytest.fixture
def worker(expired: list[str]) -> Worker:
    worker = Worker()

    @worker.action("expire", attempts=2)
    def expire(payload: dict[str, str], task: Task) -> None:
        if payload.get("fails") and task.attempt == 1:
            raise ValueError("the first time")
        expired.append(payload["user"])

    return worker


def test_nothing_runs_before_its_time(worker: Worker, expired: list[str]) -> None:
    rehearsal = Rehearsal(worker)
    rehearsal.editor.add("expire", due=14 * DAY, payload={"user": "bob"}, id="trial-bob")
    assert rehearsal.let_time_pass(14 * DAY - MINUTE) == []
    assert expired == []
    [report] = rehearsal.let_time_pass(2 * MINUTE)
    assert (expired, report.done) == (["bob"], 1)
    assert rehearsal.now == datetime(2026, 1, 15, 0, 1, tzinfo=UTC)
    assert rehearsal.editor.get("trial-bob").status is Status.DONE
    assert rehearsal.editor.status().healthy


def test_an_action_that_is_closed_waits_for_its_opening() -> None:
    worker, rehearsed = Worker(), []

    @worker.action("mail", closed="22:00-06:00, sun Europe/Berlin")
    def mail() -> None:
        rehearsed.append(rehearsal.now)

    # Friday evening, Saturday noon and evening; clocks go forward on Sunday
    rehearsal = Rehearsal(worker, now=datetime(2026, 3, 27, 20, tzinfo=UTC))
    for hours in (2, 15, 26):
        rehearsal.editor.add("mail", due=timedelta(hours=hours))
    rehearsal.let_time_pass(4 * DAY)
    assert rehearsed == [datetime(2026, 3, *at, tzinfo=UTC) for at in ((28, 5), (28, 11), (30, 4))]


def test_what_the_worker_declares_is_there_once_it_is_deployed() -> None:
    worker = Worker()
    worker.recurring("rate(1 hour)", id="hourly")(worker.action("tick")(lambda: None))
    rehearsal = Rehearsal(worker)
    [step] = rehearsal.deploy().steps
    assert step.id == "hourly"
    rehearsal.let_time_pass(5 * HOUR)
    assert rehearsal.editor.get("hourly").runs == 5
    # And from then on tasks are checked by what the worker says of itself
    with pytest.warns(UnknownAction):
        rehearsal.editor.add("tock", due=HOUR)
    assert not rehearsal.deploy().steps


def test_follow_ups_come_in_their_time() -> None:
    worker, followed = Worker(), list[tuple[str, str]]()

    @worker.action("act", attempts=1)
    def act(payload: dict[str, bool]) -> None:
        if payload.get("fails"):
            raise ValueError("as told")

    @worker.action("follow")
    def follow(_: object, task: Task) -> None:
        followed.append((task.id, task.action))

    worker.deliver("tell", to="arn:aws:sqs:eu-central-1:123456789012:failed")

    with Rehearsal(worker) as rehearsal:
        rehearsal.editor.add("act", due=HOUR, id="a", then=Then("follow", after=DAY))
        rehearsal.editor.add("act", due=HOUR, id="b", payload={"fails": True}, on_failed="tell")
        rehearsal.let_time_pass(2 * HOUR)
        [message] = rehearsal.delivered
        assert '"as told"' in str(message.body)
        assert followed == []
        rehearsal.let_time_pass(DAY)
        assert followed == [("a/then", "follow")]


def test_a_delivery_that_is_done_or_fails_has_follow_ups() -> None:
    worker, followed = Worker(), list[str]()
    worker.deliver("send", to="arn:aws:sqs:eu-central-1:123456789012:tasks")
    worker.action("follow")(lambda _, task: followed.append(task.id))

    with Rehearsal(worker) as rehearsal:
        rehearsal.editor.add("send", due=HOUR, id="a", then=Then("follow"))
        rehearsal.let_time_pass(2 * HOUR)
        assert followed == ["a/then"]
