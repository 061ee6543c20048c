"""The queue is brought to what the worker's code declares, and a crash in the middle is made up for."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from duebell import (
    AwsUnavailable,
    Editor,
    FollowUp,
    InvalidQuery,
    NotArmed,
    Status,
    TaskConflict,
    TaskExists,
    Then,
    Worker,
    WorkerNotStarted,
)
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.worker_record import WorkerRecord
from tests.support import Calls, Clock
from tests.worker.hooks import Hooks

HOUR = timedelta(hours=1)


@pytest.fixture
def deploy(backend: Backend) -> Callable[..., Worker]:
    """Deploy code that declares these tasks, by id: their arguments of `recurring`; the action is `act`."""

    def deploy(**declared: Any) -> Worker:
        worker = Worker(backend=backend, pool=lambda _: InlinePool())
        action = worker.action("act")(act)
        for id, arguments in declared.items():
            given = {"schedule": "rate(1 day)", **arguments}
            worker.recurring(given.pop("schedule"), id=id, **given)(action)
        worker.register()
        return worker

    return deploy


def act(payload: dict[str, int]) -> None: ...


def recurrence(editor: Editor, id: str) -> Recurrence:
    found = editor.get(id).recurrence
    assert found
    return found


def steps(report: Any) -> list[tuple[str, str]]:
    assert not report.failures
    return [(step.verb, step.id) for step in report.steps]


def test_declared_tasks_are_added_changed_cancelled(editor: Editor, deploy: Callable[..., Worker]) -> None:
    deploy(a={}, b={"schedule": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Berlin", "payload": {"n": 1}})
    # Added, as declared
    assert steps(editor.sync()) == [("add", "a"), ("add", "b")]
    b = recurrence(editor, "b")
    assert (b.schedule.expression, b.schedule.timezone) == ("cron(0 9 ? * MON-FRI *)", "Europe/Berlin")
    assert (editor.get("b").payload, b.declared) == ({"n": 1}, True)
    # Again: nothing
    report = editor.sync()
    assert (report.steps, report.unchanged) == ((), 2)
    # Changed in the fields that differ, and cancelled when gone
    deploy(b={"schedule": "rate(2 hours)", "payload": {"n": 2}, "missed": "skip", "spread": HOUR}, c={})
    report = editor.sync()
    assert steps(report) == [("change", "b"), ("add", "c"), ("cancel", "a")]
    assert report.steps[0].fields == ("payload", "schedule", "timezone", "missed", "spread")
    task, b = editor.get("b"), recurrence(editor, "b")
    assert (task.payload, task.spread, b.missed) == ({"n": 2}, HOUR, "skip")
    assert (b.schedule.expression, b.schedule.timezone) == ("rate(2 hours)", "UTC")
    assert editor.get("a").status is Status.CANCELLED
    assert steps(editor.sync()) == []
    # And one that is declared again is there again
    deploy(a={}, b={"schedule": "rate(2 hours)", "payload": {"n": 2}, "missed": "skip", "spread": HOUR})
    assert steps(editor.sync()) == [("add", "a"), ("cancel", "c")]
    assert editor.get("a").status is Status.SCHEDULED


def test_follow_ups_are_as_declared(editor: Editor, deploy: Callable[..., Worker]) -> None:
    # Given a declared task with both follow-ups
    deploy(a={"then": Then("mail", {"n": 1}, HOUR), "on_failed": "tell"})
    assert steps(editor.sync()) == [("add", "a")]
    task = editor.get("a")
    assert (task.then, task.on_failed) == (
        FollowUp(action="mail", payload_json='{"n":1}', after=HOUR),
        "tell",
    )
    assert editor.sync().unchanged == 1
    # When the code names another, then that is the task's; and none, when it names none
    deploy(a={"then": Then("mail", {"n": 2}), "on_failed": ""})
    assert editor.sync().steps[0].fields == ("on_failed", "then")
    task = editor.get("a")
    assert (task.then, task.on_failed) == (FollowUp(action="mail", payload_json='{"n":2}'), "")
    deploy(a={})
    assert editor.sync().steps[0].fields == ("on_failed", "then")
    task = editor.get("a")
    assert (task.then, task.on_failed) == (None, None)


def test_a_dry_run_is_the_plan_and_writes_nothing(
    editor: Editor, deploy: Callable[..., Worker], calls: Calls
) -> None:
    deploy(a={})
    editor.status()
    calls.clear()
    plan = editor.sync(dry_run=True)
    assert not {"PutItem", "UpdateItem", "PutRule"} & calls.keys()
    assert editor.sync() == plan
    with pytest.raises(InvalidQuery, match="dry_run"):
        editor.sync(dry_run="no")  # type: ignore[arg-type]


def test_only_what_code_declared_is_ever_cancelled(editor: Editor, deploy: Callable[..., Worker]) -> None:
    editor.add("act", schedule="rate(1 hour)", id="by-hand")
    deploy(a={}, b={})
    editor.sync()
    # Given one that a person put in the place of a declared one
    editor.add("act", schedule="rate(1 hour)", id="a", if_exists="replace")
    # When both are declared no more
    deploy()
    assert steps(editor.sync()) == [("cancel", "b")]
    # Then theirs stay
    assert {editor.get(id).status for id in ("a", "by-hand")} == {Status.SCHEDULED}
    assert steps(editor.sync()) == []


def test_a_persons_pause_stays_and_an_edit_does_not(editor: Editor, deploy: Callable[..., Worker]) -> None:
    deploy(a={})
    editor.sync()
    editor.pause("a")
    assert steps(editor.sync()) == []
    editor.update("a", schedule="rate(1 hour)", max_runs=3)
    report = editor.sync()
    assert [step.fields for step in report.steps] == [("schedule", "max_runs")]
    a = recurrence(editor, "a")
    assert (editor.get("a").status, a.schedule.expression) == (Status.PAUSED, "rate(1 day)")
    assert (a.max_runs, a.declared) == (None, True)


def test_a_task_by_hand_is_taken_over_if_it_recurs(editor: Editor, deploy: Callable[..., Worker]) -> None:
    editor.add("act", schedule="rate(1 day)", id="a")
    editor.add("act", due=HOUR, id="b")
    deploy(a={}, b={})
    report = editor.sync()
    assert [(step.verb, step.fields) for step in report.steps] == [("change", ("declared",)), ("add", ())]
    [failure] = report.failures
    assert failure.id == "b"
    assert isinstance(failure.error, TaskExists)
    assert editor.get("b").recurrence is None
    deploy()
    assert [step.id for step in editor.sync().steps] == ["a"]


def test_a_task_that_runs_is_changed_by_the_next_sync(
    editor: Editor, deploy: Callable[..., Worker], clock: Clock, backend: Backend
) -> None:
    deploy(a={"schedule": "rate(1 hour)"})
    editor.sync()
    deploy(a={})
    reports = []

    def meanwhile(payload: object) -> None:
        reports.append(editor.sync())

    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(meanwhile)
    clock.advance(HOUR)
    assert worker.run().done == 1
    [failure] = reports[0].failures
    assert isinstance(failure.error, TaskConflict)
    assert steps(editor.sync()) == [("change", "a")]


def test_nothing_is_known_of_what_is_declared_without_a_worker(
    editor: Editor, deploy: Callable[..., Worker], backend: Backend
) -> None:
    with pytest.raises(WorkerNotStarted, match=r"no worker has started .*: deploy a worker"):
        editor.sync()
    deploy(a={})
    editor.sync()
    record = backend.store.read(WorkerRecord)
    assert record
    assert record.worker
    backend.store.swap(record, record.failed(record.worker, Failure(type="ImportError", message="no")))
    with pytest.raises(WorkerNotStarted, match="the worker cannot start: ImportError: no"):
        editor.sync()
    assert editor.get("a").status is Status.SCHEDULED


@pytest.mark.parametrize("call", range(0, 20, 2))
def test_a_sync_that_breaks_off_at_any_call_is_made_up_for_by_the_next(
    editor: Editor, deploy: Callable[..., Worker], aws: Hooks, call: int
) -> None:
    # Given a queue with tasks to be changed, added, cancelled
    deploy(changed={}, gone={})
    editor.sync()
    deploy(changed={"schedule": "rate(2 days)"}, added={})
    # When AWS is away from some call on
    left = iter(range(call))

    def answer_or_not(**_: object) -> None:
        if is_away and next(left, None) is None:
            raise ConnectTimeoutError(endpoint_url="https://aws.example")

    is_away = True
    for service in ("dynamodb", "events"):
        aws.before(service, answer_or_not)
    with suppress(AwsUnavailable, NotArmed):
        editor.sync()
    is_away = False
    # Then the next makes up for it
    final = Editor(backend=editor._backend).sync()
    assert not final.failures
    assert editor.get("gone").status is Status.CANCELLED
    assert editor.get("added").status is Status.SCHEDULED
    assert recurrence(editor, "changed").schedule.expression == "rate(2 days)"
    assert editor.status().healthy


def test_a_task_whose_follow_up_is_being_added_is_cancelled_by_the_next_sync(
    editor: Editor,
    backend: Backend,
    clock: Clock,
    deploy: Callable[..., Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a declared task that has run, and whose follow-up cannot be added yet
    worker = deploy(a={"payload": {"n": 1}, "then": Then("act", {"n": 2})})
    editor.sync()
    clock.advance(25 * HOUR)
    with monkeypatch.context() as patched:
        patched.setattr(backend.store, "insert_many", lambda tasks: [AwsUnavailable("no")] * len(tasks))
        worker.run()
    assert editor.get("a").owes

    # When code declares it no more, then the sync cannot cancel it yet, and the next one does
    deploy()
    report = editor.sync()
    assert [(step.verb, step.id) for step in report.steps] == [("cancel", "a")]
    assert [failure.id for failure in report.failures] == ["a"]
    clock.advance(HOUR)
    worker.run()
    assert steps(editor.sync()) == [("cancel", "a")]
