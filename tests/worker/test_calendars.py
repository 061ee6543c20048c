"""Tasks whose schedules have a calendar: added, run, moved on, and planned anew after an import."""

from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor, InvalidInput, InvalidSchedule, Retry, Task, Worker
from duebell_infra.testing import Rehearsal
from duebell_shared.backend import Backend
from duebell_shared.schedules.calendars import Calendar
from tests.support import Clock
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import memory_backend

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

#: NOON is Saturday, 2026-11-21.
CALENDAR = Calendar(
    days={date(2026, 11, 24): "Tuesday off", date(2026, 11, 25): "More"}, ends=date(2028, 12, 31)
)


def at(day: int, hour: int = 9) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def backend(clock: Clock, store: HookedStore) -> Backend:
    return memory_backend(clock, store)


@pytest.fixture
def ran(worker: Worker, clock: Clock) -> list[datetime]:
    ran: list[datetime] = []
    worker.action("report")(lambda: ran.append(clock.now))
    return ran


def add_daily(editor: Editor) -> None:
    editor.import_calendar("de-be", CALENDAR)
    editor.add("report", schedule="0 9 * * *", calendar="de-be", id="daily")


def run_until(worker: Worker, clock: Clock, end: datetime) -> None:
    while (rings := worker.run().rings_at) and rings <= end:
        clock.now = rings


def test_a_task_skips_the_holidays_of_its_calendar(
    editor: Editor, worker: Worker, clock: Clock, ran: list[datetime]
) -> None:
    add_daily(editor)
    run_until(worker, clock, at(28))
    assert ran == [at(day) for day in (22, 23, 26, 27, 28)]
    task = editor.get("daily")
    assert task.recurrence
    assert task.recurrence.schedule.on_holidays(at(20), at(28), 10)[0].holiday == "Tuesday off"


def test_a_rehearsal_moves_to_the_next_working_day() -> None:
    worker, ran = Worker(), list[datetime]()

    @worker.recurring("0 9 * * TUE", id="weekly", calendar="de-be", holidays="next")
    @worker.action("report")
    def report() -> None:
        ran.append(rehearsal.now)

    rehearsal = Rehearsal(worker, now=at(21))
    rehearsal.editor.import_calendar("de-be", CALENDAR)
    rehearsal.deploy()
    assert rehearsal.editor.sync(dry_run=True).unchanged == 1
    rehearsal.let_time_pass(14 * DAY)
    assert ran == [at(26), at(24) + 7 * DAY]


def test_without_a_calendar_none_is_read(
    editor: Editor, worker: Worker, clock: Clock, store: HookedStore, ran: list[datetime]
) -> None:
    editor.add("report", schedule="0 9 * * *", id="daily")
    run_until(worker, clock, at(24))
    editor.status()
    assert len(ran) == 3
    assert not store.calls["read Calendars", 0]


def test_a_run_reads_the_calendars_once_for_all_its_tasks(
    editor: Editor, worker: Worker, clock: Clock, store: HookedStore, ran: list[datetime]
) -> None:
    editor.import_calendar("de-be", CALENDAR)
    editor.add_many(
        {"action": "report", "schedule": "0 9 * * *", "calendar": "de-be", "id": f"daily-{n}"}
        for n in range(50)
    )
    clock.now = at(22)
    store.calls.clear()
    worker.run()
    assert (len(ran), store.calls["read Calendars", 0]) == (50, 1)


def test_what_cannot_be_read_now_waits_for_some_seconds(
    editor: Editor, worker: Worker, clock: Clock, store: HookedStore, ran: list[datetime]
) -> None:
    add_daily(editor)
    clock.now = at(23)
    store.refuse({0}, {"read Calendars"})
    report = worker.run(time_left=timedelta(seconds=10))
    assert report.limited == 1
    assert ran == []
    store.refuse(())
    clock.now += timedelta(minutes=1)
    worker.run()
    assert len(ran) == 1
    assert editor.get("daily").due == at(26)


