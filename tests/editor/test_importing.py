"""A queue taken elsewhere: what comes out goes in again; a line that could not have been added is refused."""

import contextlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell import InvalidTask, ProblemKind, Status, Then
from duebell_shared.errors import AwsUnavailable, DuebellError
from duebell_shared.queue.items import MAX_ITEM, item_of, size_of
from duebell_shared.settings import Settings
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import Task
from tests.editor.memory import Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)

#: A task as it is exported, and one that recurs.
LINE: dict[str, Any] = {
    "id": "one", "lane": 0, "action": "act", "due": "2026-11-21T13:00:00Z", "payload_json": "{}",
    "status": "scheduled", "queued": "2026-11-21T13:00:00Z", "created_at": "2026-11-21T12:00:00Z",
}  # fmt: skip
RECURRING = {**LINE, "recurrence": {"schedule": {"expression": "rate(2 hours)"}}}
ENDED = {
    **LINE, "status": "done", "queued": None, "attempt": 1, "finished_at": "2026-11-21T13:00:01Z",
    "expires_at": "2026-12-21T13:00:01Z",
}  # fmt: skip
OCCURRENCE = {
    "due": "2026-11-21T11:00:00Z", "started_at": None, "finished_at": "2026-11-21T11:00:01Z",
    "lateness_ms": 1, "attempts": 1, "result": "done",
}  # fmt: skip
OWES = {
    **ENDED, "queued": LINE["queued"], "expires_at": None, "then": {"action": "hear"},
    "owes": {
        "cause": "then", "action": "hear", "at": "2026-11-21T12:00:00Z", "due": LINE["due"], "attempts": 1,
        "queued": None, "expires_at": ENDED["expires_at"],
    },
}  # fmt: skip
PENDING = {"due": "2026-11-21T11:00:00Z", "queued": "2026-11-21T11:00:00Z", "origin": "rescheduled"}

FAR = "0001-01-01T00:00:00+14:00"


def recurring(**changed: Any) -> dict[str, Any]:
    return {**RECURRING, "recurrence": {**RECURRING["recurrence"], **changed}}


def owes(**changed: Any) -> dict[str, Any]:
    return {**OWES, "owes": {**OWES["owes"], **changed}}


def scheduled(**changed: Any) -> dict[str, Any]:
    return recurring(schedule={"expression": "rate(2 hours)", **changed})


#: Wrong lines, each with its error after the number of the line.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({**LINE, "id": "a\nb"}, "id: 'a\\nb' has '\\n' in it"),
    ({**LINE, "colour": "red"}, "colour: is not a field of a task"),
    ({**LINE, "due": "2026-11-21T13:00:00"}, "with a timezone component - at `$.due`"),
    ({**LINE, "due": FAR}, "has a time beyond the ends of the calendar"),
    ({**LINE, "due": "2200-01-01T00:00:00Z"}, "due: 2200-01-01 00:00:00+00:00 is after 2199"),
    ({**LINE, "queued": None}, "queued: must be given: the task is scheduled"),
    ({**LINE, "status": "paused"}, "queued: must not be given: the task is paused"),
    ({**LINE, "expires_at": "2026-12-21T13:00:01Z"}, "expires_at: must not be given: the task is scheduled"),
    ({**ENDED, "expires_at": None}, "expires_at: must be given: the task is done"),
    ({**LINE, "payload_json": "{oops"}, "payload_json: is not JSON: "),
    ({**LINE, "payload_json": '[{"a": 1, "a": 2}]'}, "payload_json: is not JSON: the name 'a' is twice"),
    ({**LINE, "payload_json": f'"{"x" * 358_399}"'}, "payload_json: is 358,401 bytes as JSON"),
    ({**RECURRING, "expires_after": "PT1H"}, "expires_after: cannot be combined with a schedule"),
    (scheduled(expression="every blue moon"), "schedule: 'every blue moon' is no schedule"),
    (scheduled(expression="0," * 600 + "0 9 * * *"), "schedule: must be at most 1,024 characters"),
    (scheduled(timezone="Mars"), "timezone: 'Mars' is no IANA time zone"),
    (scheduled(end=FAR), "has a time beyond the ends of the calendar"),
    (recurring(max_runs=0), "max_runs: must be a whole number, 1 to 1,000,000,000, not 0"),
    (recurring(next_due="2200-01-01T00:00:00Z"), "recurrence.next_due: 2200-01-01 00:00:00+00:00 is after"),
    (
        recurring(pending=[{**PENDING, "queued": "2200-01-01T00:00:00Z"}]),
        "recurrence.pending[0].queued: 2200-01-01",
    ),
    (owes(at="9999-12-31T00:00:00Z"), "owes.at: 9999-12-31 00:00:00+00:00 is after 2199"),
    ({**LINE, "then": {"action": "hear", "payload_json": f'"{"x" * 32_768}"'}}, "then.payload: is 32,770 "),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=range(len(WRONG)))
