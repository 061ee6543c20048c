"""A queue taken elsewhere: what comes out goes in again as it was, once; and more lanes for an empty one."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from duebell import ProblemKind, Status, Then
from duebell_shared.errors import AwsUnavailable, DuebellError
from duebell_shared.settings import Settings
from duebell_shared.tasks.task import Task
from tests.editor.memory import Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)

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
    owing = here.editor.add("act", schedule="rate(2 hours)", id="owing", then=Then("hear"))
    here.become(here.become(owing, Status.RUNNING), Status.DONE)
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
