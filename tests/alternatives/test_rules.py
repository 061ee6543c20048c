"""Designs of EventBridge rules: at a fixed rate, one for each task, one for each date."""

import pytest
from alternatives.always_on_poller import AlwaysOnPoller
from alternatives.fixed_rate import FixedRate
from alternatives.one_time_rules import OneTimeRules, OneTimeRulesLeft
from alternatives.rule_per_task import RulePerTask
from botocore.exceptions import ClientError

from .stage import HOUR, MINUTE, Stage


def test_the_fixed_rate_rings_every_minute_with_the_same_payload() -> None:
    stage = Stage(FixedRate)
    events: list[object] = []
    stage.account.functions.deploy("fixed-rate-executor", lambda event, _: events.append(event))
    stage.passes(10 * MINUTE)
    assert len(events) == 10
    assert events == [{"table": "fixed-rate"}] * 10


def test_at_a_fixed_rate_more_than_a_minutes_work_is_done_twice() -> None:
    # Given more than one invocation gets done before the next begins
    stage = Stage(FixedRate)
    for number in range(320):
        stage.adds(f"task-{number}", 10 * HOUR)
    stage.passes_until(11 * HOUR)
    done = [stage.done(f"task-{number}") for number in range(320)]
    assert min(done) == 1
    assert max(done) == 2


def test_at_a_fixed_rate_what_fails_is_tried_without_end_and_stops_nobody() -> None:
    stage = Stage(FixedRate)
    stage.adds("fails", HOUR, payload={"fails": -1})
    stage.adds("behind", HOUR)
    stage.passes_until(3 * HOUR)
    assert stage.done("behind") == 1
    assert len(stage.started("fails")) > 100


def test_the_poller_is_started_again_when_it_dies_and_does_one_again() -> None:
    stage = Stage(AlwaysOnPoller)
    stage.adds("one", HOUR)
    stage.adds("two", HOUR)
    stage.dies_after("one")
    stage.passes_until(2 * HOUR)
    assert (stage.done("one"), stage.done("two")) == (2, 1)


def test_a_rule_per_task_is_made_and_deleted_by_the_tables_stream() -> None:
    stage = Stage(RulePerTask)
    events = stage.account.services["events"]
    stage.adds("one", HOUR)
    assert events.list_rules(NamePrefix="")["Rules"] == [{"Name": "rule-per-task-one"}]
    stage.passes_until(2 * HOUR)
    assert stage.done("one") == 1
    assert not events.list_rules(NamePrefix="")["Rules"]


def test_beyond_the_buss_rules_a_task_is_stored_and_never_rung() -> None:
    stage = Stage(RulePerTask, rules=3)
    for number in range(4):
        stage.adds(f"task-{number}", 100 * HOUR)
    stage.passes_until(150 * HOUR)
    assert [stage.done(f"task-{number}") for number in range(4)] == [1, 1, 1, 0]


def test_beyond_the_buss_rules_a_one_time_rule_is_refused() -> None:
    stage = Stage(OneTimeRules, rules=3)
    for number in range(3):
        stage.adds(f"task-{number}", HOUR)
    with pytest.raises(ClientError, match="LimitExceeded"):
        stage.adds("refused", 2 * HOUR)
    # When the others have run and cleaned up, there is room
    stage.passes_until(2 * HOUR)
    stage.adds("later", 3 * HOUR)
    stage.passes_until(4 * HOUR)
    assert stage.done("later") == 1


def test_rules_that_nobody_deletes_count_for_ever() -> None:
    stage = Stage(OneTimeRulesLeft, rules=3)
    for number in range(3):
        stage.adds(f"task-{number}", HOUR)
    stage.passes_until(24 * HOUR)
    assert stage.done("task-2") == 1
    with pytest.raises(ClientError, match="LimitExceeded"):
        stage.adds("refused", 30 * HOUR)


@pytest.mark.parametrize("design", [RulePerTask, OneTimeRules])
def test_a_rule_rings_in_the_first_whole_minute_that_is_not_before_the_due_date(
    design: type[RulePerTask] | type[OneTimeRules],
) -> None:
    stage = Stage(design)
    stage.adds("half-past", HOUR + MINUTE / 2)
    stage.adds("whole", HOUR)
    stage.passes_until(2 * HOUR)
    assert HOUR + MINUTE <= stage.started("half-past")[0] < HOUR + 2 * MINUTE
    assert HOUR <= stage.started("whole")[0] < HOUR + MINUTE
