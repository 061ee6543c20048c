"""The program `duebell`, as far as it needs no AWS."""

import json
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.costs import rows
from typer.testing import CliRunner

from duebell_editor.cli.program import app
from duebell_editor.simulation.cost import Usage, cost, measured
from duebell_infra import cli
from duebell_shared.settings import Precision
from tests.e2e.support import duebell

pytestmark = pytest.mark.slow


def test_an_error_is_one_line(tmp_path: Path) -> None:
    done = duebell("bundle", "--actions", "no-module", folder=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_told_with_the_option_that_chooses_another(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = duebell("local", "--editor-port", str(port), folder=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"port {port} cannot be used" in done.stderr
    assert done.stderr.endswith("choose another with --editor-port\n")


def test_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match=r"duebell\[cli\]"):
        cli.main()


def cost_of(*arguments: str) -> Any:
    """The JSON that `duebell cost` prints."""
    return json.loads(CliRunner().invoke(app, ("cost", *arguments)).stdout)


def test_the_command_tells_programs_too_and_counts_occurrences() -> None:
    options = ("--recurring", "hourly", "--precision", "second", "--json")
    told = cost_of("--tasks", "3", *options)
    usage = Usage(
        tasks=3 * 720, at_a_time=1, every=timedelta(minutes=20), recurs=True, precision=Precision.SECOND
    )
    assert told["usd_a_month"]["total"] == pytest.approx(cost(usage, measured()).dollars, abs=1e-3)


@pytest.mark.parametrize("at_a_time", [1, 10, 400, 1_000])
def test_the_command_says_what_the_page_says_of_the_same_tasks(at_a_time: int) -> None:
    [row] = [one for one in rows(measured()) if one.what.startswith(f"once, {at_a_time:,} due at a time")]
    tasks = 720 * at_a_time
    told = cost_of("--tasks", str(tasks), "--at-a-time", str(at_a_time), "--json")
    assert told["usd_a_month"]["total"] == pytest.approx(row.minute.dollars * tasks / 1e6, abs=1e-4)
