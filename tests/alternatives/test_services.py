"""Designs that one service carries: EventBridge Scheduler, Step Functions, SQS."""

from datetime import timedelta

import pytest
from alternatives.design import Refused
from alternatives.eventbridge_scheduler import EventBridgeScheduler
from alternatives.sqs_chained import SqsChained
from alternatives.step_functions import StepFunctions

from .stage import DAY, HOUR, MINUTE, Stage


def test_a_schedule_is_gone_when_it_has_run() -> None:
    stage = Stage(EventBridgeScheduler)
    stage.adds("one", HOUR + timedelta(seconds=17))
    schedules = stage.account.services["scheduler"]
    assert len(schedules.list_schedules(NamePrefix="")["Schedules"]) == 1
    stage.passes_until(HOUR + timedelta(seconds=30))
    assert stage.done("one") == 1
    assert not schedules.list_schedules(NamePrefix="")["Schedules"]


def test_a_schedule_is_within_a_minute_of_its_second() -> None:
    stage = Stage(EventBridgeScheduler, schedule=lambda random: random.uniform(0, 59))
    for number in range(50):
        stage.adds(f"task-{number}", 2 * HOUR + timedelta(seconds=number))
    stage.passes_until(3 * HOUR)
    late = [stage.started(f"task-{n}")[0] - 2 * HOUR - timedelta(seconds=n) for n in range(50)]
    assert timedelta() <= min(late) <= max(late) <= timedelta(seconds=61)


def test_a_failing_schedule_is_called_three_times_and_dropped() -> None:
    stage = Stage(EventBridgeScheduler)
    stage.adds("fails", HOUR, payload={"fails": -1})
    stage.passes_until(5 * HOUR)
    assert len(stage.started("fails")) == 3
    assert stage.account.functions.dropped == 1


def test_step_functions_stops_only_the_execution_of_that_task() -> None:
    stage = Stage(StepFunctions)
    stage.adds("one", HOUR)
    stage.adds("one-more", HOUR)
    stage.does(lambda design: design.cancel("one"))
    stage.passes_until(2 * HOUR)
    assert (stage.done("one"), stage.done("one-more")) == (0, 1)


def test_step_functions_refuses_what_is_due_in_more_than_a_year() -> None:
    stage = Stage(StepFunctions)
    with pytest.raises(Refused, match="more than a year"):
        stage.adds("one", 366 * DAY)


def test_step_functions_tries_again_as_the_state_machine_says() -> None:
    stage = Stage(StepFunctions)
    stage.adds("one", HOUR, payload={"fails": 2})
    stage.passes_until(2 * HOUR)
    assert stage.done("one") == 1
    assert len(stage.started("one")) == 3


def test_sqs_sends_a_message_on_every_fifteen_minutes() -> None:
    stage = Stage(SqsChained)
    stage.adds("one", 100 * MINUTE)
    stage.passes_until(3 * HOUR)
    assert stage.account.calls["send_message"] == 7
    assert stage.started("one")[0] < 100 * MINUTE + timedelta(seconds=3)


def test_sqs_does_a_task_twice_when_its_function_dies_before_it_ends() -> None:
    stage = Stage(SqsChained)
    stage.adds("one", HOUR)
    stage.dies_after("one")
    stage.passes_until(2 * HOUR)
    assert stage.done("one") == 2


def test_sqs_puts_what_fails_five_times_into_the_dead_letter_queue() -> None:
    stage = Stage(SqsChained)
    stage.adds("one", HOUR, payload={"fails": -1})
    stage.passes_until(2 * HOUR)
    assert len(stage.started("one")) == 5
    dead = stage.account.services["sqs"].get_queue_attributes(
        QueueUrl="sqs-chained-dead", AttributeNames=["ApproximateNumberOfMessages"]
    )
    assert dead["Attributes"]["ApproximateNumberOfMessages"] == "1"