def test_an_update_plans_a_task_anew_after_an_import(editor: Editor, ran: list[datetime]) -> None:
    editor.import_calendar("de-be", CALENDAR)
    editor.add("report", schedule="0 9 27 11 *", calendar="de-be", id="yearly")
    more = replace(CALENDAR, days={**CALENDAR.days, date(2026, 11, 27): "new"})
    editor.import_calendar("de-be", more)
    assert editor.get("yearly").due == at(27)
    assert editor.update("yearly", calendar="de-be").due == datetime(2027, 11, 27, 9, tzinfo=UTC)


def test_an_update_plans_anew_what_comes_after_a_retry_or_a_moved_occurrence(
    editor: Editor, worker: Worker, clock: Clock
) -> None:
    ran: list[tuple[str, int]] = []

    @worker.action("report")
    def report(_: object, task: Task) -> None:
        ran.append((task.id, clock.now.day))
        if task.id == "retried" and task.attempt == 1 and clock.now.day == 22:
            raise Retry("not now", after=3 * HOUR)

    editor.import_calendar("de-be", replace(CALENDAR, days={date(2026, 12, 25): "Christmas"}))
    for id in ("retried", "moved"):
        editor.add("report", schedule="0 9 * * *", calendar="de-be", id=id)
    editor.move("moved", due=at(22, 11))
    run_until(worker, clock, at(22, 10))

    # When the next two days become holidays, then both leave them out
    editor.import_calendar("de-be", replace(CALENDAR, days={date(2026, 11, 23): "Off", **CALENDAR.days}))
    for id in ("retried", "moved"):
        editor.update(id, calendar="de-be")
    run_until(worker, clock, at(27))
    assert [day for id, day in ran if id == "retried"] == [22, 22, 26, 27]
    assert [day for id, day in ran if id == "moved"] == [22, 26, 27]


def test_a_change_can_give_and_take_a_calendar(editor: Editor, ran: list[datetime]) -> None:
    editor.import_calendar("de-be", CALENDAR)
    editor.add("report", schedule="0 9 * * TUE", id="weekly")
    assert editor.update("weekly", calendar="de-be", holidays="previous").due == at(23)
    assert editor.update("weekly", holidays="skip").due == at(24) + 7 * DAY
    assert (task := editor.update("weekly", calendar=None)).recurrence
    assert not task.recurrence.schedule.calendar


def test_an_unknown_calendar_is_refused(editor: Editor, ran: list[datetime]) -> None:
    with pytest.raises(
        InvalidSchedule, match="calendar: 'de-be' does not exist: `duebell calendar import de-be`"
    ):
        editor.add("report", schedule="0 9 * * *", calendar="de-be")
    editor.import_calendar("de-be", CALENDAR)
    with pytest.raises(InvalidSchedule, match="did you mean de-be"):
        editor.add("report", schedule="0 9 * * *", calendar="de-bb")


@pytest.mark.parametrize("days", [{date(2026, 11, 24): "\ud800"}, {"Tuesday": "off"}])
def test_a_calendar_that_could_not_be_read_again_is_refused_and_the_others_stay(
    editor: Editor, days: dict[date, str]
) -> None:
    editor.import_calendar("de-be", CALENDAR)
    with pytest.raises(InvalidInput, match="calendar: must have dates and their names"):
        editor.import_calendar("other", Calendar(days=days, ends=date(2028, 12, 31)))
    assert editor.calendars() == {"de-be": CALENDAR}


def test_the_status_warns_of_a_calendar_that_ends(editor: Editor, clock: Clock, ran: list[datetime]) -> None:
    editor.import_calendar("de-be", CALENDAR)
    assert editor.status().calendars == {"de-be": date(2028, 12, 31)}
    assert not editor.doctor().advice
    clock.now = datetime(2028, 1, 10, tzinfo=UTC)
    assert [one.kind for one in editor.doctor().advice] == ["calendar_ends"]
    assert editor.status().healthy
    clock.now = datetime(2029, 1, 1, tzinfo=UTC)
    [problem] = editor.status().problems
    assert problem.what == "the calendar 'de-be' knows no holidays after 2028-12-31, so tasks run on them"
