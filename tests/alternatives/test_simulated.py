"""The simulated account behaves as AWS publishes it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alternatives.simulated.account import Account
from alternatives.simulated.events import moments_of
from alternatives.simulated.manners import PUBLISHED, Manners
from botocore.exceptions import ClientError

from tests.simulation.world import World

from .stage import PUNCTUAL

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Bench:
    """An account with one function, `f`, that notes its events and fails as long as it is told to."""

    def __init__(self, manners: Manners = PUNCTUAL) -> None:
        self.account = Account(World(1), manners)
        self.called: list[tuple[timedelta, Any]] = []
        self.fails = 0
        self.arn = self.account.functions.deploy("f", self._call)

    def _call(self, event: Any, machine: Any) -> None:
        self.called.append((machine.now() - NOON, event))
        if len(self.called) <= self.fails:
            raise ValueError("as it was told to")

    def does(self, service: str, operation: str, **arguments: Any) -> Any:
        """What a call returns or raises, which takes no time here."""
        return getattr(self.account.services[service], operation)(**arguments)

    def passes_until(self, after: timedelta) -> None:
        self.account.world.run_until(NOON + after)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def set_rule(bench: Bench, expression: str, **more: Any) -> None:
    bench.does("events", "put_rule", Name="r", ScheduleExpression=expression, **more)
    target = {"Id": "t", "Arn": bench.arn, "Input": json.dumps({"one": 1})}
    bench.does("events", "put_targets", Rule="r", Targets=[target])


def test_a_rule_rings_once_within_its_minute(bench: Bench) -> None:
    set_rule(bench, "cron(30 12 21 11 ? 2026)")
    bench.passes_until(timedelta(days=3))
    [(at, event)] = bench.called
    assert 30 * MINUTE < at < 31 * MINUTE
    assert event == {"one": 1}


def test_a_rule_for_a_minute_that_is_over_never_rings(bench: Bench) -> None:
    set_rule(bench, "cron(59 11 21 11 ? 2026)")
    set_rule(bench, "cron(0 0 1 1 ? 1970)")
    bench.passes_until(timedelta(days=3))
    assert not bench.called


def test_a_disabled_rule_does_not_ring(bench: Bench) -> None:
    set_rule(bench, "cron(30 12 21 11 ? 2026)", State="DISABLED")
    bench.passes_until(timedelta(days=3))
    assert not bench.called


def test_a_rule_that_is_set_anew_rings_only_then(bench: Bench) -> None:
    set_rule(bench, "cron(30 12 21 11 ? 2026)")
    set_rule(bench, "cron(40 12 21 11 ? 2026)")
    bench.passes_until(timedelta(days=3))
    assert [at // MINUTE for at, _ in bench.called] == [40]


def test_a_change_that_comes_too_late_to_take_effect_misses_its_minute() -> None:
    bench = Bench(Manners(effect=lambda _: 20.0, ring=lambda _: 10.0))
    set_rule(bench, "cron(0 12 21 11 ? 2026)")
    bench.passes_until(timedelta(days=1))
    assert not bench.called


def test_a_rule_with_targets_cannot_be_deleted(bench: Bench) -> None:
    set_rule(bench, "rate(1 minute)")
    with pytest.raises(ClientError, match="has targets"):
        bench.does("events", "delete_rule", Name="r")


def test_a_rate_counts_from_when_it_was_set() -> None:
    moments = moments_of("rate(5 minutes)", NOON + SECOND)
    assert [next(moments) - NOON for _ in range(2)] == [5 * MINUTE + SECOND, 10 * MINUTE + SECOND]


def test_a_function_that_fails_is_called_again_after_one_and_two_minutes(bench: Bench) -> None:
    bench.fails = 5
    bench.account.functions.invoke_async("f", {})
    bench.passes_until(timedelta(days=1))
    first, second, third = (at for at, _ in bench.called)
    assert second - first > MINUTE
    assert third - second > 2 * MINUTE
    assert bench.account.functions.dropped == 1


def test_a_streams_record_that_fails_is_tried_for_24_hours_and_then_dropped(bench: Bench) -> None:
    bench.fails = 10_000
    bench.does("dynamodb", "create_table", TableName="t")
    arn = bench.does("dynamodb", "describe_table", TableName="t")["Table"]["LatestStreamArn"]
    mapping = {"EventSourceArn": arn, "FunctionName": bench.arn, "BatchSize": 10}
    bench.does("lambda", "create_event_source_mapping", **mapping)
    with pytest.raises(ClientError, match="is there"):
        bench.does("lambda", "create_event_source_mapping", **mapping)
    bench.does("dynamodb", "put_item", TableName="t", Item={"id": {"S": "one"}})
    bench.passes_until(timedelta(days=3))
    assert timedelta(hours=23) < bench.called[-1][0] < timedelta(hours=25)


def test_an_sqs_delay_of_more_than_fifteen_minutes_is_refused(bench: Bench) -> None:
    bench.does("sqs", "create_queue", QueueName="q")
    with pytest.raises(ClientError, match="901"):
        bench.does("sqs", "send_message", QueueUrl="q", MessageBody="", DelaySeconds=901)


def test_every_published_figure_has_its_source() -> None:
    assert all(figure.source.startswith("https://") for figure in PUBLISHED)
