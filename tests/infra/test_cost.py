"""`duebell cost`: dollars a month, computed without a call."""

import json
from datetime import timedelta
from typing import Any

import pytest
from bench.costs import rows
from typer.testing import CliRunner

from duebell_editor.cli.program import app
from duebell_editor.simulation.cost import Usage, cost, measured
from duebell_shared.settings import Precision


def duebell(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


HOUR = timedelta(hours=1)


def test_the_command_tells_programs_too_and_counts_occurrences() -> None:
    options = ("--recurring", "hourly", "--precision", "second", "--json")
    done = duebell("cost", "--tasks", "3", *options)
    told = json.loads(done.stdout)
    of = measured()
    usage = Usage(tasks=3 * 720, at_a_time=1, every=HOUR / 3, recurs=True, precision=Precision.SECOND)
    ours = told["usd_a_month"]
    assert ours["total"] == pytest.approx(cost(usage, of).dollars, abs=1e-3)


@pytest.mark.parametrize("at_a_time", [1, 10, 400, 1_000])
def test_the_command_says_what_the_page_says_of_the_same_tasks(at_a_time: int) -> None:
    [row] = [one for one in rows(measured()) if one.what.startswith(f"once, {at_a_time:,} due at a time")]
    tasks = 720 * at_a_time
    told = json.loads(duebell("cost", "--tasks", str(tasks), "--at-a-time", str(at_a_time), "--json").stdout)
    assert told["usd_a_month"]["total"] == pytest.approx(row.minute.dollars * tasks / 1e6, abs=1e-4)
