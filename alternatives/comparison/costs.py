"""The dollars of a million tasks with each design, and of a month in which nothing is due.

They are computed from the units that the simulation counted, and from price lists.
"""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from duebell_infra.cost import PRICES, Price, Usage, cost, measured
from duebell_shared.settings import Precision

from .results import Results
from .simulate import Idle, Played

__all__ = ["Costs", "costs", "prices"]

_HOURS = 720
_MILLION = 1_000_000

#: Lambda polls a queue with five long polls of 20 seconds at a time:
#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
_POLLS_AN_HOUR = 5 * 3600 / 20

_S3 = {"source": "https://c3x.dev/blog/s3-request-fees-explained", "dated": "a stored copy without a date"}

_OTHERS = {
    "message": Price(
        dollars=0.40,
        of="a million SQS requests, standard queues",
        source="https://cloudburn.io/blog/amazon-sqs-pricing",
        dated="14 March 2026",
    ),
    "publish": Price(
        dollars=0.50,
        of="a million SNS publishes",
        source="https://www.factualminds.com/blog/amazon-sns-pricing-publishes-fanout-protocols/",
        dated="13 June 2026",
    ),
    "s3_put": Price(dollars=5.0, of="a million S3 PUT or LIST requests", **_S3),
    "s3_get": Price(dollars=0.40, of="a million S3 GET requests", **_S3),
    "machine": Price(
        dollars=0.0052,
        of="an hour of a t3.nano, a sixteenth of a t3.large",
        source="https://go-cloud.io/?p=10607",
        dated="2026",
    ),
}


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars.

    alone   for a million tasks that come due one by one, some 500 a day
    burst   for a million tasks that come due 400 at a time
    idle    for a month in which nothing is due
    calls   to AWS for a task, from its add to its end, when it comes due alone
    """

    alone: float
    burst: float
    idle: float
    calls: float


def prices() -> dict[str, Price]:
    """Return every price that is used."""
    units = ("write", "read", "invocation", "gb_second", "schedule", "transition")
    return {**{unit: PRICES[unit] for unit in units}, **_OTHERS}


def costs(results: Results, design: str) -> Costs:
    """Compute what a design costs.

    duebell's are those of its own `duebell cost`, because its queue stands in memory here.
    """
    played, idle = results.simulated[design], results.idle[design]
    alone, burst = (_for_a_million(played[scene], idle) for scene in ("seconds", "burst"))
    if design.startswith("duebell"):
        precision = Precision.SECOND if design == "duebell-second" else Precision.MINUTE

        often, seldom = (
            _ours(1, every, precision) for every in (timedelta(days=1) / 500, timedelta(hours=1))
        )
        billed = played["seconds"].billed
        cold = billed["cold_start"] / billed["invocation"]
        # To the second, tasks that come this often keep one run waiting, whatever its start took.
        alone = often if design == "duebell-second" else cold * seldom + (1 - cold) * often
        burst = _ours(400, timedelta(hours=1), precision)
    return Costs(alone=alone, burst=burst, idle=_a_month(design, idle), calls=_calls(played["seconds"], idle))


def _for_a_million(played: Played, idle: Idle) -> float:
    """The units of a scene, less those of an idle design in the same time."""
    units = {name: each - idle.billed.get(name, 0.0) * played.hours for name, each in played.billed.items()}
    return _dollars(units) / _taken(played) * _MILLION


def _a_month(design: str, idle: Idle) -> float:
    standing = {name: each * _HOURS for name, each in idle.billed.items()}
    if design == "sqs-chained":
        standing["message"] = _POLLS_AN_HOUR * _HOURS
    machine = _HOURS * _OTHERS["machine"].dollars if design == "poller" else 0.0
    return _dollars(standing) + machine


def _calls(played: Played, idle: Idle) -> float:
    standing = sum(idle.calls.values()) * played.hours
    return (sum(played.calls.values()) - standing) / _taken(played)


def _taken(played: Played) -> int:
    """Count the tasks that the design took, done or lost."""
    return played.outcome.expected - played.outcome.refused


def _dollars(units: Mapping[str, float]) -> float:
    billed = {name: max(each, 0.0) for name, each in units.items() if name in prices()}
    return sum(prices()[name].dollars * each / _MILLION for name, each in billed.items())


def _ours(at_a_time: int, every: timedelta, precision: Precision) -> float:
    found = cost(Usage(tasks=_MILLION, at_a_time=at_a_time, every=every, precision=precision), measured())
    return found.dynamodb + found.function
