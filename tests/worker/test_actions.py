"""Functions as actions: how they are called, which are refused, and recurring tasks declared beside them."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import (
    ArgumentsAction,
    Editor,
    InvalidSchedule,
    InvalidTask,
    PayloadAction,
    Status,
    Task,
    Then,
    Worker,
)
from duebell_shared.backend import Backend
from duebell_shared.tasks.checks import VERIFY


def test_an_action_gets_the_payload_and_the_task_or_the_first_or_nothing(
    editor: Editor, worker: Worker
) -> None:
    # Given actions of all three kinds, one of them under two names
    got: list[tuple[Any, ...]] = []
    worker.action("nothing")(lambda: got.append(()))
    worker.action("payload")(lambda payload: got.append((payload,)))

    @worker.action("both")
    @worker.action("again")
    def both(payload: dict[str, int], task: Task) -> None:
        got.append((payload, task.action, task.attempt, task.status))

    # When a task of each is run
    for priority, name in enumerate(("again", "both", "payload", "nothing")):
        editor.add(name, due=timedelta(0), payload={"item": 42}, priority=priority)
    assert worker.run().done == 4

    # Then each was given what it asks for
    payload, attempt = {"item": 42}, (1, Status.RUNNING)
    assert got == [(), (payload,), (payload, "both", *attempt), (payload, "again", *attempt)]


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("two\nlines", {}, InvalidTask, "action: .*only printable characters are allowed"),
        (42, {}, InvalidTask, "action: .*must be text, not int"),
        (VERIFY, {}, ValueError, r"action '.*': names that start with 'duebell\.' are duebell's own$"),
        ("act", {"attempts": 0}, ValueError, "attempts must be a whole number, 1 or more, not 0"),
        ("act", {"backoff": timedelta(1)}, TypeError, r"backoff must be a Backoff\(first=…\), not .*days=1"),
    ],
)
def test_a_name_or_an_option_that_cannot_be_is_refused(
    worker: Worker, name: Any, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        worker.action(name, **options)(lambda: None)


def test_fewer_than_one_at_a_time_is_refused(backend: Backend) -> None:
    with pytest.raises(ValueError, match=r"^concurrency must be 1 or more, not 0$"):
        Worker(backend=backend, concurrency=0)


def test_a_worker_needs_no_settings_until_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given settings that cannot be right
    monkeypatch.setenv("DUEBELL_LANES", "many")

    # When a worker is made of them and given an action, nothing is read
    worker = Worker.from_env()
    worker.action("act")(lambda: None)

    # Then it says so when it runs
    with pytest.raises(Exception, match="DUEBELL_LANES: must be 1 to 64"):
        worker.run()


@pytest.mark.parametrize(("names", "words"), [((), "none at all"), (("zip", "mail"), "mail, zip")])
def test_an_unknown_action_is_told_only_of_the_users_and_verify_is_done_by_each_worker(
    worker: Worker, editor: Editor, names: tuple[str, ...], words: str
) -> None:
    for name in names:
        worker.action(name)(lambda: None)
    for action in ("duebell.unknown", VERIFY):
        editor.add(action, due=timedelta(0), id=action)
    report = worker.run()
    assert (report.failed, report.done) == (1, 1)
    failure = editor.get("duebell.unknown").failure
    assert failure
    deploy = "Deploy one that has it, then retry"
    assert failure.message == f"this worker has no action 'duebell.unknown'; it has {words}. {deploy}"


def test_a_bare_decorator_takes_the_name_of_the_function(worker: Worker) -> None:
    @worker.action
    def remind(payload: dict[str, int]) -> int:
        return payload["user"]

    @worker.action
    def sell(task: Task, *, item: int) -> None: ...

    @worker.action(attempts=2)
    def tidy() -> None: ...

    assert list(worker._actions) == ["remind", "sell", "tidy"]
    assert remind({"user": 7}) == 7
    assert isinstance(remind, PayloadAction)
    assert isinstance(sell, ArgumentsAction)
    assert (remind.name, tidy.attempts) == ("remind", 2)
    with pytest.raises(ValueError, match="there is an action 'remind' already"):
        worker.action(remind)


@pytest.mark.parametrize("nameless", [lambda: None, functools.partial(print), 42])
def test_what_has_no_name_wants_one(worker: Worker, nameless: Any) -> None:
    with pytest.raises(TypeError, match=r"no name to be an action by: give one, as in @worker.action\("):
        worker.action()(nameless)
    assert worker._actions == {}


def yields(payload: object) -> Iterator[int]:
    yield 1


async def yields_later(payload: object) -> AsyncIterator[int]:
    yield 1


class Service:
    def act(self, payload: object) -> None: ...


def two_fields(user: int, text: str) -> None: ...


def task_first(task: Task, payload: object) -> None: ...


def task_by_keyword(*, the_task: Task) -> None: ...


def unresolved(payload: "NotHere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    "function",
    [
        yields,
        yields_later,
        lambda *args: None,
        lambda payload, **rest: None,
        Service.act,
        two_fields,
        lambda payload, limit=10: None,
        task_first,
        lambda payload, task, more: None,
        task_by_keyword,
        lambda payload, *, loud: None,
    ],
)
def test_a_function_that_no_task_can_call_is_refused(worker: Worker, function: Any) -> None:
    with pytest.raises(TypeError, match=r"^action 'act': .* cannot be called for a task: an action takes"):
        worker.action("act")(function)


def test_an_annotation_that_cannot_be_resolved_is_refused(worker: Worker) -> None:
    with pytest.raises(TypeError, match=r"^action 'act': an annotation of unresolved .*NotHere.*top"):
        worker.action("act")(unresolved)


def test_functions_that_tasks_can_call_are_taken(worker: Worker) -> None:
    def perhaps(payload: object, task: Task | None = None) -> None: ...

    @functools.wraps(perhaps)
    def wrapped(*args: object, **kwargs: object) -> None: ...

    async def later(payload: object) -> None:
        await asyncio.sleep(0)

    for number, function in enumerate((perhaps, wrapped, later, Service().act)):
        worker.action(f"act-{number}")(function)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ({"schedule": "cron(bogus)"}, InvalidSchedule, "^schedule: "),
        ({"schedule": "at(2030-01-01T00:00:00)"}, InvalidSchedule, "comes once: declare one that recurs"),
        ({"timezone": "Nowhere"}, InvalidSchedule, "^timezone: "),
        ({"payload": {"n": "x"}}, InvalidTask, "^payload: Expected `int`, got `str`"),
        ({"expires_after": timedelta(1)}, TypeError, "'expires_after' is no argument of @worker.recurring"),
        ({"then": "mail"}, InvalidTask, "^then: must be a Then"),
        ({"id": "x" * 230, "then": Then("mail")}, InvalidTask, "^id: must be at most 224 characters"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_where_it_stands(
    worker: Worker, arguments: dict[str, Any], error: type[Exception], reason: str
) -> None:
    @worker.action
    def act(payload: dict[str, int]) -> None: ...

    with pytest.raises(error, match=reason):
        worker.recurring(**{"schedule": "rate(1 day)", **arguments})(act)
    assert not worker._declared


def test_a_declaration_belongs_to_an_action_of_this_worker_and_its_id_is_its_own(worker: Worker) -> None:
    def act() -> None: ...

    with pytest.raises(TypeError, match=r"^@worker.recurring stands above @worker.action of the same"):
        worker.recurring("rate(1 day)")(act)  # type: ignore[type-var]
    other = Worker().action(act)
    with pytest.raises(TypeError, match=r"of the same worker$"):
        worker.recurring("rate(1 day)")(other)
    mine = worker.action(act)
    worker.recurring("rate(1 day)")(mine)
    with pytest.raises(ValueError, match=r"task 'act' is declared twice: give each an id of its own$"):
        worker.recurring("rate(2 days)")(mine)
