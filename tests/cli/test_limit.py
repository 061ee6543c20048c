"""The command `limit`, and what `actions` says of limits."""

import json

import pytest

from duebell_shared.backend import Backend
from duebell_worker import Worker
from tests.cli.program import Duebell


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)
    worker.action("mail", at_most=5)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
    return worker


def test_an_action_is_limited_paused_and_put_back(duebell: Duebell, worker: Worker) -> None:
    assert duebell("limit", "mail", "--per-second", "2") == (
        0,
        "mail: 5 at a time, 2 a second (its code declares: 5 at a time)\n",
        "",
    )
    _, out, _ = duebell("limit", "mail", "--at-most", "0")
    assert out == "mail: paused (its code declares: 5 at a time)\n"
    _, out, _ = duebell("limit", "mail", "--as-declared")
    assert out == "mail: 5 at a time, as its code declares\n"


def test_as_json_it_is_the_limit(duebell: Duebell, worker: Worker) -> None:
    _, out, _ = duebell("limit", "act", "--per-second", "0.5", "--json")
    limit = json.loads(out)
    assert (limit["action"], limit["per_second"], limit["at_most"]) == ("act", 0.5, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give --at-most, --per-second or --as-declared"),
        (("--as-declared", "--at-most", "1"), "goes without other limits"),
        (("--at-most", "-1"), "0 pauses"),
    ],
)
def test_what_is_wrong_is_said(
    duebell: Duebell, worker: Worker, arguments: tuple[str, ...], said: str
) -> None:
    status, _, error = duebell("limit", "mail", *arguments)
    assert status == 2
    assert said in error


def test_actions_tell_their_limits(duebell: Duebell, worker: Worker) -> None:
    duebell("limit", "act", "--at-most", "0")
    _, out, _ = duebell("actions")
    rows = [line.split("  ") for line in out.splitlines()]
    limits = {row[0]: [cell.strip() for cell in row if cell.strip()] for row in rows}
    assert limits["action"][-1] == "limits"
    assert limits["act"][-1] == "paused"
    assert limits["mail"][-1] == "5 at a time"
