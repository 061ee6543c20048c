"""The commands `actions`, `sync` and `limit`, and what others say of the worker."""

import dataclasses
import json
import re

import pytest

from duebell import Editor, Status, Worker
from duebell_editor.cli.context import Context
from duebell_shared.backend import Backend
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.worker_record import WorkerRecord
from tests.cli.program import Duebell, lines
from tests.support import NOON


@dataclasses.dataclass
class Sale:
    item: int
    price: float = 1.5


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)

    @worker.recurring("rate(1 day)", id="daily")
    @worker.action
    def report() -> None: ...

    @worker.action(attempts=3)
    def put_on_sale(sale: Sale) -> None: ...

    worker.register()
    return worker


def break_down(editor: Editor) -> None:
    """Have a new version of the worker fail to start."""
    store = editor._backend.store
    record = store.read(WorkerRecord) or WorkerRecord()
    assert record.worker
    trace = 'Traceback (most recent call last):\n  File "/var/task/sales/actions.py", line 3, in <module>\n'
    error = Failure(type="ModuleNotFoundError", message="No module named 'payloads'", traceback=trace)
    assert store.swap(record, record.failed(record.worker, error))


def test_actions_are_listed(duebell: Duebell, worker: Worker) -> None:
    about, _, actions = duebell("actions").out.partition("\nactions\n")
    told = [line.split()[0] for line in about.splitlines()]
    assert told == ["version", "duebell", "python", "tzdata", "started"]
    assert [line.split() for line in actions.splitlines()] == [
        ["name", "attempts", "recurring", "kind"],
        ["put_on_sale", "3", "function"],
        ["report", "5", "daily", "function"],
    ]


def test_a_worker_that_cannot_start_is_never_called_healthy(
    duebell: Duebell, editor: Editor, worker: Worker
) -> None:
    editor.add("report", due=NOON)
    break_down(editor)
    why = "ModuleNotFoundError: No module named 'payloads'"
    for command in ("status", "doctor"):
        status, out, _ = duebell(command)
        assert status == 6
        assert why in out
        assert "healthy" not in out
    # Repairing the rule does not repair the worker, and does not say so
    status, out, _ = duebell("doctor", "--fix")
    assert (status, why in out) == (6, True)
    status, out, _ = duebell("actions")
    assert status == 6
    assert 'File "/var/task/sales/actions.py", line 3' in out


def test_sync_shows_the_plan_and_does_it(duebell: Duebell, editor: Editor, worker: Worker) -> None:
    out = duebell("sync", "--dry-run").out
    assert "add   daily  report  rate(1 day)" in out
    assert out.endswith(": changes to be made: 1, unchanged: 0\n")
    assert editor.list(status=list(Status)).tasks == ()
    assert duebell("sync").out.endswith(": changes made: 1, unchanged: 0\n")
    assert duebell("sync").out.endswith(": changes made: 0, unchanged: 1\n")
    editor.update("daily", schedule="rate(2 days)")
    [step] = lines(duebell("sync", "--json").out)[0]["steps"]
    assert (step["verb"], step["id"], step["fields"]) == ("change", "daily", ["schedule"])


def test_a_sync_that_could_not_do_all_says_what(duebell: Duebell, editor: Editor, worker: Worker) -> None:
    editor.add("report", due=NOON, id="daily")
    status, _, err = duebell("sync")
    assert status == 7
    assert err.startswith("id daily: a task 'daily' exists already")
    [told] = lines(duebell("sync", "--json").out)
    assert told["failures"][0]["type"] == "task-exists"


def test_add_warns_of_an_action_that_no_worker_has(duebell: Duebell, worker: Worker) -> None:
    status, _, err = duebell("add", "raport", "--in", "1h", "--id", "a")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("warning: action: the worker has no action 'raport': did you mean report? If")
    assert "no action" in lines(duebell("add", "raport", "--in", "1h", "--json").err)[0]["warning"]


@pytest.fixture
def limited(backend: Backend) -> Worker:
    worker = Worker(backend=backend)
    worker.action("mail", at_most=5)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
    return worker


def facts(out: str) -> dict[str, str]:
    """The facts of an answer by their titles."""
    return dict(re.findall(r"(?m)^(\w+(?: \w+)*)  +(.*?) *$", out))


def test_an_action_is_limited_paused_and_put_back(duebell: Duebell, limited: Worker) -> None:
    told = facts(duebell("limit", "mail", "--per-second", "2").out)
    assert (told["at most"], told["per second"], told["declared at most"]) == ("5", "2", "5")
    assert facts(duebell("limit", "mail", "--at-most", "0").out)["paused"] == "yes"
    # A paused action is seen at first sight
    actions = duebell("actions").out.partition("\nactions\n")[2].partition("\n\n")[0]
    paused = {row.split()[0]: row.split()[-1] for row in actions.splitlines()}
    assert (paused["name"], paused["mail"], paused["act"]) == ("paused", "yes", "function")
    assert "paused" not in facts(duebell("limit", "mail", "--as-declared").out)


def test_an_action_is_closed_in_some_hours(duebell: Duebell, limited: Worker) -> None:
    hours = ("--closed", "22:00-06:00 Europe/Berlin", "--closed", "sat,sun")
    told = facts(duebell("limit", "mail", *hours).out)
    assert told["closed"] == "22:00-06:00 Europe/Berlin; sat, sun UTC"
    # And that is told until when: it is Saturday
    assert re.search("closed until.*2026-11-23", duebell("actions").out, re.DOTALL)
    assert facts(duebell("limit", "mail", "--closed", "never").out)["closed"] == "never"


def test_the_status_answers_why_nothing_is_started(
    duebell: Duebell, limited: Worker, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "editor", lambda _: editor.acting_as("ann"))
    assert "limited" not in duebell("status").out
    duebell("add", "act", "--due", "2026-11-21T12:00:00Z", "--id", "one")
    duebell("limit", "act", "--at-most", "0")
    limited.run()
    status, out, _ = duebell("status")
    assert status == 6
    assert "`duebell limit --as-declared act`, or another `--at-most`, ends" in " ".join(out.split())
    told = json.loads(duebell("status", "--json").out)["limited"]
    assert [(one["action"], one["paused"], one["waiting"]) for one in told] == [("act", True, 1)]