def test_a_line_that_could_not_have_been_added_is_refused_by_line_and_field(
    scheduler: Scheduler, wrong: dict[str, Any], said: str
) -> None:
    # Given a line that is right, and then one that is not
    lines = [json.dumps({**LINE, "id": "before"}), json.dumps(wrong), json.dumps({**LINE, "id": "after"})]
    # When they are imported
    with pytest.raises(InvalidTask) as refused:
        scheduler.editor.import_tasks(lines)
    # Then it says where and why, shortly
    assert refused.value.field == "line 2"
    assert refused.value.reason.startswith("is no task that was exported: ")
    assert said in refused.value.reason
    assert len(str(refused.value)) < 400
    # And those before it are stored and rung for
    assert [task.id for task in scheduler.store.tasks.values()] == ["before"]
    assert scheduler.events.expression == SetFor(NOON + HOUR)


def test_a_line_that_has_a_field_twice_is_refused(scheduler: Scheduler) -> None:
    line = json.dumps(LINE)
    for text in (line[:-1] + ', "id": "two"}', line.replace('"{}"', '"{}", "due": "2026-11-21T14:00:00Z"')):
        for one in (text, text.encode()):
            with pytest.raises(InvalidTask, match=r"line 1: .* the name '(id|due)' is twice in one object"):
                scheduler.editor.import_tasks([one])
    assert not scheduler.store.tasks


@pytest.mark.parametrize("status", ["scheduled", "running"])
def test_a_task_that_waited_for_a_limit_is_due_as_before(scheduler: Scheduler, status: str) -> None:
    # Given a task that another queue has parked for a day, as its action is paused there
    since = "2026-11-21T12:30:00Z"
    line = {**LINE, "status": status, "queued": "2026-11-22T09:15:46.291Z", "limited_since": since}
    # When it is imported into this one
    scheduler.editor.import_tasks([json.dumps(line)])
    # Then it does not wait for that
    task = scheduler.editor.get("one")
    assert (task.queued, task.limited_since) == (NOON + HOUR / 2, None)


@pytest.mark.parametrize(("started", "left"), [(0, 0), (1, 0), (3, 2)])
def test_the_attempt_that_was_running_is_given_back(scheduler: Scheduler, started: int, left: int) -> None:
    scheduler.editor.import_tasks([json.dumps({**LINE, "status": "running", "attempt": started})])
    task = scheduler.editor.get("one")
    assert (task.status, task.attempt, task.queued) == (Status.SCHEDULED, left, NOON + HOUR)


