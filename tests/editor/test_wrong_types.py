"""Whatever the editor's methods are given, they refuse it with an error of duebell's own."""

import inspect
import math
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from duebell import Calendar, DuebellError, Editor, InvalidInput, Missed, Status
from duebell_shared.quoting import MOST_QUOTED
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR = timedelta(hours=1)


class Silent:
    """A value that says nothing of itself."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def itself() -> list[Any]:
    """A list that holds itself."""
    inner: list[Any] = []
    inner.append(inner)
    return inner


#: Values of every kind, each of them right for few parameters or none.
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 3, 10**400, -(10**400), 10**5000, 0.5, math.nan, math.inf, 1e308, 1j,
    Decimal("NaN"), "", "x", "y" * 100_000, "\x00", "\ud800", "2026-12-31", "at(", "rate(5 minutes)", b"x",
    b"\xff", bytearray(b"x"), [], [1], ["x"], [[]], [None], itself(), (), ("a", "b"), {}, {"a": 1}, {1: 2},
    {"action": "act"}, set(), {"x"}, frozenset(), object(), Silent(), SimpleNamespace(), range(3), iter(()),
    len, int, Editor, ..., date(2026, 12, 31), datetime(2026, 12, 31),  # noqa: DTZ001
    datetime(2026, 12, 31, tzinfo=UTC), datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC),
    timedelta(0), timedelta(1), timedelta.min, timedelta.max, Missed.ALL, Status.DONE, ValueError("x"),
]  # fmt: skip

CALENDAR = Calendar(days={date(2026, 12, 25): "Christmas"}, ends=date(2028, 12, 31))

#: Each method with what it needs.
METHODS: dict[str, dict[str, Any]] = {
    "add": {"action": "act", "due": HOUR},
    "add_one": {"task": {"action": "act", "due": HOUR}},
    "add_many": {"tasks": [{"action": "act", "due": HOUR}]},
    "get": {"id": "one"},
    "find": {"prefix": "on"},
    "list": {},
    "move": {"id": "one", "due": HOUR},
    "update": {"id": "one", "payload": 1},
    "cancel": {"id": "one"},
    "reserve": {"action": "act", "due": HOUR},
    "cancel_item": {"id": "one"},
    "move_item": {"id": "one", "due": 2 * HOUR},
    "update_item": {"id": "one", "payload": 1},
    "transaction": {},
    "pause": {"id": "one"},
    "resume": {"id": "one"},
    "run_now": {"id": "one"},
    "retry": {"id": "one"},
    "failures": {},
    "past_counts": {},
    "status": {},
    "why": {"id": "one"},
    "changes": {},
    "batch": {"id": "batch", "tasks": [{"action": "act", "due": HOUR}], "wait_for": ["one"]},
    "close_batch": {"id": "one"},
    "backfill": {"id": "recurring", "start": NOON - HOUR, "end": NOON},
    "simulate": {"until": HOUR},
    "ensure_armed": {},
    "acting_as": {"changed_by": "anna"},
    "import_tasks": {"lines": []},
    "select": {"verb": "cancel"},
    "change_many": {"verb": "cancel", "ids": ["one"]},
    "doctor": {},
    "relane": {"lanes": 4},
    "timeline": {"start": NOON},
    "past_timeline": {"start": NOON},
    "schedules": {},
    "snapshot": {},
    "worker": {},
    "sync": {},
    "limit": {"action": "act", "per_second": 2},
    "limits": {},
    "preview": {"schedule": "rate(2 hours)"},
    "import_calendar": {"name": "de", "calendar": CALENDAR},
    "calendars": {},
}


def parameters(method: str) -> list[str]:
    function = getattr(Editor, method)
    given = inspect.signature(function).parameters.values()
    of_types = [get_args(one.annotation)[0].__annotations__ for one in given if one.kind is one.VAR_KEYWORD]
    names = [one.name for one in given if one.name != "self" and one.kind is not one.VAR_KEYWORD]
    return [*names, *(name for fields in of_types for name in fields)]


EVERY = [(method, name) for method in METHODS for name in parameters(method)]


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler with a task that runs once and one that recurs."""
    scheduler = Scheduler.start()
    scheduler.editor.add("act", due=HOUR, id="one")
    scheduler.editor.add("act", schedule="rate(2 hours)", id="recurring")
    return scheduler


def refusals(call: Callable[[], object]) -> Iterator[DuebellError]:
    """The error, if it is one of duebell's own; any other comes through."""
    try:
        call()
    except DuebellError as error:
        yield error


#: These call SQS, which is not here.
QUEUES = {"dead_letters", "redrive", "delete_dead_letters"}


def test_each_public_method_is_tried() -> None:
    public = {name for name, _ in inspect.getmembers(Editor, callable) if not name.startswith("_")}
    assert public == {*METHODS, "from_env", "export_tasks", *QUEUES}


@pytest.mark.parametrize(("method", "parameter"), EVERY, ids=[".".join(one) for one in EVERY])
def test_a_value_of_any_kind_is_taken_or_refused_by_name(
    scheduler: Scheduler, method: str, parameter: str
) -> None:

    for value in ODD:
        arguments = {**METHODS[method], parameter: value}
        before = scheduler.snapshot()
        for error in refusals(partial(getattr(scheduler.editor, method), **arguments)):
            if isinstance(error, InvalidInput):
                # Then nothing was written, and the message is short, whatever was given
                assert scheduler.snapshot() == before
                assert len(str(error)) < 600
                assert "y" * (MOST_QUOTED + 1) not in str(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda editor: editor.add_many([{"action": "act", "due": 1}, {"action": 1}]),
        lambda editor: editor.add("act", due=HOUR, id="one"),
        lambda editor: editor.get("none"),
        lambda editor: editor.cancel("one", rev=9),
    ],
)
def test_errors_survive_another_process(scheduler: Scheduler, call: Callable[[Editor], object]) -> None:
    [error] = refusals(partial(call, scheduler.editor))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), repr(vars(again))) == (type(error), str(error), repr(vars(error)))
