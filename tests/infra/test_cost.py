"""`duebell cost`: dollars a month, computed without a call."""

import json
from datetime import timedelta
from typing import Any

import pytest
from bench.costs import rows
from msgspec.structs import replace
from typer.testing import CliRunner

from duebell_editor.cli.program import app
from duebell_editor.simulation.cost import (
    PRICES,
    Usage,
    cost,
    lambda_dollars,
    measured,
    snapshot_dollars,
)
from duebell_shared.settings import Precision


def duebell(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


HOUR = timedelta(hours=1)
ONE = Usage(tasks=1_000_000, at_a_time=1, every=HOUR)


def test_larger_tasks_take_a_unit_for_each_further_kb_of_each_write() -> None:
    of = measured()
    further = cost(replace(ONE, size_kb=3.5), of).dynamodb - cost(ONE, of).dynamodb
    assert further == pytest.approx(3 * 3 * PRICES["write"].dollars)
    occurrence = replace(ONE, recurs=True)
    further = cost(replace(occurrence, size_kb=2), of).dynamodb - cost(occurrence, of).dynamodb
    assert further == pytest.approx(2 * PRICES["write"].dollars)


def test_the_command_tells_programs_too_and_counts_occurrences() -> None:
    options = ("--recurring", "hourly", "--precision", "second", "--actions", "1", "--json")
    done = duebell("cost", "--tasks", "3", *options)
    told = json.loads(done.stdout)
    of = measured()
    usage = Usage(tasks=3 * 720, at_a_time=1, every=HOUR / 3, recurs=True, precision=Precision.SECOND)
    ours = told["usd_a_month"]
    metrics = (of.fixed_metrics + of.action_metrics) * PRICES["metric"].dollars
    assert ours["total"] == pytest.approx(cost(usage, of).dollars + metrics, abs=1e-3)


@pytest.mark.parametrize("at_a_time", [1, 10, 400, 1_000])
def test_the_command_says_what_the_page_says_of_the_same_tasks(at_a_time: int) -> None:
    [row] = [one for one in rows(measured()) if one.what.startswith(f"once, {at_a_time:,} due at a time")]
    tasks = 720 * at_a_time
    told = json.loads(duebell("cost", "--tasks", str(tasks), "--at-a-time", str(at_a_time), "--json").stdout)
    assert told["usd_a_month"]["total"] == pytest.approx(row.minute.dollars * tasks / 1e6, abs=1e-4)


def test_a_snapshot_is_paid_for_by_the_month_and_by_each_start_from_it() -> None:
    of = measured()
    # A cold start from a snapshot takes less of the processor, and the restoring costs more than that.
    plain, restored = cost(ONE, of).function, cost(replace(ONE, snap_start=True), of).function
    saved = lambda_dollars(of.start_ms / 1000 * 1_769 / 512, 512)
    assert restored - plain == pytest.approx(PRICES["restore"].dollars / 2 - saved)
    # A process that is warm is not restored
    warm = replace(ONE, every=timedelta(minutes=1))
    assert cost(replace(warm, snap_start=True), of) == cost(warm, of)
    assert snapshot_dollars(512) == pytest.approx(1.5046 / 2 * 2.592)

    told = json.loads(duebell("cost", "--tasks", "1000000", "--snap-start", "--json").stdout)["usd_a_month"]
    parts = sum(dollars for name, dollars in told.items() if name not in {"total", "when idle"})
    assert told["snapshot"] == pytest.approx(1.95, abs=0.01)
    assert told["total"] == pytest.approx(parts, abs=0.001)


def test_the_command_adds_the_intake_if_there_is_one() -> None:
    def told(*options: str) -> dict[str, float]:
        done = duebell("cost", "--tasks", "100000", "--json", *options)
        assert done.exit_code == 0, done.stderr
        found: dict[str, float] = json.loads(done.stdout)["usd_a_month"]
        return found

    without, given = told(), told("--intake")
    assert "SQS" not in without
    # Three requests a message, and polling
    assert given["SQS"] == pytest.approx(0.3 * PRICES["request"].dollars)
    assert given["intake polling"] == pytest.approx(
        5 * 3 * 60 * 24 * 30 / 1e6 * PRICES["request"].dollars, abs=1e-4
    )
    parts = sum(dollars for name, dollars in given.items() if name not in {"total", "when idle"})
    assert given["total"] == pytest.approx(parts, abs=1e-3)
    # Tasks that recur are added once: the queue is polled, and that is all
    assert "SQS" not in told("--recurring", "daily", "--intake")


def test_the_command_names_what_is_paid_when_nothing_runs() -> None:
    options = ("--alarms", "--intake", "--snap-start", "--json")
    told = json.loads(duebell("cost", "--tasks", "1", *options).stdout)["usd_a_month"]
    idle = {name: told[name] for name in ("alarms", "dashboard", "intake polling", "snapshot")}
    assert idle == {"alarms": 0.9, "dashboard": 3.0, "intake polling": 0.2592, "snapshot": 1.95}
    assert told["when idle"] == pytest.approx(sum(idle.values()), abs=1e-3)
