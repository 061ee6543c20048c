"""Adding many tasks at once: checked together, written side by side, armed once, reported one by one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from duebell import AddReport, AwsUnavailable, Editor, InvalidTask, NewTask, NotArmed
from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.tasks.task import Task
from tests.support import NOON, REGION, Calls

DUE = datetime(2026, 12, 31, tzinfo=UTC)
GOOD: dict[str, Any] = {"action": "act", "due": DUE}


def test_many_are_stored_in_order_and_the_rule_is_set_once(
    editor: Editor, backend: Backend, calls: Calls
) -> None:
    # Given a generator of tasks, each due before the one before it
    given = (
        NewTask(action="act", due=DUE - timedelta(minutes=number), payload=number, id=f"task-{number}")
        for number in range(40)
    )
    # When they are added
    report = editor.add_many(given)
    # Then all are stored, and the one rule rings for the earliest
    assert report == AddReport(added=tuple(f"task-{number}" for number in range(40)))
    assert [task.payload for task in editor.list().tasks] == list(range(39, -1, -1))
    assert calls["PutRule"] == 1
    assert backend.rule.read().is_at(DUE - timedelta(minutes=39))


def test_large_payloads_go_in_smaller_batches(editor: Editor, calls: Calls) -> None:
    # Given tasks of which three make a megabyte
    large = [GOOD | {"id": f"task-{number}", "payload": "x" * 330_000} for number in range(9)]
    # When they are added
    report = editor.add_many(large)
    # Then no call carries more
    assert report.added == tuple(f"task-{number}" for number in range(9))
    assert calls["BatchExecuteStatement"] == 3


def test_nothing_to_add_is_no_error_and_no_call(editor: Editor, calls: Calls) -> None:
    assert editor.add_many([]) == AddReport(added=())
    assert not calls


# Tasks that cannot be right.


@pytest.mark.moto
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD | {"due": None}, "tasks[1].due: is missing: give a time or a length of time from now"),
        (
            GOOD | {"when": DUE},
            "tasks[1].when: is not a field of a task; the fields are action, payload, due, schedule, ",
        ),
        ({"due": DUE}, "tasks[1].action: is missing"),
        ("act", "tasks[1].task: must be a NewTask or a mapping, not str"),
        (GOOD | {"id": "first"}, "tasks[1].id: 'first' is the id of tasks[0] too"),
    ],
)
def test_all_are_checked_before_any_is_written(
    editor: Editor, session: boto3.Session, bad: Any, message: str
) -> None:
    # When one of many cannot be right, on a queue that was never used
    with pytest.raises(InvalidTask) as raised:
        editor.add_many([GOOD | {"id": "first"}, bad, GOOD])
    # Then it is named, and nothing is written, not even the arming record
    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith("; nothing was added")
    items = boto3.client("dynamodb", region_name=REGION).scan(TableName="duebell")["Items"]
    assert items == []


def test_the_first_of_several_bad_ones_is_named_and_the_others_are_counted(editor: Editor) -> None:
    with pytest.raises(InvalidTask, match=r"^tasks\[1\]\.due: .* \(and 2 more of these tasks cannot be"):
        editor.add_many([GOOD, GOOD | {"due": 1}, GOOD | {"due": 2}, GOOD, GOOD | {"action": ""}])


# Failures of writes.


@pytest.mark.parametrize(("if_exists", "action"), [("keep", "old"), ("replace", "act")])
def test_what_is_there_already_may_be_kept_or_replaced(editor: Editor, if_exists: Any, action: str) -> None:
    editor.add("old", due=DUE, id="two")
    report = editor.add_many((GOOD | {"id": id} for id in ("one", "two")), if_exists=if_exists)
    assert report == AddReport(added=("one", "two"), there_already=("two",))
    assert editor.get("two").action == action


def test_adding_again_what_is_there_is_some_calls_and_not_some_for_each(editor: Editor, calls: Calls) -> None:
    tasks = [GOOD | {"id": f"task-{n:02}"} for n in range(50)]
    editor.add_many(tasks)
    calls.clear()
    report = editor.add_many(tasks, if_exists="keep")
    assert report.there_already == report.added == tuple(task["id"] for task in tasks)
    assert calls["BatchGetItem"] <= 4
    assert calls["GetItem"] <= 2


def test_what_aws_did_not_take_is_reported_and_the_rest_is_armed(
    editor: Editor, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a table that does not answer for one of three
    insert = backend.store.insert

    def insert_but_one(tasks: Sequence[Task]) -> list[bool | DuebellError]:
        away = AwsUnavailable("no answer")
        return [away if task.id == "two" or not insert(task) else True for task in tasks]

    monkeypatch.setattr(backend.store, "insert_many", insert_but_one)
    # When they are added
    report = editor.add_many(
        GOOD | {"id": id, "due": due}
        for id, due in [("one", DUE), ("two", NOON), ("three", DUE - timedelta(days=1))]
    )
    # Then the others are stored, and rung for
    assert report.added == ("one", "three")
    assert [(failure.index, str(failure.error)) for failure in report.failures] == [(1, "no answer")]
    assert backend.rule.read().is_at(DUE - timedelta(days=1))


def test_not_armed_brings_the_report(
    editor: Editor, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task that is there, and a rule that is not
    editor.add("act", due=DUE, id="two")
    monkeypatch.setattr(backend.rule, "name", "other")
    # When many are added
    with pytest.raises(NotArmed, match=r"^2 tasks are stored, but .*no EventBridge rule 'other'") as raised:
        editor.add_many(GOOD | {"id": id, "due": NOON} for id in ("one", "two", "three"))
    # Then it says which are stored
    report = raised.value.report
    assert isinstance(report, AddReport)
    assert report.added == ("one", "three")
    assert [failure.id for failure in report.failures] == ["two"]