# Whatever the line.

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, 10**400, -(10**400), 1e308])
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.datetimes().map(lambda at: at.isoformat())
    | st.datetimes().map(lambda at: f"{at.isoformat()}+14:00")
    | st.sampled_from(
        [
            "running",
            "paused",
            "done",
            "failed",
            "P1D",
            "-P999999999D",
            "9999-12-31T23:59:59.9999Z",
            FAR,
            "rate(1 day)",
            "[]",
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FAILURE = {"type": "E", "message": "m"}
WHOLE = {
    **ENDED, "status": "scheduled", "queued": LINE["queued"], "finished_at": None, "expires_at": None,
    "started_at": LINE["due"], "run": "r", "lateness_ms": 1, "spread": "PT1H", "rev": 2,
    "expires_after": None, "limited_since": LINE["due"],
    "on_failed": "hear",
    "then": {"action": "hear", "payload_json": "{}", "after": "PT1H", "result_as": "r"},
    "follow_up_error": "no room", "result_json": "[1]", "result_error": "no room",
    "failure": FAILURE, "failures": [{**FAILURE, "due": LINE["due"], "attempt": 1}],
    "occurrences": [OCCURRENCE],
    "recurrence": {
        "schedule": {"expression": "rate(2 hours)", "timezone": "UTC", "start": LINE["due"], "end": None},
        "missed": "once", "max_runs": 5, "runs": 1, "consecutive_failures": 0, "next_due": LINE["due"],
        "origin": "rescheduled", "missed_runs": 0, "pending": [PENDING],
    },
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Each place in the document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in inner for place in [(*path, key), *places(one, (*path, key))]]


def altered(whole: Any, place: tuple[Any, ...], value: Any) -> Any:
    document = json.loads(json.dumps(whole))
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return document


def test_a_task_whose_outcomes_would_not_fit_into_its_item_is_refused(scheduler: Scheduler) -> None:
    # Given the largest payload, and a failure of a version that keeps more of its words
    failure = {"type": "E", "message": "\x00" * 10_000}
    line = {**LINE, "payload_json": json.dumps("x" * 358_398), "failure": failure}
    with pytest.raises(InvalidTask, match="line 1: is no task that was exported: payload: makes the task"):
        scheduler.editor.import_tasks([json.dumps(line)])
    assert scheduler.store.tasks == {}


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(places(WHOLE)), ANY)
def test_whatever_stands_in_a_line_it_is_refused_or_can_be_run(place: tuple[Any, ...], value: Any) -> None:
    scheduler = Scheduler.start()
    with contextlib.suppress(InvalidTask):
        scheduler.editor.import_tasks([json.dumps(altered(WHOLE, place, value))])
    for task in scheduler.store.tasks.values():
        can_be_lived_with(scheduler, task)


def can_be_lived_with(scheduler: Scheduler, task: Task) -> None:
    """It is rung for, listed and exported, and every outcome of it can be written."""
    editor, now = scheduler.editor, scheduler.clock()
    waits = task.status is Status.SCHEDULED
    assert waits == (task.queued is not None)
    assert (editor.status().rings_at is not None) == waits
    assert editor.list(status=list(Status)).tasks == (task,)
    assert Scheduler.start().editor.import_tasks(editor.export_tasks()).written == 1
    if waits:
        running = scheduler.become(task, Status.RUNNING).caught_up().left_running()
        failure = Failure(type="E", message="\x00" * 9_999, traceback="\x00" * 9_999)
        for ended in (
            running.done(now=now, keep=RetentionPolicy(retention=HOUR)),
            running.failed(failure, now=now, keep=RetentionPolicy(retention=HOUR)),
            running.to_retry(now, failure, now=now),
        ):
            assert size_of(item_of(ended)) < MAX_ITEM


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(ANY | st.binary(max_size=60) | st.text('\ud800\x00{}[]":A', max_size=20))
def test_whatever_a_line_is_it_is_refused(value: Any) -> None:
    scheduler = Scheduler.start()
    line = value if isinstance(value, str | bytes) else json.dumps(value)
    with contextlib.suppress(InvalidTask):
        assert scheduler.editor.import_tasks([line]).written == 0
    assert scheduler.store.tasks == {}


#: A reserved task is not: see test_reserving.py.
EXPORTED = [status for status in Status if status is not Status.RESERVED]


@pytest.fixture
def here() -> Scheduler:
    """A queue with a task of each status that is exported, one that recurs, and odd payloads."""
    here = Scheduler.start(Settings(lanes=2))
    for number, status in enumerate(EXPORTED):
        task = here.editor.add(
            "act", due=HOUR * (number + 1), id=f"{status}/ü", payload={"n": 2**70, "f": 1e22}, priority=number
        )
        here.become(task, status)
    here.editor.add("act", schedule="rate(2 hours)", id="recurring", spread=HOUR, missed="all")
    # And one that owes a follow-up
    owes = here.editor.add("act", schedule="rate(2 hours)", id="owes", then=Then("hear"))
    here.become(here.become(owes, Status.RUNNING), Status.DONE)
    return here


@pytest.fixture
def there() -> Scheduler:
    return Scheduler.start(Settings(lanes=5))


def test_everything_is_there_as_it_was(here: Scheduler, there: Scheduler) -> None:
    lines = list(here.editor.export_tasks())
    report = there.editor.import_tasks(lines)
    assert (report.written, report.there, report.failures) == (len(EXPORTED) + 2, 0, ())
    for task in here.store.tasks.values():
        moved = there.editor.get(task.id)
        # The running task is to be run: nobody here knows the result of its attempt, which does not count
        is_running = task.status is Status.RUNNING
        status, attempt = (Status.SCHEDULED, task.attempt - 1) if is_running else (task.status, task.attempt)
        assert moved == msgspec.structs.replace(task, lane=moved.lane, rev=1, status=status, attempt=attempt)
        assert moved.payload_json == task.payload_json
    # And the rule rings for the first of them, the follow-up that is owed
    assert there.events.expression == SetFor(NOON + HOUR / 60)
    assert [one.kind for one in there.editor.status().problems] == [ProblemKind.FAILED_TASKS]


def test_an_import_can_be_repeated(here: Scheduler, there: Scheduler) -> None:
    lines = [line.decode() for line in here.editor.export_tasks()]
    there.editor.import_tasks(lines[:3])
    before = dict(there.store.tasks)
    report = there.editor.import_tasks([*lines, "", "\n"])
    assert (report.written, report.there) == (len(lines) - 3, 3)
    assert before.items() <= there.store.tasks.items()


def test_failures_are_reported(here: Scheduler, there: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = there.store.insert

    def sometimes(tasks: Sequence[Task]) -> list[bool | DuebellError]:
        away = AwsUnavailable("throttled")
        return [away if task.id == "recurring" or not insert(task) else True for task in tasks]

    monkeypatch.setattr(there.store, "insert_many", sometimes)
    report = there.editor.import_tasks(here.editor.export_tasks())
    assert [failure.id for failure in report.failures] == ["recurring"]
