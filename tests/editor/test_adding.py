"""Adding tasks, one or many at once: checked, stored as given, rung for; and what is there already."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal

import pytest

from duebell import (
    AddReport,
    AwsUnavailable,
    Editor,
    IfExists,
    InvalidTask,
    NewTask,
    NotArmed,
    Status,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE
from duebell_shared.errors import DuebellError
from duebell_shared.tasks.task import Task
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON, Calls, SetFor

HOUR = timedelta(hours=1)
DUE = datetime(2026, 12, 31, tzinfo=UTC)
NAIVE = datetime(2026, 12, 31)  # noqa: DTZ001 - that is what is wrong with it
GOOD: dict[str, Any] = {"action": "act", "due": DUE}
HOURLY = {"due": None, "schedule": "rate(1 hour)"}

#: Without that of tasks that may never be added, see test_reserving.py, and of batches.
CERTAIN = [status for status in Status if status not in {Status.RESERVED, Status.BLOCKED}]
EVERY_POLICY: list[Literal["fail", "keep", "replace"]] = ["fail", "keep", "replace"]


def test_a_task_is_returned_as_it_is_stored(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("remind", due=NOON + HOUR, payload={"user": 7}, id="trial-expiry:XYZ123")
    assert task == scheduler.editor.get("trial-expiry:XYZ123")
    assert (task.action, task.due, task.payload) == ("remind", NOON + HOUR, {"user": 7})
    assert (task.status, task.attempt, task.created_at) == (Status.SCHEDULED, 0, NOON)


@pytest.mark.parametrize("payload", [0, "", [], False, {}])
def test_an_empty_payload_is_one(scheduler: Scheduler, payload: object) -> None:
    assert scheduler.editor.add("remind", due=HOUR, payload=payload).payload == payload


def test_a_task_that_was_never_added_is_not_found(scheduler: Scheduler) -> None:
    with pytest.raises(TaskNotFound) as raised:
        scheduler.editor.get("x")
    assert str(raised.value) == (
        "there is no task 'x': none was added by this id, or it has ended and its retention time is over"
    )
    assert raised.value.id == "x"


# When there is one already.


@pytest.mark.parametrize("status", CERTAIN)
def test_an_id_that_is_taken_is_refused_or_kept(scheduler: Scheduler, status: Status) -> None:
    # Given a task of that id, waiting or as history
    there = scheduler.become(scheduler.editor.add("old", due=HOUR, id="one"), status)
    before = scheduler.snapshot()
    # When another is added
    with pytest.raises(TaskExists) as raised:
        scheduler.editor.add("new", due=HOUR, id="one")
    # Then it says what to do, and nothing has changed
    assert str(raised.value) == (
        "a task 'one' exists already: choose another id, or add with if_exists='keep' "
        "(leave it as it is) or if_exists='replace'"
    )
    assert raised.value.id == "one"
    assert scheduler.editor.add("new", due=HOUR / 2, id="one", if_exists=IfExists.KEEP) == there
    assert scheduler.snapshot() == before


@pytest.mark.parametrize("status", [one for one in Status if one is not Status.BLOCKED])
def test_replacing_makes_it_the_new_one_with_nothing_of_the_old(scheduler: Scheduler, status: Status) -> None:
    # Given a task of any status
    there = scheduler.become(scheduler.editor.add("old", due=2 * HOUR, id="one", payload=1), status)
    scheduler.clock.advance(timedelta(minutes=1))
    # When it is replaced by one that is due earlier
    task = scheduler.editor.add("new", due=NOON + HOUR, id="one", if_exists="replace")
    # Then that one is there, as if it were new, and the rule is armed for it
    assert scheduler.editor.get("one") == task
    assert task == Task(
        id="one",
        lane=there.lane,
        action="new",
        due=NOON + HOUR,
        queued=NOON + HOUR,
        rev=there.rev + 1,
        created_at=NOON + timedelta(minutes=1),
    )
    assert scheduler.events.expression == SetFor(NOON + HOUR)


@pytest.mark.parametrize("if_exists", EVERY_POLICY)
def test_history_that_has_expired_counts_as_deleted_whether_it_is_or_not(
    scheduler: Scheduler, if_exists: Literal["fail", "keep", "replace"]
) -> None:
    # Given history that DynamoDB has not yet come to delete
    scheduler.become(scheduler.editor.add("old", due=HOUR, id="one"), Status.DONE)
    scheduler.clock.advance(KEEP)
    with pytest.raises(TaskNotFound):
        scheduler.editor.get("one")
    # Then its id is free
    task = scheduler.editor.add("new", due=HOUR, id="one", if_exists=if_exists)
    assert (task.action, task.rev) == ("new", 1)
    assert scheduler.editor.get("one") == task


def test_adding_again_what_is_overdue_sets_a_rule_that_missed_its_minute(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="one")
    scheduler.clock.now = NOON + HOUR + GRACE + timedelta(seconds=1)
    scheduler.editor.add("act", due=HOUR, id="one", if_exists="keep")
    safe = NOON + HOUR + GRACE + timedelta(minutes=2)
    assert scheduler.events.expression == SetFor(safe)


def test_many_are_stored_in_order_and_arm_once(editor: Editor, backend: Backend, calls: Calls) -> None:
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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD | {"due": None}, "tasks[1].due: is missing: give a time or a length of time from now"),
        (GOOD | {"when": DUE}, "tasks[1].when: is not a field of a task; the fields are action, payload, "),
        ({"due": DUE}, "tasks[1].action: is missing"),
        ("act", "tasks[1].task: must be a NewTask or a mapping, not str"),
        (GOOD | {"id": "first"}, "tasks[1].id: 'first' is the id of tasks[0] too"),
    ],
)
def test_all_are_checked_before_any_is_written(scheduler: Scheduler, bad: Any, message: str) -> None:
    # When one of many cannot be right, on a queue that was never used
    with pytest.raises(InvalidTask) as raised:
        scheduler.editor.add_many([GOOD | {"id": "first"}, bad, GOOD])
    # Then it is named, and nothing is written, not even the arming record
    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith("; nothing was added")
    assert scheduler.is_untouched()


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


def test_not_armed_has_the_report(editor: Editor, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
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


#: Arguments of `add`, the field that is wrong in them, and what is said of it.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"due": NAIVE}, "due", "must be a timedelta, or a datetime with a time zone, such as tzinfo=UTC"),
    ({"due": None}, "due", "is missing: give a time or a length of time from now"),
    ({"due": "2026-12-31"}, "due", "must be a timedelta, or a datetime with a time zone, such as "),
    ({"due": datetime(2199, 12, 31, 23, 59, 0, 1, tzinfo=UTC)}, "due", "is after 2199, the last year a rule"),
    ({"due": datetime.max.replace(tzinfo=timezone(-HOUR))}, "due", "is beyond the ends of the calendar"),
    ({"due": datetime.min.replace(tzinfo=timezone(HOUR))}, "due", "is beyond the ends of the calendar"),
    ({"due": timedelta.max}, "due", "is beyond the ends of the calendar"),
    ({"payload": math.nan}, "payload", "payload is nan, which JSON cannot hold: leave it out or use None"),
    ({"payload": {"a": [{"b": math.nan}]}}, "payload", "payload['a'][0]['b'] is nan, which JSON cannot hold"),
    ({"payload": {1: "a"}}, "payload", "payload has the key 1, and JSON has text keys only: use '1'"),
    ({"payload": "x" * 358_399}, "payload", "is 358,401 bytes as JSON, at most 358,400 are allowed"),
    ({"id": "a\nb"}, "id", "'a\\nb' has '\\n' in it: only printable characters are allowed"),
    ({**HOURLY, "schedule": "soon"}, "schedule", "'soon' is no schedule"),
    ({**HOURLY, "due": NOON}, "due", "cannot be combined with a schedule"),
    ({**HOURLY, "timezone": "Mars"}, "timezone", "'Mars' is no IANA"),
    ({**HOURLY, "expires_after": HOUR}, "expires_after", "cannot be combined with a schedule"),
    ({"timezone": "UTC"}, "timezone", "needs a schedule, and none is given"),
    ({"max_runs": 1}, "max_runs", "needs a schedule"),
    ({"due": -2 * HOUR, "expires_after": HOUR}, "expires_after", "has passed already: the task was due at"),
    ({"id": "a", "unique": True}, "id", "cannot be combined with `unique`, which makes the id"),
    ({"id": "x" * 225, "on_failed": "b"}, "id", "must be at most 224 characters, not 225: its follow-ups"),
]


@pytest.mark.parametrize(("wrong", "field", "reason"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_a_task_is_refused_and_nothing_is_written(
    scheduler: Scheduler, wrong: dict[str, Any], field: str, reason: str
) -> None:
    # When the first call that a queue ever sees is wrong
    arguments = {"action": "act", "due": HOUR, **wrong}
    with pytest.raises(InvalidTask) as raised:
        scheduler.editor.add(**arguments)
    # Then it says what is
    assert raised.value.field == field
    assert reason in raised.value.reason
    assert str(raised.value) == f"{field}: {raised.value.reason}"
    # And there is nothing, not even an arming record
    assert scheduler.is_untouched()


def test_the_longest_names_and_the_last_and_first_moments_are_right(scheduler: Scheduler) -> None:
    add = scheduler.editor.add
    assert add("𝄞" * 256, due=datetime(2199, 12, 31, 23, 59, tzinfo=UTC), id="ü" * 256).due.year == 2199
    # In 2200 by its own clock, and yet in 2199 by the rule's
    assert add("act", due=datetime(2200, 1, 1, 1, tzinfo=timezone(2 * HOUR))).due.year == 2199
    assert add(" ", due=datetime(1, 1, 1, tzinfo=UTC), id="trial-expiry:XYZ 123/ä").queued is not None
    late = add("act", due=-HOUR, expires_after=HOUR, id="x" * 224, on_failed="b")
    assert (late.due, late.queued) == (NOON - HOUR, NOON)
