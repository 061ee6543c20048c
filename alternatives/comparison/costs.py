"""The dollars of a million tasks with each design, and of a month in which nothing is due.

duebell's and EventBridge Scheduler's are those of docs/performance.md. The others are computed from the units
that the simulation counted, the lines that Lambda writes to the log, and price lists.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec
from bench.costs import ALONE, BURST, SCHEDULER, SCHEDULER_WITH_TABLE, idle_dollars, rows
from bench.costs import Row as Dollars

from duebell_editor.simulation.cost import (
    INVOCATION_BYTES,
    PRICES,
    Cost,
    Price,
    log_dollars,
    measured,
)

from .results import Results
from .simulate import ROWS, Idle, Played, Row

__all__ = ["WITH_TABLE", "Costs", "costs", "priced", "prices"]

#: Behind the name of a design that has a table of one's own beside it, with two writes of each task.
WITH_TABLE = "-with-table"

_HOURS = 720
_MILLION = 1_000_000

#: The figures that docs/performance.md has, too, computed as there.
_COMPUTED: dict[str, Callable[[Dollars], Cost]] = {
    "duebell": lambda row: row.minute,
    "duebell-second": lambda row: row.second,
    "eventbridge-scheduler": lambda row: row.scheduler,
    f"eventbridge-scheduler{WITH_TABLE}": lambda row: row.with_table,
}

_S3 = {"source": "https://c3x.dev/blog/s3-request-fees-explained", "dated": "a stored copy without a date"}

_OTHERS = {
    "message": PRICES["request"],
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


def priced() -> Iterator[tuple[Row, str]]:
    """Each row of the comparison, and the name of what it costs: EventBridge Scheduler twice."""
    for row in ROWS:
        yield row, row.name
        if row.title == SCHEDULER:
            yield msgspec.structs.replace(row, title=SCHEDULER_WITH_TABLE), row.name + WITH_TABLE


def prices() -> dict[str, Price]:
    """Return every price that is used."""
    units = ("write", "read", "invocation", "gb_second", "schedule", "transition", "log")
    return {**{unit: PRICES[unit] for unit in units}, **_OTHERS}


def costs(results: Results, design: str) -> Costs:
    """Compute what a design costs: from its simulated units, or as `duebell cost` does."""
    name = design.removesuffix(WITH_TABLE)
    played, idle = results.simulated[name], results.idle[name]
    calls = _calls(played["seconds"], idle) + (2 if name != design else 0)
    alone, burst = (_for_a_million(played[scene], idle) for scene in ("seconds", "burst"))
    if part := _COMPUTED.get(design):
        dollars = {row.what: part(row).dollars for row in rows(measured())}
        alone, burst = dollars[ALONE], dollars[BURST]
    return Costs(alone=alone, burst=burst, idle=_a_month(name, idle), calls=calls)


def _for_a_million(played: Played, idle: Idle) -> float:
    """The units of a scene, less those of an idle design in the same time."""
    units = {name: each - idle.billed.get(name, 0.0) * played.hours for name, each in played.billed.items()}
    return _dollars(units) / _taken(played) * _MILLION


def _a_month(design: str, idle: Idle) -> float:
    standing = {name: each * _HOURS for name, each in idle.billed.items()}
    others = {
        "sqs-chained": idle_dollars(alarms=False, intake=True, snapshot_mb=None)["intake polling"],
        "poller": _HOURS * _OTHERS["machine"].dollars,
    }
    return _dollars(standing) + others.get(design, 0.0)


def _calls(played: Played, idle: Idle) -> float:
    standing = sum(idle.calls.values()) * played.hours
    return (sum(played.calls.values()) - standing) / _taken(played)


def _taken(played: Played) -> int:
    """Count the tasks that the design took, done or lost."""
    return played.outcome.expected - played.outcome.refused


def _dollars(units: Mapping[str, float]) -> float:
    billed = {name: max(each, 0.0) for name, each in units.items() if name in prices()}
    log = log_dollars(billed.get("invocation", 0.0) * INVOCATION_BYTES)
    return log + sum(prices()[name].dollars * each / _MILLION for name, each in billed.items())
