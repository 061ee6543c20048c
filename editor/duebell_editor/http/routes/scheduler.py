"""The scheduler: how it stands, what is wrong, what is to come and has been, what a schedule means."""

from typing import Annotated

from fastapi import APIRouter, Query

from duebell_editor import make_schedule
from duebell_shared.instants import utc_now
from duebell_shared.zones import TZDATA_VERSION, zone_names

from ..access import VisitorsEditor
from ..answers import Json, Preview, Timeline, TimeZones, status_answer
from ..description import AWS, answers
from ..requests import SchedulePreview, StrictRoute, TimeSpan

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["scheduler"])

_STATUS = answers("SchedulerStatus", *AWS)

AskedSpan = Annotated[TimeSpan, Query()]


@router.get("/timeline", summary="How many tasks are to come", responses=answers("Timeline", 422, *AWS))
def get_timeline(span: AskedSpan, editor: VisitorsEditor) -> Json:
    """By minute, hour, day or month. Where there are very many, one lane of the queue is counted for all."""
    return Json(Timeline(buckets=editor.timeline(**span.given())))


@router.get("/history", summary="What has been", responses=answers("TaskHistory", 422, *AWS))
def get_history(span: AskedSpan, editor: VisitorsEditor) -> Json:
    """Tasks that were done, failed or skipped, and how late they were started."""
    return Json(editor.history(**span.given()))


@router.get("/status", summary="How the scheduler stands", responses=_STATUS)
def get_status(editor: VisitorsEditor) -> Json:
    """The rule, the next due date, and what is wrong, if anything."""
    return Json(status_answer(editor.status()))


@router.get("/doctor", summary="Look thoroughly", responses=_STATUS)
def look_thoroughly(editor: VisitorsEditor) -> Json:
    """The same, and what shows when more is read: recurring tasks that fail, lanes that nobody looks at."""
    return Json(status_answer(editor.doctor().status))


@router.post("/doctor", summary="Mend what can be mended", responses=_STATUS)
def mend_scheduler(editor: VisitorsEditor) -> Json:
    """See to it that the rule rings for the earliest task, and look again."""
    return Json(status_answer(editor.ensure_armed()))


@router.post("/preview", summary="What a schedule means", responses=answers("Preview", 400, 422))
def preview_schedule(body: SchedulePreview) -> Json:
    """In words, and the times that come next. Nothing is stored."""
    now = utc_now()
    schedule = make_schedule(body.schedule, timezone=body.timezone, start=body.start, end=body.end, now=now)
    return Json(Preview(words=schedule.describe(), occurrences=schedule.preview(body.count, now)))


@router.get("/timezones", summary="The time zones that schedules can be in", responses=answers("TimeZones"))
def list_time_zones() -> Json:
    """By name, those kept for backward compatibility among them."""
    return Json(TimeZones(tzdata=TZDATA_VERSION, names=sorted(zone_names())))
