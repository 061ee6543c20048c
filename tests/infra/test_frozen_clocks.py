"""A rehearsal while the wall clock is frozen, by freezegun and by time-machine."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine
from freezegun import freeze_time

from duebell import Status, Task, Worker
from duebell.testing import FrozenClock, Rehearsal

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MORNING = datetime(2026, 3, 28, 10, tzinfo=UTC)


@pytest.fixture(params=["freezegun", "time-machine"])
def frozen(request: pytest.FixtureRequest) -> Iterator[FrozenClock]:
    """A wall clock that stands at ten in the morning, until it is moved."""
    clock = freeze_time(MORNING) if request.param == "freezegun" else time_machine.travel(MORNING, tick=False)
    with clock as frozen:
        yield frozen


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_actions_and_the_test_see_the_time_of_the_rehearsal(worker: Worker, frozen: FrozenClock) -> None:
    seen = []

    @worker.action("act")
    def act(task: Task) -> None:
        seen.append(datetime.now(UTC))

    rehearsal = Rehearsal(worker)
    assert datetime.now(UTC) == MORNING
    rehearsal.also_move(frozen)
    assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 1, tzinfo=UTC)
    act.using(due=datetime.now(UTC) + DAY).add()
    rehearsal.let_time_pass(3 * DAY)
    assert seen == [datetime(2026, 1, 2, tzinfo=UTC)]
    assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 4, tzinfo=UTC)


def test_times_in_payloads_and_schedules_are_as_ever(worker: Worker, frozen: FrozenClock) -> None:
    seen = []

    @worker.action("act")
    def act(*, at: datetime, on: date) -> None:
        seen.append((at, on))
        if len(seen) < 3:
            raise ValueError(at)

    rehearsal = Rehearsal(worker, now=datetime.now(UTC))
    rehearsal.also_move(frozen)
    editor = rehearsal.editor
    payload = {"at": datetime.now(UTC), "on": date(2026, 3, 28)}
    editor.add(
        "act",
        schedule="30 2 * * *",
        timezone="Europe/Berlin",
        start=datetime.now(UTC),
        end=datetime.now(UTC) + 2 * DAY,
        payload=payload,
        id="nightly",
    )
    assert editor.get("nightly").payload == {"at": "2026-03-28T10:00:00Z", "on": "2026-03-28"}
    reports = rehearsal.let_time_pass(7 * DAY)

    assert seen == [(MORNING, date(2026, 3, 28))] * 4
    assert sum(report.done for report in reports) == 2
    task = editor.get("nightly")
    assert (task.status, task.failures) == (Status.DONE, ())
    # The first at the end of the hour that Berlin skipped, with two retries; the second at half past two
    assert [once.due for once in task.occurrences] == [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    ]
    assert [one.id for one in editor.list(status="done", after=MORNING, before=datetime.now(UTC)).tasks] == [
        "nightly"
    ]
    assert len(list(editor.export_tasks())) == 1
