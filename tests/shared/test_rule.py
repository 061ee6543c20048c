"""The bell: set to a minute, nothing else changed, tried again while that may help, and never too late.

`rule` is once a rule and once a schedule.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from duebell_shared.backend import Backend
from duebell_shared.bell.bell import CALL_LIMIT, Bell, BellKind, BellState, RingSchedule
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.errors import AwsRefused, AwsUnavailable
from duebell_shared.settings import Settings
from tests.shared.fake_events import FakeEvents, FakeScheduler, refusal, silence
from tests.support import NOON, SCHEDULED, Calls, Clock, SetFor, create_schedule

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

MINUTE = datetime(2026, 12, 30, 9, 5, tzinfo=UTC)
LONG = timedelta(minutes=1)


@pytest.fixture(params=[FakeEvents, FakeScheduler], ids=["rule", "schedule"])
def eventbridge(request: pytest.FixtureRequest, clock: Clock) -> FakeEvents:
    kind: type[FakeEvents] = request.param
    return kind(clock)


# The arguments of PutRule, on moto.


def described(events: "EventBridgeClient") -> dict[str, object]:
    """All that EventBridge says of the rule."""
    answer = events.describe_rule(Name="duebell")
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def test_setting_the_rule_changes_its_expression_and_nothing_else(
    backend: Backend, events: "EventBridgeClient", calls: Calls
) -> None:
    # Given a rule with everything that PutRule would reset
    role = "arn:aws:iam::123456789012:role/duebell"
    events.put_rule(
        Name="duebell", ScheduleExpression=SENTINEL, State="DISABLED", Description="mine", RoleArn=role
    )
    targets = events.list_targets_by_rule(Rule="duebell")["Targets"]
    before = described(events)
    # When it is set
    assert backend.rule.ring_at(MINUTE, within=LONG)
    # Then all is as before but the expression
    assert described(events) == {**before, "ScheduleExpression": SetFor(MINUTE)}
    assert events.list_targets_by_rule(Rule="duebell")["Targets"] == targets
    assert calls == {"DescribeRule": 1, backend.rule.setting: 1}
    # And it reads so
    assert backend.rule.read() == BellState(
        expression=SetFor(MINUTE),
        state="DISABLED",
        description="mine",
        role=role,
        arn=str(before["Arn"]),
    )
    assert not backend.rule.read().is_enabled
    assert backend.rule.count_targets() == 1


# The arguments of UpdateSchedule, on moto.


def described_schedule(scheduler: Any) -> dict[str, Any]:
    """All that EventBridge Scheduler says of the schedule, but for the time of its last change."""
    answer = scheduler.get_schedule(Name="duebell")
    return {name: answer[name] for name in answer.keys() - {"ResponseMetadata", "LastModificationDate"}}


def test_setting_a_schedule_changes_its_expression_only(session: boto3.Session, calls: Calls) -> None:
    # Given a schedule with everything that UpdateSchedule would reset
    create_schedule(session)
    scheduler: Any = boto3.client("scheduler")
    scheduler.update_schedule(
        Name="duebell",
        ScheduleExpression=FAR_SENTINEL,
        FlexibleTimeWindow={"Mode": "OFF"},
        State="DISABLED",
        Description="mine",
        KmsKeyArn="arn:aws:kms:eu-central-1:123456789012:key/mine",
        Target=SCHEDULED,
    )
    before = described_schedule(scheduler)
    calls.clear()
    # When it is set
    bell = Backend.connect(Settings(bell=BellKind.SCHEDULE), session).rule
    assert bell.ring_at(MINUTE, within=LONG)
    # Then all is as before but the expression
    assert described_schedule(scheduler) == {**before, "ScheduleExpression": SetFor(MINUTE)}
    assert described_schedule(scheduler)["Target"] == SCHEDULED
    assert calls == {"GetSchedule": 1, bell.setting: 1}
    # And it reads so
    assert bell.read() == BellState(
        expression=SetFor(MINUTE),
        state="DISABLED",
        description="mine",
        role=SCHEDULED["RoleArn"],
        arn="arn:aws:scheduler:eu-central-1:123456789012:schedule/default/duebell",
    )
    assert not bell.read().is_enabled
    assert bell.read().place == ("eu-central-1", "123456789012")
    assert bell.count_targets() == 1


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


# Trouble.


@pytest.mark.parametrize("code", ["busy", "Throttling", "ThrottlingException", "TooManyRequestsException"])
def test_what_passes_is_tried_later(rule: Bell, eventbridge: FakeEvents, clock: Clock, code: str) -> None:
    eventbridge.troubles["PutRule"] = [refusal(eventbridge.busy if code == "busy" else code)] * 4
    assert rule.ring_at(MINUTE, within=LONG)
    assert eventbridge.expression == SetFor(MINUTE)
    assert len(eventbridge.put) == 5
    # 0.1, 0.2, 0.4 and 0.8 seconds, each between half and all of it.
    assert 0.75 <= (clock.now - NOON).total_seconds() <= 1.5


# The SDK names an answer without JSON by its status alone.
@pytest.mark.parametrize(("code", "status"), [("InternalException", 500), ("503", 503)])
def test_a_call_that_failed_in_the_server_is_made_again_and_may_take_effect_yet(
    rule: Bell, eventbridge: FakeEvents, code: str, status: int
) -> None:
    eventbridge.troubles["PutRule"] = [refusal(code, status)]
    is_all_answered = rule.ring_at(MINUTE, within=LONG)
    assert not is_all_answered
    assert eventbridge.expression == SetFor(MINUTE)


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException"])
def test_a_refusal_after_the_server_failed_does_not_mean_that_nothing_was_done(
    rule: Bell, eventbridge: FakeEvents, code: str
) -> None:
    eventbridge.troubles["PutRule"] = [refusal("503", 503), *[refusal(code)] * 20]
    with pytest.raises(AwsUnavailable):
        rule.ring_at(MINUTE, within=LONG)


@pytest.mark.parametrize("call", ["DescribeRule", "PutRule"])
@pytest.mark.parametrize("code", ["AccessDeniedException", "ManagedRuleException"])
def test_what_is_refused_is_not_tried_again(
    rule: Bell, eventbridge: FakeEvents, clock: Clock, call: str, code: str
) -> None:
    eventbridge.troubles[call] = [refusal(code)]
    with pytest.raises(AwsRefused, match=f", {eventbridge.kind} 'duebell': .*{code}.*as the test wants it"):
        rule.ring_at(MINUTE, within=LONG)
    assert clock.now == NOON
    assert eventbridge.expression == eventbridge.sentinel


def test_a_call_that_nobody_answers_is_made_again_and_told_of(
    rule: Bell, eventbridge: FakeEvents, clock: Clock
) -> None:
    eventbridge.troubles["PutRule"] = [silence(clock)]
    is_all_answered = rule.ring_at(MINUTE, within=LONG)
    assert not is_all_answered
    assert eventbridge.expression == SetFor(MINUTE)
    # AWS accepts it for five minutes, and no refused or read call counts
    clock.now = NOON + timedelta(minutes=5)
    assert rule.may_change_for() == timedelta(seconds=6)
    eventbridge.troubles |= {"DescribeRule": [silence(clock)], "PutRule": [refusal(eventbridge.busy)]}
    assert rule.ring_at(MINUTE, within=LONG)
    assert rule.may_change_for() == timedelta(0)


@pytest.mark.parametrize("within", [timedelta(seconds=seconds) for seconds in (5, 6, 20)])
def test_no_call_is_begun_that_could_end_too_late(
    rule: Bell, eventbridge: FakeEvents, clock: Clock, within: timedelta
) -> None:
    # Given an EventBridge that never answers, each call taking the longest that it may
    begun: list[timedelta] = []

    def trouble() -> None:
        begun.append(clock.now - NOON)
        silence(clock, CALL_LIMIT.total_seconds())()

    eventbridge.troubles["DescribeRule"] = [trouble] * 50
    # When the rule is to be set within some time
    with pytest.raises(AwsUnavailable):
        rule.ring_at(MINUTE, within=within)
    # Then every call was over by then, and there were as many as there was time for
    assert all(at + CALL_LIMIT <= within for at in begun)
    assert bool(begun) == (within >= CALL_LIMIT)
