"""Adding with `unique`: the id is made of the action and the payload."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from duebell import IfExists, InvalidTask, Status, Task, TaskExists, Worker
from duebell.testing import Rehearsal
from duebell_editor.intake.messages import Change, Message, entries_of
from duebell_shared.tasks.fields import NewTask
from tests.editor.memory import Scheduler
from tests.intake.conftest import record
from tests.support import NOON

HOUR = timedelta(hours=1)


@dataclass
class Order:
    item: int
    note: str = ""


def add(scheduler: Scheduler, payload: object, action: str = "ship", **options: Any) -> Task:
    return scheduler.editor.add(action, due=HOUR, payload=payload, **{"unique": True, **options})


@pytest.mark.parametrize(
    ("one", "other", "unique", "is_same"),
    [
        ({"a": 1, "b": [2, None]}, {"b": [2, None], "a": 1}, True, True),
        ({"a": 1}, {"a": 1.0}, True, True),
        ({"a": 1e20}, {"a": 10**20}, True, True),
        ({"a": 2**60}, {"a": 2**60 + 1}, True, False),
        ({"a": 10**30}, {"a": 10**30 + 1}, True, False),
        ({"a": 1}, {"a": True}, True, False),
        ({"a": 1}, {"a": "1"}, True, False),
        ([1, 2], [2, 1], True, False),
        (None, {}, True, True),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ["a"], True),
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, ["a"], False),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ["*"], False),
        (Order(1), {"note": "", "item": 1}, True, True),
    ],
)
def test_the_same_action_and_arguments_are_one_task(
    scheduler: Scheduler, one: object, other: object, unique: Any, *, is_same: bool
) -> None:
    first = add(scheduler, one, unique=unique)
    again = add(scheduler, other, unique=unique, if_exists="keep")
    assert (first.id == again.id) is is_same
    assert first.id.startswith("ship:")
    assert add(scheduler, one, "pack", unique=unique).id != first.id


def test_what_happens_to_the_second_is_as_if_its_id_were_given(scheduler: Scheduler) -> None:
    first = add(scheduler, {"order": 42, "n": 1}, unique=["order"])
    with pytest.raises(TaskExists, match=first.id):
        add(scheduler, {"order": 42}, unique=["order"])
    for policy, n in ((IfExists.KEEP, 1), (IfExists.REPLACE, 3), (IfExists.PUSH, 4)):
        there = add(scheduler, {"order": 42, "n": n if n > 1 else 2}, unique=["order"], if_exists=policy)
        assert (there.id, there.payload) == (first.id, {"order": 42, "n": n})
    report = scheduler.editor.add_many(
        [NewTask(action="ship", due=HOUR, payload={"order": order}, unique=True) for order in (1, 2)]
    )
    assert (
        scheduler.editor.add_one(
            {"action": "ship", "due": HOUR, "payload": {"order": 1}, "unique": True}, if_exists="keep"
        ).task.id
        == report.added[0]
    )
    # And a long name leaves room for the ids of follow-ups
    assert add(scheduler, None, "x" * 256, on_failed="tell").status is Status.SCHEDULED


@pytest.mark.parametrize(
    ("payload", "options", "reason"),
    [
        ({"item": 1}, {"unique": ["item", "order"]}, "unique: names 'order', which the payload lacks"),
        ([1], {"unique": ["item"]}, "unique: names fields, and the payload is no object"),
        ({}, {"unique": True, "id": "a"}, "id: cannot be combined with `unique`"),
    ],
)  # fmt: skip
def test_what_cannot_be_unique_is_refused_with_the_reason(
    scheduler: Scheduler, payload: object, options: Any, reason: str
) -> None:
    with pytest.raises(InvalidTask, match=reason):
        add(scheduler, payload, **options)
    assert scheduler.editor.list().tasks == ()


def test_a_handle_and_a_message_make_the_same_id() -> None:
    worker = Worker()

    @worker.action("ship")
    def ship(*, item: int) -> None: ...

    rehearsal = Rehearsal(worker)
    first = rehearsal.editor.add("ship", due=HOUR, payload={"item": 1}, unique=True)
    assert ship.using(due=HOUR, unique=True, if_exists="keep").add(item=1) == first
    body = {"action": "ship", "in": 60, "payload": {"item": 1.0}, "unique": True}
    for more in ({}, {"if_exists": "push"}):
        [entry] = entries_of(Message.of(record({**body, **more}), NOON))
        task = entry.wanted.fields if isinstance(entry.wanted, Change) else entry.wanted
        assert isinstance(task, dict)
        assert task.get("id") == first.id
