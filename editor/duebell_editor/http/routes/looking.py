"""What is to come and what has been, as numbers."""

from typing import Annotated

from fastapi import APIRouter, Query

from duebell_editor.history import history
from duebell_editor.timeline import timeline

from ..answers import AWS, problems
from ..asks import Stretch
from ..bodies import JsonRoute
from ..etags import ItsQueue
from ..reports import HistoryView, TimelineView

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute, tags=["scheduler"], responses=problems(422, *AWS))

AskedStretch = Annotated[Stretch, Query()]


@router.get("/timeline", summary="How many tasks are to come")
def get_timeline(stretch: AskedStretch, queue: ItsQueue) -> TimelineView:
    """By minute, hour, day or month. Where there are very many, one lane of the queue is counted for all."""
    buckets = timeline(queue, stretch.start, stretch.step, stretch.count, zone=stretch.timezone)
    return TimelineView.of(buckets)


@router.get("/history", summary="What has been")
def get_history(stretch: AskedStretch, queue: ItsQueue) -> HistoryView:
    """What was done, failed or skipped, and how late it was started."""
    found = history(queue, stretch.start, stretch.step, stretch.count, zone=stretch.timezone)
    return HistoryView.of(found)
