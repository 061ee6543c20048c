"""The simulated account behaves as AWS publishes it, and every design does a task once in it, at its time."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from alternatives.comparison.simulate import ROWS
from alternatives.design import Design, Task
from alternatives.simulated.account import Account
from alternatives.simulated.manners import Manners
from alternatives.ttl_stream import DelegatingTtlStream
from botocore.exceptions import ClientError

from tests.simulation.world import World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

#: As AWS on a good day, so that a test knows when something happens: seconds.
PUNCTUAL = Manners(
    ttl=lambda _: 600.0,
    s3=lambda _: 3600.0,
    ring=lambda _: 5.0,
    effect=lambda _: 1.0,
    schedule=lambda _: 5.0,
    wait=lambda _: 0.5,
    message=lambda _: 0.5,
    record=lambda _: 0.5,
    call=lambda _: 0.01,
)

MAKERS: dict[str, Callable[..., Design]] = {
    **{row.name: row.design for row in ROWS},
    "ttl-delegating": DelegatingTtlStream,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_a_task_is_done_once_and_not_before_it_is_due(make: Callable[..., Design]) -> None:
    world = World(1)
    account, due = Account(world, PUNCTUAL), world.now + 2 * HOUR
    account.run(lambda machine: make(machine).deploy())
    world.run_until(due - HOUR)
    account.run(lambda machine: make(machine).add(Task(id="one", due=due, payload={"fails": 0})))
    world.run_until(due + 3 * DAY)  # with every design's slowness
    [start] = account.starts
    assert start.at >= due
    assert start.done


class Bench:
    """An account with one function, `f`, that notes when it is called, and fails."""

    def __init__(self, manners: Manners = PUNCTUAL) -> None:
        self.account = Account(World(1), manners)
        self.services: dict[str, Any] = self.account.services
        self.begun = self.account.world.now
        self.called: list[timedelta] = []
        self.arn = self.account.functions.deploy("f", self._call)

    def _call(self, _: Any, machine: Any) -> None:
        self.called.append(machine.now() - self.begun)
        raise ValueError("as it always does")

    def passes(self, by: timedelta) -> None:
        self.account.world.run_until(self.begun + by)


def test_a_change_that_comes_too_late_to_take_effect_misses_its_minute() -> None:
    bench = Bench(Manners(effect=lambda _: 20.0, ring=lambda _: 10.0))
    bench.services["events"].put_rule(Name="r", ScheduleExpression="cron(0 12 21 11 ? 2026)")
    bench.services["events"].put_targets(Rule="r", Targets=[{"Id": "t", "Arn": bench.arn, "Input": "1"}])
    bench.passes(DAY)
    assert not bench.called


def test_a_function_that_fails_is_called_again_after_one_and_two_minutes() -> None:
    bench = Bench()
    bench.account.functions.invoke_async("f", {})
    bench.passes(DAY)
    first, second, third = bench.called
    assert second - first > MINUTE
    assert third - second > 2 * MINUTE
    assert bench.account.functions.dropped == 1


def test_a_streams_record_that_fails_is_tried_for_24_hours_and_then_dropped() -> None:
    bench = Bench()
    dynamodb, functions = bench.services["dynamodb"], bench.services["lambda"]
    dynamodb.create_table(TableName="t")
    arn = dynamodb.describe_table(TableName="t")["Table"]["LatestStreamArn"]
    mapping = {"EventSourceArn": arn, "FunctionName": bench.arn, "BatchSize": 10}
    functions.create_event_source_mapping(**mapping)
    with pytest.raises(ClientError, match="is there"):
        functions.create_event_source_mapping(**mapping)
    dynamodb.put_item(TableName="t", Item={"id": {"S": "one"}})
    bench.passes(3 * DAY)
    assert timedelta(hours=23) < bench.called[-1] < timedelta(hours=25)
