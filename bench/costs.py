"""What a million tasks cost in dollars, computed from the units that each path consumes and from price lists.

Prices are those of us-east-1, without free tiers, taxes and discounts; each with the page that it was found
on and that page's date. They change: AWS's own lists have the last word."""

from collections.abc import Mapping, Sequence

import msgspec

from bench.capacity import Path
from duebell_shared.arming import HEAD_START

__all__ = ["PRICES", "Cost", "Price", "Waiting", "compute", "waiting"]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million of something, and who says so."""

    dollars: float
    of: str
    source: str
    dated: str


_LAMBDA = {"source": "https://cloudchipr.com/blog/aws-lambda-pricing", "dated": "2024"}
_DYNAMODB = {
    "source": "https://airbyte.com/data-engineering-resources/dynamodb-pricing",
    "dated": "21 July 2025",
}

PRICES = {
    "write": Price(dollars=0.625, of="write request units, DynamoDB on demand", **_DYNAMODB),
    "read": Price(dollars=0.125, of="read request units, DynamoDB on demand", **_DYNAMODB),
    "invocation": Price(dollars=0.20, of="Lambda requests", **_LAMBDA),
    "gb_second": Price(dollars=13.3334, of="Lambda GB-seconds, arm64", **_LAMBDA),
    "schedule": Price(
        dollars=1.00,
        of="EventBridge Scheduler invocations; 14 million a month are free",
        source="https://cloudburn.io/blog/amazon-eventbridge-pricing",
        dated="13 March 2026",
    ),
    "transition": Price(
        dollars=25.0,
        of="Step Functions state transitions, standard workflows",
        source="https://aws.amazon.com/step-functions/pricing/",
        dated="a stored copy without a date",
    ),
}

#: The worker's memory as the template has it, in GB.
_MEMORY_GB = 0.5

#: Assumed, not measured: seconds that are billed for a run besides its tasks, and for each of them beyond
#: what its action takes. An invocation of its own, as each task has with EventBridge Scheduler, is taken to
#: be 5 ms.
_RUN_SECONDS, _TASK_SECONDS, _INVOCATION_SECONDS = 1.0, 0.01, 0.005

#: How many tasks a run finds due.
_PER_RUN = (1_000, 10, 1)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million tasks, or occurrences, whose actions cost nothing: DynamoDB, the rest, and in
    all."""

    what: str
    dynamodb: float
    others: float

    @property
    def dollars(self) -> float:
        """In all."""
        return self.dynamodb + self.others


def compute(paths: Sequence[Path]) -> list[Cost]:
    """What each way costs: ours at several densities, EventBridge Scheduler, a waiting state machine."""
    by_name = {path.name: path for path in paths}
    add = by_name["`add`, not the new head"]
    done = by_name["a task that is done: claim, outcome"]
    first = by_name["an hourly task's first occurrence"]
    settled = by_name["an hourly task's occurrence, twenty kept on it"]
    run = by_name["a run, besides its tasks"]
    costs = [
        _ours(f"duebell, once, {count:,} due at a time", [add, done], run, per_run=count)
        for count in _PER_RUN
    ]
    costs.append(_ours("duebell, hourly, first day, 1,000 due at a time", [first], run, per_run=1_000))
    costs.append(_ours("duebell, hourly, from then on, 1,000 due at a time", [settled], run, per_run=1_000))
    invocation = PRICES["invocation"].dollars + _lambda_dollars(_INVOCATION_SECONDS)
    schedule = PRICES["schedule"].dollars
    costs.append(
        Cost(what="EventBridge Scheduler, once or hourly", dynamodb=0.0, others=schedule + invocation)
    )
    # A standard workflow that waits and then acts makes at least the steps into these two states.
    waiting = 2 * PRICES["transition"].dollars + invocation
    costs.append(Cost(what="Step Functions, wait and act, once", dynamodb=0.0, others=waiting))
    return costs


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What waiting costs with precision "second".

    seconds        how long a run waits on average for a task that comes due alone
    thousand_runs  dollars for a thousand of these
    month          dollars for a month that is all waiting
    """

    seconds: float
    thousand_runs: float
    month: float


def waiting() -> Waiting:
    """The rule rings so long before a due date, less half a minute by rounding up, and half by jitter."""
    seconds = HEAD_START.total_seconds() - 2 * 30
    return Waiting(
        seconds=seconds,
        thousand_runs=_lambda_dollars(seconds) / 1000,
        month=_lambda_dollars(30 * 24 * 3600) / 1_000_000,
    )


def _ours(what: str, each: Sequence[Path], run: Path, *, per_run: int) -> Cost:
    seconds = _TASK_SECONDS + _RUN_SECONDS / per_run
    return Cost(
        what=what,
        dynamodb=sum(map(_dollars, each)) + _dollars(run) / per_run,
        others=_lambda_dollars(seconds) + PRICES["invocation"].dollars / per_run,
    )


def _dollars(path: Path) -> float:
    units: Mapping[str, float] = {"write": path.write_units, "read": path.read_units}
    return sum(PRICES[unit].dollars * number for unit, number in units.items())


def _lambda_dollars(seconds: float) -> float:
    return PRICES["gb_second"].dollars * _MEMORY_GB * seconds
