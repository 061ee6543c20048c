"""The Lambda handler: a run within the time, again when AWS cannot be reached, and the heartbeat."""

import json
from datetime import timedelta

import pytest

from duebell import AwsRefused, AwsUnavailable, Editor, NotArmed, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import run_event
from duebell_shared.bell.expression import SENTINEL
from tests.editor.memory import Scheduler
from tests.support import NOON, Clock
from tests.worker.hooks import Hooks
from tests.worker.starting import CONTEXT, Context

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _one_is_due(editor: Editor, worker: Worker) -> None:
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON, id="a")


def test_the_answer_is_the_report_as_json(editor: Editor, worker: Worker, clock: Clock) -> None:
    editor.add("act", due=timedelta(hours=1))
    answer = worker.handler({"source": "aws.events"}, Context(clock))
    assert answer["done"] == 1
    assert json.loads(json.dumps(answer))["rings_at"] == "2026-11-21T13:00:00Z"


def test_what_fails_for_want_of_aws_is_tried_again_within_the_invocation(
    editor: Editor, worker: Worker, clock: Clock, aws: Hooks
) -> None:
    # Given a table that does not answer the first ten queries, the SDK's own retries among them
    aws.leave_unanswered("dynamodb.Query", times=2)

    # When Lambda calls the handler once
    answer = worker.handler(None, Context(clock))

    # Then the task is done all the same, by one run that kept its lanes
    assert (answer["done"], answer["lanes"]) == (1, 4)
    assert editor.get("a").run == answer["run"]
    assert clock.now >= NOON + timedelta(seconds=2)


@pytest.mark.parametrize("minutes", [15, 1])
def test_in_the_end_the_failure_is_lambdas_to_deal_with(
    worker: Worker, clock: Clock, aws: Hooks, minutes: float
) -> None:
    # Given a table that never answers
    aws.leave_unanswered("dynamodb.Query", times=10_000)

    # When the handler is called, it gives up while there is time
    with pytest.raises(AwsUnavailable):
        worker.handler(None, Context(clock, timedelta(minutes=minutes)))
    assert clock.now < NOON + timedelta(minutes=minutes)
    assert clock.now > NOON + timedelta(seconds=10 if minutes < 2 else 50)


def test_what_aws_refuses_is_not_tried_again_for_long(worker: Worker, clock: Clock, aws: Hooks) -> None:
    aws.refuse("dynamodb.Query", "AccessDeniedException")
    with pytest.raises(AwsRefused, match="AccessDenied"):
        worker.handler(None, Context(clock))
    assert clock.now <= NOON + timedelta(seconds=5)


def test_a_rule_that_cannot_be_set_is_tried_again_and_then_raised(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, aws: Hooks
) -> None:
    editor.add("act", due=HOUR, id="b")
    aws.refuse("events.PutRule", "AccessDeniedException")
    with pytest.raises(NotArmed, match="AccessDenied"):
        worker.handler(None, Context(clock))
    assert editor.get("a").status is Status.DONE
    assert clock.now >= NOON + timedelta(seconds=53)
    # The lanes are given back, so that whoever may set the rule sets it for what comes next.
    record = backend.armer.read()
    assert (record.target, record.armed, record.is_being_applied(NOON)) == (NOON + HOUR, None, False)


# A heartbeat, which both templates send: an event for no lanes has the worker set the bell right.


@pytest.mark.parametrize("fault", ["parked", "edited", "a ring was lost", "none"])
def test_a_heartbeat_finds_and_repairs_what_was_done_to_the_rule(fault: str) -> None:
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.register()
    scheduler.editor.add("act", due=NOON + 2 * HOUR, id="one")
    put = len(scheduler.events.put)
    # Given a rule that is not what the queue needs, or is
    match fault:
        case "parked":
            scheduler.events.rule["ScheduleExpression"] = SENTINEL
        case "edited":
            scheduler.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2031)"
        case "a ring was lost":
            scheduler.clock.now = NOON + 3 * HOUR
    assert scheduler.editor.status().armed == (fault == "none")
    # When the heartbeat comes, then the rule rings for the task, no lane was taken, and no call made for none
    assert worker.handler(run_event(()), CONTEXT)["lanes"] == 0
    status = scheduler.editor.status()
    assert status.armed
    assert status.rings_at
    assert status.rings_at <= max(NOON + 2 * HOUR, scheduler.clock.now + timedelta(minutes=2))
    assert len(scheduler.events.put) == put + (fault != "none")
