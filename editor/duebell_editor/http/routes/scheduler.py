"""The scheduler itself: how it stands, what is wrong, what a schedule means."""

from fastapi import APIRouter

from duebell_editor import make_schedule
from duebell_shared.instants import utc_now
from duebell_shared.zones import TZDATA_VERSION, zone_names

from ..answers import AWS, problems
from ..asks import PreviewBody
from ..bodies import JsonRoute
from ..etags import ItsEditor
from ..reports import PreviewView, StatusView, ZonesView

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute, tags=["scheduler"])


@router.get("/status", summary="How the scheduler stands", responses=problems(*AWS))
def get_status(editor: ItsEditor) -> StatusView:
    """The rule, the next due date, and what is wrong, if anything."""
    return StatusView.of(editor.status())


@router.get("/doctor", summary="Look thoroughly", responses=problems(*AWS))
def look_thoroughly(editor: ItsEditor) -> StatusView:
    """The same, and what shows when more is read: recurring tasks that fail, lanes that nobody looks at."""
    return StatusView.of(editor.status(thorough=True))


@router.post("/doctor", summary="Mend what can be mended", responses=problems(*AWS))
def mend_scheduler(editor: ItsEditor) -> StatusView:
    """See to it that the rule rings for the earliest task, and look again."""
    return StatusView.of(editor.ensure_armed())


@router.post("/preview", summary="What a schedule means", responses=problems(400, 422))
def preview_schedule(body: PreviewBody) -> PreviewView:
    """In words, and the times that come next. Nothing is stored."""
    now = utc_now()
    schedule = make_schedule(body.schedule, timezone=body.timezone, start=body.start, end=body.end, now=now)
    return PreviewView(words=schedule.describe(), occurrences=schedule.preview(body.count, now))


@router.get("/timezones", summary="The time zones that schedules can be in", responses=problems())
def list_time_zones() -> ZonesView:
    """By name, those kept for backward compatibility among them."""
    return ZonesView(tzdata=TZDATA_VERSION, names=sorted(zone_names()))
