"""Tasks whose schedules have a calendar: added, run, moved on, and planned anew after an import."""

from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell import InvalidInput, InvalidSchedule, Retry, Task, Worker
from duebell_infra.testing import Rehearsal
from duebell_shared.schedules.calendars import Calendar, Calendars
from tests.support import Clock
from tests.worker.log_lines import Log
from tests.worker.scene import HOUR, Scene

DAY = timedelta(days=1)

#: NOON is Saturday, 2026-11-21.
CALENDAR = Calendar(
    days={date(2026, 11, 24): "Tuesday off", date(2026, 11, 25): "More"}, ends=date(2028, 12, 31)
)


def at(day: int, hour: int = 9) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(clock)


def add_daily(scene: Scene) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    scene.editor.add("act", schedule="0 9 * * *", calendar="de-be", id="daily")


def run_until(scene: Scene, end: datetime) -> None:
    while (rings := scene.worker.run().rings_at) and rings <= end:
        scene.clock.now = rings


def test_a_task_skips_the_holidays_of_its_calendar(scene: Scene) -> None:
    add_daily(scene)
    run_until(scene, at(28))
    assert scene.starts == [at(day) for day in (22, 23, 26, 27, 28)]
    task = scene.editor.get("daily")
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


def test_without_a_calendar_none_is_read(scene: Scene) -> None:
    scene.editor.add("act", schedule="0 9 * * *", id="daily")
    run_until(scene, at(24))
    scene.editor.status()
    assert len(scene.starts) == 3
    assert not scene.store.calls["read Calendars", 0]


def test_a_run_reads_the_calendars_once_for_all_its_tasks(scene: Scene) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    scene.editor.add_many(
        {"action": "act", "schedule": "0 9 * * *", "calendar": "de-be", "id": f"daily-{n}"} for n in range(50)
    )
    scene.clock.now = at(22)
    scene.store.calls.clear()
    scene.worker.run()
    assert (len(scene.starts), scene.store.calls["read Calendars", 0]) == (50, 1)


def test_what_cannot_be_read_now_waits_for_some_seconds(scene: Scene) -> None:
    add_daily(scene)
    scene.clock.now = at(23)
    scene.store.refuse({0}, {"read Calendars"})
    report = scene.worker.run(time_left=timedelta(seconds=10))
    assert report.limited == 1
    assert scene.starts == []
    scene.store.refuse(())
    scene.clock.now += timedelta(minutes=1)
    scene.worker.run()
    assert len(scene.starts) == 1
    assert scene.editor.get("daily").due == at(26)


def test_a_calendar_that_is_gone_lets_tasks_run_on_all_days_and_the_log_says_so(
    scene: Scene, log: Log
) -> None:
    add_daily(scene)
    del scene.store.records[Calendars, ""]
    scene.clock.advance(timedelta(minutes=2))
    run_until(scene, at(26))
    assert scene.starts[-2:] == [at(25), at(26)]
    assert {line["id"] for line in log.lines("calendar_missing")} == {"daily"}


def test_an_update_plans_a_task_anew_after_an_import(scene: Scene) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    scene.editor.add("act", schedule="0 9 27 11 *", calendar="de-be", id="yearly")
    more = replace(CALENDAR, days={**CALENDAR.days, date(2026, 11, 27): "new"})
    scene.editor.import_calendar("de-be", more)
    assert scene.editor.get("yearly").due == at(27)
    assert scene.editor.update("yearly", calendar="de-be").due == datetime(2027, 11, 27, 9, tzinfo=UTC)


def test_an_update_plans_anew_what_comes_after_a_retry_or_a_moved_occurrence(scene: Scene) -> None:
    ran: list[tuple[str, int]] = []

    @scene.worker.action("report")
    def report(_: object, task: Task) -> None:
        ran.append((task.id, scene.clock.now.day))
        if task.id == "retried" and task.attempt == 1 and scene.clock.now.day == 22:
            raise Retry("not now", after=3 * HOUR)

    scene.editor.import_calendar("de-be", replace(CALENDAR, days={date(2026, 12, 25): "Christmas"}))
    for id in ("retried", "moved"):
        scene.editor.add("report", schedule="0 9 * * *", calendar="de-be", id=id)
    scene.editor.move("moved", due=at(22, 11))
    run_until(scene, at(22, 10))

    # When the next two days become holidays, then both leave them out
    scene.editor.import_calendar(
        "de-be", replace(CALENDAR, days={date(2026, 11, 23): "Off", **CALENDAR.days})
    )
    for id in ("retried", "moved"):
        scene.editor.update(id, calendar="de-be")
    run_until(scene, at(27))
    assert [day for id, day in ran if id == "retried"] == [22, 22, 26, 27]
    assert [day for id, day in ran if id == "moved"] == [22, 26, 27]


def test_a_change_can_give_and_take_a_calendar(scene: Scene) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    scene.editor.add("act", schedule="0 9 * * TUE", id="weekly")
    assert scene.editor.update("weekly", calendar="de-be", holidays="previous").due == at(23)
    assert scene.editor.update("weekly", holidays="skip").due == at(24) + 7 * DAY
    assert (task := scene.editor.update("weekly", calendar=None)).recurrence
    assert not task.recurrence.schedule.calendar


def test_an_unknown_calendar_is_refused(scene: Scene) -> None:
    with pytest.raises(
        InvalidSchedule, match="calendar: 'de-be' does not exist: make it with `duebell calendar import"
    ):
        scene.editor.add("act", schedule="0 9 * * *", calendar="de-be")
    scene.editor.import_calendar("de-be", CALENDAR)
    with pytest.raises(InvalidSchedule, match="did you mean de-be"):
        scene.editor.add("act", schedule="0 9 * * *", calendar="de-bb")


@pytest.mark.parametrize("days", [{date(2026, 11, 24): "\ud800"}, {"Tuesday": "off"}])
def test_a_calendar_that_could_not_be_read_again_is_refused_and_the_others_stay(
    scene: Scene, days: dict[date, str]
) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    with pytest.raises(InvalidInput, match="calendar: must have dates and their names"):
        scene.editor.import_calendar("other", Calendar(days=days, ends=date(2028, 12, 31)))
    assert scene.editor.calendars() == {"de-be": CALENDAR}


def test_the_status_warns_of_a_calendar_that_ends(scene: Scene) -> None:
    scene.editor.import_calendar("de-be", CALENDAR)
    assert scene.editor.status().calendars == {"de-be": date(2028, 12, 31)}
    assert not scene.editor.doctor().advice
    scene.clock.now = datetime(2028, 1, 10, tzinfo=UTC)
    assert [one.kind for one in scene.editor.doctor().advice] == ["calendar_ends"]
    assert scene.editor.status().healthy
    scene.clock.now = datetime(2029, 1, 1, tzinfo=UTC)
    [problem] = scene.editor.status().problems
    assert problem.what == "the calendar 'de-be' knows no holidays after 2028-12-31, so tasks run on them"
