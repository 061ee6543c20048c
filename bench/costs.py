"""What a million tasks cost in dollars, computed from the units that each path consumes and from price lists.

Prices are those of us-east-1, without free tiers, taxes and discounts; each with the page that it was found
on and that page's date. They change: AWS's own lists have the last word."""

from collections.abc import Mapping, Sequence

import msgspec

from bench.capacity import Path
from bench.telemetry import Telemetry

__all__ = ["PRICES", "Cost", "Price", "compute", "lambda_dollars"]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for something, and who says so."""

    dollars: float
    of: str
    source: str
    dated: str


_LAMBDA = {"source": "https://cloudchipr.com/blog/aws-lambda-pricing", "dated": "2024"}
_CLOUDWATCH = {
    "source": "https://www.factualminds.com/blog/amazon-cloudwatch-pricing-metrics-logs-alarms-dashboards/",
    "dated": "13 June 2026",
}
_CONFIG = {
    "source": "https://cloudgauge.app/blog/governance-cost-trap.html",
    "dated": "a stored copy without a date",
}
_DYNAMODB = {
    "source": "https://airbyte.com/data-engineering-resources/dynamodb-pricing",
    "dated": "21 July 2025",
}

PRICES = {
    "write": Price(dollars=0.625, of="a million write request units, DynamoDB on demand", **_DYNAMODB),
    "read": Price(dollars=0.125, of="a million read request units, DynamoDB on demand", **_DYNAMODB),
    "invocation": Price(dollars=0.20, of="a million Lambda requests", **_LAMBDA),
    "gb_second": Price(dollars=13.3334, of="a million Lambda GB-seconds, arm64", **_LAMBDA),
    "schedule": Price(
        dollars=1.00,
        of="a million EventBridge Scheduler invocations; 14 million a month are free",
        source="https://cloudburn.io/blog/amazon-eventbridge-pricing",
        dated="13 March 2026",
    ),
    "transition": Price(
        dollars=25.0,
        of="a million Step Functions state transitions, standard workflows",
        source="https://aws.amazon.com/step-functions/pricing/",
        dated="a stored copy without a date",
    ),
    "log": Price(dollars=0.50, of="a GB of log taken in by CloudWatch", **_CLOUDWATCH),
    "dashboard": Price(dollars=3.00, of="a CloudWatch dashboard, a month", **_CLOUDWATCH),
    "metric": Price(
        dollars=0.30,
        of="a custom metric of CloudWatch, a month",
        source="https://signoz.io/guides/cloudwatch-pricing",
        dated="15 February 2026",
    ),
    "alarm": Price(
        dollars=0.10,
        of="a CloudWatch alarm, a month",
        source="https://c3x.dev/resources/aws/aws_cloudwatch_metric_alarm",
        dated="a stored copy without a date",
    ),
    "change": Price(dollars=0.003, of="a change that AWS Config records continuously", **_CONFIG),
    "day": Price(dollars=0.012, of="a day that AWS Config records once", **_CONFIG),
}

#: The worker's memory as the template has it, in GB.
_MEMORY_GB = 0.5

#: Assumed, not measured: seconds that are billed for a run besides its tasks, and for each of them beyond
#: what its action takes. An invocation of its own, as each task has with EventBridge Scheduler, is taken to
#: be 5 ms.
_RUN_SECONDS, _TASK_SECONDS, _INVOCATION_SECONDS = 1.0, 0.01, 0.005

#: Assumed, not measured: bytes of the lines that Lambda itself writes to the log of each invocation.
_INVOCATION_BYTES = 300

#: How many tasks a run finds due.
_PER_RUN = (1_000, 10, 1)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million tasks, or occurrences, whose actions cost nothing."""

    what: str
    dynamodb: float
    log: float
    others: float

    @property
    def dollars(self) -> float:
        """In all."""
        return self.dynamodb + self.log + self.others


def compute(paths: Sequence[Path], telemetry: Telemetry) -> list[Cost]:
    """What each way costs: ours at several densities, EventBridge Scheduler, a waiting state machine."""
    by_name = {path.name: path for path in paths}
    add = by_name["`add`, not the new head"]
    done = by_name["a task that is done: claim, outcome"]
    first = by_name["an hourly task's first occurrence"]
    settled = by_name["an hourly task's occurrence, twenty kept on it"]
    run = by_name["a run, besides its tasks"]

    def ours(what: str, each: Sequence[Path], *, per_run: int) -> Cost:
        seconds = _TASK_SECONDS + _RUN_SECONDS / per_run
        logged = telemetry.task_bytes + (telemetry.run_bytes + _INVOCATION_BYTES) / per_run
        return Cost(
            what=f"duebell, {what}, {per_run:,} due at a time",
            dynamodb=sum(map(_dollars, each)) + _dollars(run) / per_run,
            log=_log_dollars(logged),
            others=lambda_dollars(seconds) + PRICES["invocation"].dollars / per_run,
        )

    costs = [ours("once", [add, done], per_run=count) for count in _PER_RUN]
    costs.append(ours("hourly, first day", [first], per_run=1_000))
    costs.append(ours("hourly, from then on", [settled], per_run=1_000))
    invocation = PRICES["invocation"].dollars + lambda_dollars(_INVOCATION_SECONDS)
    schedule = PRICES["schedule"].dollars
    log = _log_dollars(_INVOCATION_BYTES)
    costs.append(
        Cost(
            what="EventBridge Scheduler, once or hourly",
            dynamodb=0.0,
            log=log,
            others=schedule + invocation,
        )
    )
    # A standard workflow that waits and then acts makes at least the steps into these two states.
    waiting = 2 * PRICES["transition"].dollars + invocation
    costs.append(Cost(what="Step Functions, wait and act, once", dynamodb=0.0, log=log, others=waiting))
    return costs


def _dollars(path: Path) -> float:
    units: Mapping[str, float] = {"write": path.write_units, "read": path.read_units}
    return sum(PRICES[unit].dollars * number for unit, number in units.items())


def lambda_dollars(seconds: float) -> float:
    """A million times so many seconds of the worker."""
    return PRICES["gb_second"].dollars * _MEMORY_GB * seconds


def _log_dollars(log_bytes: float) -> float:
    """A million times so many bytes: as many megabytes."""
    return PRICES["log"].dollars * log_bytes / 1000
