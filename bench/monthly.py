"""The costs of a month besides tasks: watching, waiting to the second, and AWS Config where it is on."""

from collections.abc import Sequence

import msgspec

from bench.capacity import Path
from bench.costs import MEMORY_MB, idle_dollars
from bench.telemetry import Telemetry
from bench.waiting import Waiting
from duebell_editor.simulation import cost
from duebell_editor.simulation.cost import PRICES
from duebell_shared.bell.arming import HEAD_START

__all__ = ["Recorded", "Standing", "Wait", "Watched", "recorded", "waits", "watched"]

#: A month of thirty days.
_HOURS = 30 * 24

_ACTIONS = (1, 5, 20)

_IDLE = idle_dollars(alarms=True, intake=False, snapshot_mb=None)

#: The minutes between two tasks; at the last of these, a run never stops waiting.
_EVERY = {"once an hour": 60, "every ten minutes": 10}
_ALWAYS = "every three minutes or more often"


#: Dollars a month of one look at the queue each second, by a `duebell worker`; of the least provisioned
#: capacity, ten units each of the table and its index; and of AWS Config's daily record of the rule.
LOOKING = _HOURS * 3600 / 1e6 * cost.Units(write=0, read=1).dollars
LEAST = _HOURS * 2 * 10 * (PRICES["write_hour"].dollars + PRICES["read_hour"].dollars)
DAILY = 30 * PRICES["day"].dollars


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars a month for what is paid for although nothing runs: the alarms and the dashboard."""

    alarms: float = _IDLE["alarms"]
    dashboard: float = _IDLE["dashboard"]

    @property
    def dollars(self) -> float:
        """In all."""
        return self.alarms + self.dashboard


class Watched(Standing, frozen=True, kw_only=True):
    """Dollars a month for metrics, alarms and the dashboard, with so many actions."""

    actions: int
    metrics: int
    metrics_dollars: float

    @property
    def dollars(self) -> float:
        """In all."""
        return self.metrics_dollars + super().dollars


def watched(telemetry: Telemetry) -> list[Watched]:
    """As deployed, for several numbers of actions."""
    metrics = {actions: telemetry.fixed_metrics + telemetry.action_metrics * actions for actions in _ACTIONS}
    return [
        Watched(actions=actions, metrics=count, metrics_dollars=count * PRICES["metric"].dollars)
        for actions, count in metrics.items()
    ]


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """The share of the time that the worker waits when tasks come due so often, and its dollars a month."""

    what: str
    share: float
    function: float
    dynamodb: float

    @property
    def dollars(self) -> float:
        """In all."""
        return self.function + self.dynamodb


def waits(waiting: Waiting | cost.Waiting) -> list[Wait]:
    """The cost of waiting to the second.

    The rule rings so long before a due date, less half a minute by rounding up, and half by jitter.
    """
    seconds = HEAD_START.total_seconds() - 2 * 30
    shares = {what: seconds / 60 / minutes for what, minutes in _EVERY.items()} | {_ALWAYS: 1.0}
    hourly = cost.Waiting(
        runs=waiting.runs, invocations=waiting.invocations, reads=waiting.reads, writes=waiting.writes
    )
    function, dynamodb = hourly.dollars(MEMORY_MB)
    month = _HOURS / 1_000_000
    return [
        Wait(what=what, share=share, function=share * function * month, dynamodb=share * dynamodb * month)
        for what, share in shares.items()
    ]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of the rule that AWS Config records in a month, and their dollars."""

    what: str
    changes: float

    @property
    def dollars(self) -> float:
        """When each is recorded."""
        return self.changes * PRICES["change"].dollars


def recorded(paths: Sequence[Path], waiting: Waiting) -> list[Recorded]:
    """By how often the worker runs."""
    run = next(path for path in paths if path.name == "a run, besides its tasks")
    puts = run.calls["PutRule"]
    return [
        Recorded(what="a run every hour", changes=puts * _HOURS),
        Recorded(what="a run every ten minutes", changes=puts * _HOURS * 6),
        Recorded(what="a run every minute, the most there can be", changes=puts * _HOURS * 60),
        Recorded(what="to the second, a worker that always waits", changes=waiting.rule_changes * _HOURS),
    ]
