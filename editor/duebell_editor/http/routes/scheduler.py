"""The scheduler: status and problems, counts of tasks, previews of schedules, limits of actions."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from duebell_editor.http.access import VisitorsEditor
from duebell_editor.http.answers import CalendarsAnswer, Json, recurring_answer
from duebell_editor.http.description import answers
from duebell_editor.http.requests import (
    AuditQuery,
    LettersToDelete,
    NewCalendar,
    NewLimit,
    Proposal,
    RecurringTasks,
    SchedulePreview,
    StatusZone,
    StrictRoute,
    TimeSpan,
)
from duebell_editor.library.json_fields import preview_fields, status_fields
from duebell_shared.aws.sqs import DeadLetters
from duebell_shared.errors import InvalidQuery
from duebell_shared.schedules.calendars import Calendar
from duebell_shared.schedules.zones import TZDATA_VERSION, zone_names

router = APIRouter(route_class=StrictRoute, tags=["scheduler"])

_STATUS = answers("SchedulerStatus")

AskedSpan = Annotated[TimeSpan, Query()]


@router.get("/schedules", summary="List recurring tasks", responses=answers("RecurringPage"))
def list_schedules(which: Annotated[RecurringTasks, Query()], editor: VisitorsEditor) -> Json:
    """Answers with failing tasks first and paused ones last, each with its next times and last occurrences.

    The next times are five, and the occurrences are the last twenty.
    """
    return Json(recurring_answer(editor.schedules(**which.given())))


@router.get("/timeline", summary="Count what is to run", responses=answers("Timeline"))
def get_timeline(span: AskedSpan, editor: VisitorsEditor) -> Json:
    """Counts tasks, and each occurrence of recurring ones, by minute, hour or day.

    The counts of a long queue are estimates.
    """
    return Json({"buckets": editor.timeline(**span.given())})


@router.get("/history", summary="Count the tasks that ended", responses=answers("PastTimeline"))
def get_history(span: AskedSpan, editor: VisitorsEditor) -> Json:
    """Tasks that were done, failed or skipped, and how late they started."""
    return Json(editor.past_timeline(**span.given()))


@router.get("/status", summary="Read the scheduler's status", responses=_STATUS)
def get_status(zone: Annotated[StatusZone, Query()], editor: VisitorsEditor) -> Json:
    """The rule, the next due date, the failed, late and running tasks, those due tonight, and problems."""
    return Json(status_fields(editor.status(**zone.given())))


@router.get("/counts", summary="Count tasks by status", responses=answers("PastCounts"))
def get_counts(editor: VisitorsEditor) -> Json:
    """The paused, done, expired and cancelled tasks, each up to 1,000. The status counts the others."""
    return Json(editor.past_counts())


@router.get("/failures", summary="Group the failed tasks", responses=answers("Failures"))
def get_failures(editor: VisitorsEditor) -> Json:
    """Groups the latest failures by action and type of error. Failing recurring tasks are included.

    `is_all` is false when more tasks have failed than are read.
    """
    return Json(editor.failures())


@router.get("/worker", summary="Describe the worker", responses=answers("KnownWorker"))
def get_worker(editor: VisitorsEditor) -> Json:
    """Answers with its actions and the JSON Schemas of their payloads; null before its first start.

    If it could not start, the error says why.
    """
    return Json({"worker": editor.worker()})


@router.get("/doctor", summary="Check the scheduler thoroughly", responses=_STATUS)
def look_thoroughly(editor: VisitorsEditor) -> Json:
    """The status, with problems that take more reads: differing time zones, actions that the worker lacks."""
    return Json(status_fields(editor.doctor().status))


@router.post("/doctor", summary="Repair the rule", responses=_STATUS)
def mend_scheduler(editor: VisitorsEditor) -> Json:
    """Set the rule for the earliest task if it is not set, and read the status again."""
    return Json(status_fields(editor.ensure_armed()))


@router.post("/preview", summary="Preview a schedule", responses=answers("Preview"))
def preview_schedule(body: SchedulePreview, editor: VisitorsEditor) -> Json:
    """The schedule in words, its next times, and the times that fall on holidays. Nothing is stored."""
    return Json(preview_fields(*editor.preview(**body.given("count"), count=body.count)))


@router.get("/calendars", summary="List the calendars of holidays", responses=answers("CalendarsAnswer"))
def list_calendars(editor: VisitorsEditor) -> Json:
    """By name, with all their holidays."""
    return Json(CalendarsAnswer(calendars=editor.calendars()))


@router.put("/calendars/{name}", summary="Import a calendar", responses=answers("CalendarsAnswer"))
def put_calendar(
    name: Annotated[str, Path(description="The calendar's name", examples=["de-be"])],
    body: NewCalendar,
    editor: VisitorsEditor,
) -> Json:
    """Stores the calendar under this name, in place of an earlier one."""
    editor.import_calendar(name, Calendar(**body.given()))
    return list_calendars(editor)


@router.post("/simulate", summary="Simulate the queue", responses=answers("Simulation"))
def simulate_queue(body: Proposal, editor: VisitorsEditor) -> Json:
    """Forecast the queue until a time, as it is and with the changes. Nothing is changed."""
    given = body.given("add", "limits")
    if given.get("due") is None:
        raise InvalidQuery("until", "or `in` is missing: say how far to simulate")
    add = [one.given("if_exists", "max_wait") for one in body.add]
    limits = {name: one.given() for name, one in body.limits.items()}
    return Json(editor.simulate(given.pop("due"), add=add, limits=limits, **given))


@router.get("/timezones", summary="List the time zones of schedules", responses=answers("TimeZones"))
def list_time_zones() -> Json:
    """Lists them by name. Old names that are kept for backward compatibility are included."""
    return Json({"tzdata": TZDATA_VERSION, "names": sorted(zone_names())})


@router.get("/audit", summary="List changes", responses=answers("Changes"))
def list_audit(which: Annotated[AuditQuery, Query()], editor: VisitorsEditor) -> Json:
    """The changes by editors, the latest first. The table keeps them with DUEBELL_AUDIT=table."""
    return Json(editor.changes(**which.given()))


@router.get("/dead-letters", summary="List dead letters", responses=answers("DeadLetterList"))
def list_dead_letters(editor: VisitorsEditor) -> Json:
    """The messages of all dead-letter queues of the stack, 1,000 of each at most."""
    return Json({"letters": editor.dead_letters()})


@router.post("/dead-letters/{queue}/redrive", summary="Send back dead letters", responses=answers("Handled"))
def redrive_dead_letters(queue: DeadLetters, editor: VisitorsEditor) -> Json:
    """Sends messages of the intake again. For lost rings and failed runs, sets the rule and deletes them."""
    return Json({"count": editor.redrive(queue)})


@router.post("/dead-letters/{queue}/delete", summary="Delete dead letters", responses=answers("Handled"))
def delete_dead_letters(queue: DeadLetters, body: LettersToDelete, editor: VisitorsEditor) -> Json:
    """Deletes messages for good: those with these ids, or 1,000 of the queue at most."""
    return Json({"count": editor.delete_dead_letters(queue, body.ids)})


Action = Annotated[str, Path(description="The action's name, percent-encoded", examples=["put_on_sale"])]


@router.get("/limits", summary="List the limits of actions", responses=answers("Limits"))
def list_limits(editor: VisitorsEditor) -> Json:
    """The actions that have limits, declared by their code or set here."""
    return Json({"limits": editor.limits()})


@router.patch("/limits/{action:path}", summary="Limit or pause an action", responses=answers("ActionLimit"))
def limit_action(action: Action, body: NewLimit, editor: VisitorsEditor) -> Json:
    """Sets limits in place of those in the code. 0 pauses the action, null restores the limit in the code.

    Fields that are not given stay as they are. Runs in progress apply the limits within a minute.
    """
    return Json(editor.limit(action, **body.given()))
