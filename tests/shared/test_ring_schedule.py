"""A schedule of EventBridge Scheduler as the bell, on moto: what is its own, and what is given back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind, BellState, RingSchedule
from duebell_shared.bell.expression import FAR_SENTINEL, is_set_for, next_ring
from duebell_shared.settings import Settings
from tests.shared.fake_events import FakeScheduler
from tests.support import NOON, SCHEDULED, Calls, Clock, SetFor, create_schedule

MINUTE = datetime(2026, 12, 30, 9, 5, tzinfo=UTC)
LONG = timedelta(minutes=1)
KEY = "arn:aws:kms:eu-central-1:123456789012:key/mine"


@pytest.fixture
def scheduler(session: boto3.Session) -> Any:
    """EventBridge Scheduler, to look at the schedule behind duebell's back."""
    create_schedule(session)
    return boto3.client("scheduler")


@pytest.fixture
def backend(session: boto3.Session, scheduler: Any, calls: Calls, clock: Clock) -> Backend:
    return Backend.connect(Settings(bell=BellKind.SCHEDULE), session, clock=clock, sleep=clock.sleep)


def described(scheduler: Any) -> dict[str, Any]:
    """All that EventBridge Scheduler says of the schedule, but for the time of its last change."""
    answer = scheduler.get_schedule(Name="duebell")
    return {
        name: value
        for name, value in answer.items()
        if name not in {"ResponseMetadata", "LastModificationDate"}
    }


def test_setting_the_schedule_changes_its_expression_and_nothing_else(
    backend: Backend, scheduler: Any, calls: Calls
) -> None:
    # Given a schedule with everything that UpdateSchedule would reset
    scheduler.update_schedule(
        Name="duebell",
        ScheduleExpression=FAR_SENTINEL,
        FlexibleTimeWindow={"Mode": "OFF"},
        State="DISABLED",
        Description="mine",
        KmsKeyArn=KEY,
        Target=SCHEDULED,
    )
    before = described(scheduler)
    # When it is set
    assert backend.rule.ring_at(MINUTE, within=LONG)
    # Then all is as before but the expression
    assert described(scheduler) == {**before, "ScheduleExpression": SetFor(MINUTE)}
    assert described(scheduler)["Target"] == SCHEDULED
    assert calls == {"GetSchedule": 1, "UpdateSchedule": 1}
    # And it reads so
    assert backend.rule.read() == BellState(
        expression=SetFor(MINUTE),
        state="DISABLED",
        description="mine",
        role=SCHEDULED["RoleArn"],
        arn="arn:aws:scheduler:eu-central-1:123456789012:schedule/default/duebell",
    )
    assert not backend.rule.read().is_enabled
    assert backend.rule.read().place == ("eu-central-1", "123456789012")
    assert backend.rule.count_targets() == 1


def test_when_it_rings_is_put_right_whatever_was_changed(clock: Clock) -> None:
    # Given a schedule that somebody gave a time zone, a window, an end, and had deleted after that
    fake = FakeScheduler(clock)
    fake.rule |= {
        "ScheduleExpressionTimezone": "Europe/Berlin",
        "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
        "StartDate": NOON - timedelta(days=1),
        "EndDate": NOON + timedelta(days=1),
        "ActionAfterCompletion": "DELETE",
    }
    # When it is set
    RingSchedule("duebell", fake.client, clock=clock, sleep=clock.sleep).ring_at(MINUTE, within=LONG)
    # Then it rings in that minute, in UTC, and stays
    assert fake.rule == {
        "Name": "duebell",
        "ScheduleExpression": SetFor(MINUTE),
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "NONE",
        "State": "ENABLED",
        "Target": SCHEDULED,
    }


def test_the_far_sentinel_is_no_minute_of_a_task() -> None:
    there = datetime(2199, 1, 1, tzinfo=UTC)
    assert next_ring(FAR_SENTINEL, NOON) is None
    assert not is_set_for(FAR_SENTINEL, there)
