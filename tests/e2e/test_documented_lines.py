"""The lines for a console that the docs show, run as they stand on the stack on this machine."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from duebell_infra.local.ministack import free_port
from tests.e2e.support import duebell, wait_for
from tests.infra.documented import ROOT, written

pytestmark = pytest.mark.e2e

LINE = re.compile(r"^\$ duebell (.+)$", re.MULTILINE)


def shown(page: str) -> list[list[str]]:
    """The arguments of each line of the page that is for the stack on this machine."""
    lines = [shlex.split(line, comments=True) for line in LINE.findall((ROOT / page).read_text())]
    return [line for line in lines if line[0] == "local" or line[:2] == ["--name", "local"]]


def begins_a_stack(line: Sequence[str]) -> bool:
    return line[0] == "local" and "--actions" in line


@pytest.mark.parametrize(
    ("page", "is_left_running"),
    [
        ("README.md", True),
        ("docs/quickstart.md", True),
        ("docs/how-to/test.md", False),
        ("examples/sales/README.md", True),
    ],
)
def test_the_lines_of_a_page_do_what_it_says(page: str, is_left_running: bool, tmp_path: Path) -> None:
    written(ROOT / page, tmp_path)
    lines = shown(page)
    assert begins_a_stack(lines[0])
    assert any("add" in line for line in lines)
    # Given other ports than the usual ones, and no second terminal
    besides = ("--detach", "--port", str(free_port()), "--editor-port", str(free_port()))
    try:
        for line in lines:
            more = besides if begins_a_stack(line) else ()
            done = duebell(*dict.fromkeys((*line, *more)), folder=tmp_path)
            assert (done.returncode, done.stderr) == (0, ""), line
        if is_left_running:
            ended = ("--name", "local", "list", "--status", "done")
            wait_for(lambda: duebell(*ended, folder=tmp_path).stdout)
    finally:
        stopped = duebell("local", "stop", folder=tmp_path).stdout
    assert stopped.startswith("stopped") is is_left_running
