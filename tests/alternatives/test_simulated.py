"""The simulated account behaves as AWS publishes it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alternatives.simulated.account import Account
from alternatives.simulated.manners import Manners
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


def test_a_change_that_comes_too_late_to_take_effect_misses_its_minute() -> None:
    bench = Bench(Manners(effect=lambda _: 20.0, ring=lambda _: 10.0))
    set_rule(bench, "cron(0 12 21 11 ? 2026)")
    bench.passes_until(timedelta(days=1))
    assert not bench.called


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
