"""Each amount in README and docs is one that the module of costs computes, or a price of AWS."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from alternatives.comparison.costs import costs, priced, prices
from alternatives.comparison.results import load as load_results
from bench import monthly
from bench.costs import idle_dollars, memories, rows, state_machine
from bench.figures import load

from duebell_editor.simulation import cost
from duebell_editor.simulation.cost import PRICES, Units, measured

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Prices from copies of AWS's list that no program of ours computes with.
LISTED = {
    0.25: "a GB of a table for a month, beyond 25 GB: https://aws.amazon.com/dynamodb/pricing/",
    0.001: "an evaluation of a rule of AWS Config: https://aws.amazon.com/config/pricing/",
}

_AMOUNT = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)|(\d+) cents")


def computed() -> Iterator[float]:
    """Every amount that a page may have."""
    of, figures, results = measured(), load(), load_results()
    assert figures.telemetry
    assert figures.waiting
    assert figures.capacity
    yield from (price.dollars for price in (prices() | PRICES).values())
    for row in rows(of):
        for one in (row.minute, row.second, row.scheduler, row.with_table):
            yield from (one.dollars, one.dynamodb, one.function, one.log)
    yield from (at.dollars for at in memories(of))
    yield state_machine().dollars
    for _, name in priced():
        yield from msgspec.structs.astuple(costs(results, name))
    yield from idle_dollars(alarms=True, intake=True, snapshot_mb=512).values()
    yield from (monthly.Standing().alarms, monthly.Standing().dollars, monthly.LEAST, monthly.DAILY)
    yield from (monthly.LOOKING, monthly.LOOKING / 10, cost.PRICES["restore"].dollars / 2)
    for watched in monthly.watched(figures.telemetry):
        yield from (watched.dollars, watched.metrics_dollars)
    for wait in monthly.waits(figures.waiting):
        yield from (wait.dollars, wait.function, wait.dynamodb)
    yield from (row.dollars for row in monthly.recorded(figures.capacity, figures.waiting))
    yield from of_scale()
    # A ring each minute, and one ahead of it, of EventBridge Scheduler
    yield 2 * 43_200 / 1e6 * PRICES["schedule"].dollars
    # A thousand reads of 100 MB; a hundred million objects
    yield 1_000 * Units(write=0, read=100e6 / 8192).dollars / 1e6
    yield 100 * prices()["s3_put"].dollars


def of_scale() -> Iterator[float]:
    """The figures of docs/scale.md."""
    write, hour = PRICES["write"].dollars / 1e6, PRICES["write_hour"].dollars / 3600
    yield from (6e6 * write, 6e6 * hour / 0.7)
    for read_units in (64, 2_500):
        yield read_units * PRICES["read"].dollars / 1e6


def amounts(text: str) -> Iterator[str]:
    for dollars, cents in _AMOUNT.findall(text):
        yield dollars or f"{int(cents) / 100:.2f}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if next(amounts(page.read_text()), None)], ids=lambda page: page.stem
)
def test_each_amount_is_computed_or_listed(page: Path) -> None:
    known = [*computed(), *LISTED]
    wrong = [
        amount
        for amount in amounts(page.read_text())
        if not any(
            f"{one:,.{len(amount.partition('.')[2])}f}".replace(",", "") == amount.replace(",", "")
            for one in known
        )
    ]
    assert not wrong
