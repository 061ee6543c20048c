"""Recurring tasks declared beside their action, actions without a name, and functions that cannot be one."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import (
    Action,
    ArgumentsAction,
    FollowUp,
    InvalidSchedule,
    InvalidTask,
    PayloadAction,
    Task,
    Then,
    Worker,
)
from duebell_shared.tasks.worker_record import DeclaredTask


@pytest.fixture
def worker() -> Worker:
    return Worker()


def declared(worker: Worker) -> list[DeclaredTask]:
    return list(worker._declared.values())


def test_a_bare_decorator_takes_the_name_of_the_function(worker: Worker) -> None:
    @worker.action
    def remind(payload: dict[str, int]) -> int:
        return payload["user"]

    @worker.action
    def report() -> None: ...

    @worker.action
    def sell(task: Task, *, item: int) -> None: ...

    @worker.action(attempts=2)
    def tidy() -> None: ...

    assert list(worker._actions) == ["remind", "report", "sell", "tidy"]
    assert remind({"user": 7}) == 7
    assert isinstance(remind, PayloadAction)
    assert isinstance(sell, ArgumentsAction)
    assert (remind.name, tidy.attempts) == ("remind", 2)
    with pytest.raises(ValueError, match="there is an action 'remind' already"):
        worker.action(remind)


@pytest.mark.parametrize("nameless", [lambda: None, functools.partial(print), 42, None])
def test_what_has_no_name_wants_one(worker: Worker, nameless: Any) -> None:
    with pytest.raises(TypeError, match="has no name to be an action by: give one"):
        worker.action()(nameless)
    assert worker._actions == {}


def yields(payload: object) -> Iterator[int]:
    yield 1


async def yields_later(payload: object) -> AsyncIterator[int]:
    yield 1


def undecorated(function: Callable[..., Any]) -> Callable[..., None]:
    def inner(*args: object, **kwargs: object) -> None: ...

    return inner


def takes_rest(payload: object, **rest: object) -> None: ...


class Service:
    def act(self, payload: object) -> None: ...


def two_fields(user: int, text: str) -> None: ...


def with_option(payload: object, *, loud: bool) -> None: ...


def with_default(payload: object, limit: int = 10) -> None: ...


def task_first(task: Task, payload: object) -> None: ...


def greedy(payload: object, task: Task, more: object) -> None: ...


def task_by_keyword(*, the_task: Task) -> None: ...


def unresolved(payload: "NotHere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def plain_default(payload, limit=10):  # type: ignore[no-untyped-def]
    ...


@pytest.mark.parametrize(
    "function",
    [
        yields,
        yields_later,
        undecorated(yields),
        takes_rest,
        Service.act,
        two_fields,
        with_default,
        plain_default,
        task_first,
        greedy,
        task_by_keyword,
        with_option,
    ],
)
def test_a_function_that_no_task_can_call_is_refused(worker: Worker, function: Any) -> None:
    with pytest.raises(TypeError, match=r"^action 'act': .* cannot be called for a task: an action takes"):
        worker.action("act")(function)


def test_an_annotation_that_cannot_be_resolved_is_refused(worker: Worker) -> None:
    with pytest.raises(TypeError, match=r"^action 'act': an annotation of unresolved .*NotHere.*top"):
        worker.action("act")(unresolved)


def test_functions_that_tasks_can_call_are_taken(worker: Worker) -> None:
    def untyped(payload, task):  # type: ignore[no-untyped-def]
        ...

    def perhaps(payload: object, task: Task | None = None) -> None: ...

    @functools.wraps(untyped)
    def wrapped(*args: object, **kwargs: object) -> None: ...

    async def later(payload: object) -> None:
        await asyncio.sleep(0)

    for number, function in enumerate((untyped, perhaps, wrapped, later, Service().act)):
        worker.action(f"act-{number}")(function)  # type: ignore[call-overload]


def test_a_recurring_task_stands_above_its_action(worker: Worker) -> None:
    @worker.recurring("cron(0 9 ? * MON-FRI *)", timezone="Europe/Berlin")
    @worker.recurring(
        "rate(1 hour)",
        id="hourly",
        payload={"n": 1},
        missed="skip",
        spread=timedelta(minutes=5),
        on_failed="tell",
        then=Then("mail", {"n": 2}, timedelta(hours=1)),
    )
    @worker.action
    def report(payload: dict[str, int]) -> None: ...

    assert isinstance(report, Action)
    assert declared(worker) == [
        DeclaredTask(
            id="hourly",
            action="report",
            schedule="rate(1 hour)",
            payload_json='{"n":1}',
            missed="skip",
            spread=timedelta(minutes=5),
            on_failed="tell",
            then=FollowUp(action="mail", payload_json='{"n":2}', after=timedelta(hours=1)),
        ),
        DeclaredTask(
            id="report", action="report", schedule="cron(0 9 ? * MON-FRI *)", timezone="Europe/Berlin"
        ),
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ({"schedule": "cron(bogus)"}, InvalidSchedule, "^schedule: "),
        ({"schedule": "at(2030-01-01T00:00:00)"}, InvalidSchedule, "comes once: declare one that recurs"),
        ({"schedule": 7}, InvalidSchedule, "must be text"),
        ({"timezone": "Nowhere"}, InvalidSchedule, "^timezone: "),
        ({"id": ""}, InvalidTask, "^id: "),
        ({"payload": {"n": "x"}}, InvalidTask, "^payload: Expected `int`, got `str`"),
        ({"missed": "never"}, InvalidTask, "^missed: must be 'once', 'all' or 'skip'"),
        ({"spread": timedelta(days=3)}, InvalidTask, "^spread: "),
        ({"expires_after": timedelta(1)}, TypeError, "'expires_after' is no argument of @worker.recurring"),
        ({"on_failed": 7}, InvalidTask, "^on_failed: must be the name of an action"),
        ({"then": "mail"}, InvalidTask, "^then: must be a Then"),
        ({"id": "x" * 230, "then": Then("mail")}, InvalidTask, "^id: must be at most 224 characters"),
        ({"mised": "all"}, TypeError, "'mised' is no argument of @worker.recurring"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_where_it_stands(
    worker: Worker, arguments: dict[str, Any], error: type[Exception], reason: str
) -> None:
    @worker.action
    def act(payload: dict[str, int]) -> None: ...

    with pytest.raises(error, match=reason):
        worker.recurring(**{"schedule": "rate(1 day)", **arguments})(act)
    assert declared(worker) == []


def test_a_declaration_belongs_to_an_action_of_this_worker_and_its_id_is_its_own(worker: Worker) -> None:
    def act() -> None: ...

    with pytest.raises(TypeError, match=r"stands above @worker.action of the same worker"):
        worker.recurring("rate(1 day)")(act)  # type: ignore[type-var]
    other = Worker().action(act)
    with pytest.raises(TypeError, match="of the same worker"):
        worker.recurring("rate(1 day)")(other)
    mine = worker.action(act)
    worker.recurring("rate(1 day)")(mine)
    with pytest.raises(ValueError, match="a recurring task 'act' is declared twice"):
        worker.recurring("rate(2 days)")(mine)
