"""A stream of what changes, for the page: server-sent events. Streams share what they read."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Hashable
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from duebell_editor.http.access import VisitorsEditor
from duebell_editor.http.answers import to_json
from duebell_editor.http.description import Responses
from duebell_editor.http.requests import Following, StrictRoute
from duebell_editor.library.editor import Editor
from duebell_editor.library.json_fields import status_fields
from duebell_editor.listing.queue_counts import Snapshot
from duebell_editor.status.health import SchedulerStatus
from duebell_shared.errors import DuebellError, TaskNotFound
from duebell_shared.instants import NEVER, utc_now
from duebell_shared.schedules.zones import zone_of

_T = TypeVar("_T")

#: Readings that are kept at most.
_MOST_READINGS = 100


class SharedReadings:
    """The last reading of each key, for one event loop. Callers who ask during a reading wait for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._readings: dict[Hashable, tuple[float, asyncio.Future[Any]]] = {}

    async def get(self, what: Hashable, read: Callable[[], _T], *, max_age: float) -> tuple[_T, float]:
        """The value of `what`, and when it was read. If older than `max_age`, `read` reads it in a thread.

        An error is shared too. Callers who waited for a reading take it, however long it took.
        """
        now = self._clock()
        at, reading = self._readings.get(what, (now, None))
        if reading is None or (reading.done() and now - at >= max_age):
            if len(self._readings) >= _MOST_READINGS:
                self._readings.clear()
            at, reading = now, asyncio.ensure_future(to_thread.run_sync(read))
            self._readings[what] = (at, reading)
        return await asyncio.shield(reading), at


router = APIRouter(route_class=StrictRoute, tags=["scheduler"])

#: Seconds between snapshots: while something happens or will happen soon, and otherwise.
_BUSY, _QUIET = 2.0, 6.0

#: Seconds after which the status is read again although nothing seems to have changed.
_STATUS_EVERY = 30.0

#: A quiet queue is watched closely from this long before its next due date.
_SOON = timedelta(minutes=3)

#: Seconds between checks whether the server ends.
_STEP = 0.25

_DESCRIPTION: Responses = {
    200: {
        "description": "Events, for as long as the connection lasts",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: changed\ndata: {"busy": true}\n\n',
            }
        },
    }
}


@router.get("/changes", summary="Follow changes", response_class=StreamingResponse, responses=_DESCRIPTION)
async def stream_changes(
    following: Annotated[Following, Query()], request: Request, editor: VisitorsEditor
) -> StreamingResponse:
    """Server-sent events: `ready` (changes are reported from now on), `status` (as `/api/status`, at first
    and when it differs), `changed` (something in this part of the queue, or one of the tasks; `busy` says
    whether a run is at work) and `problem` (AWS does not answer; it is tried again).

    Each has one line of `data`, a JSON object: `{}`, a status, `{"busy": …}`, `{"detail": …}`. Lines that
    begin with a colon only keep the connection alive. Events are not stored: a new connection begins with
    `ready` and `status`, and the client must read the tasks again; `Last-Event-ID` is ignored.
    """
    stream = _Stream(editor, following, request.app.state.readings)
    return StreamingResponse(stream.events(request), media_type="text/event-stream")


class _Look(NamedTuple):
    """The queue as a stream saw it, and the revs of the tasks it follows; None for a task that is missing."""

    queue: Snapshot
    revs: tuple[int | None, ...]


class _Stream:
    """The events of one connection. The readings that they come from are shared with other connections."""

    def __init__(self, editor: Editor, following: Following, readings: SharedReadings) -> None:
        self._editor = editor
        # The past part of the queue is always included, so that viewers who start at "now" share readings.
        is_later = following.after is not None and following.after > utc_now()
        self._after = following.after if is_later else None
        self._before = following.before or NEVER
        self._ids = tuple(dict.fromkeys(following.id))
        self._zone = zone_of(following.timezone).key
        self._readings = readings
        self._look: _Look | None = None
        self._taken_at = 0.0
        self._status: SchedulerStatus | None = None
        self._status_at = 0.0
        self._began = time.monotonic()

    async def events(self, request: Request) -> AsyncIterator[str]:
        ending = request.app.state.ending
        while not ending.is_set():
            self._taken_at = time.monotonic()
            try:
                before, self._look = self._look, await self._look_now()
                for event in self._change_events(before, self._look):
                    yield event
                if self._is_status_due(before, self._look):
                    for event in await self._status_events(self._look):
                        yield event
            except DuebellError as error:
                self._look = None  # changes may have been missed: start again with `ready`
                yield _event("problem", json.dumps({"detail": str(error)}))
            yield ": still here\n\n"
            until = self._taken_at + self._pause()
            while time.monotonic() < until and not ending.is_set():
                await asyncio.sleep(_STEP)

    async def _look_now(self) -> _Look:
        """Look at the queue and the tasks. The first look may be one that another stream has just taken."""
        max_age = self._pause()
        take = partial(self._editor.snapshot, after=self._after, before=self._before)
        what = (self._after, self._before)
        seen, self._taken_at = await self._readings.get(what, take, max_age=max_age)
        found = [
            await self._readings.get(id, partial(_rev, self._editor, id), max_age=max_age) for id in self._ids
        ]
        return _Look(seen, tuple(rev for rev, _ in found))

    def _change_events(self, before: _Look | None, now: _Look) -> list[str]:
        if before is None:
            return [_event("ready", "{}")]
        return [_event("changed", json.dumps({"busy": now.queue.busy}))] if before != now else []

    def _is_status_due(self, before: _Look | None, now: _Look) -> bool:
        # A status that another stream has read may be older than what the viewer knows from elsewhere
        is_stale = self._status_at < self._began or time.monotonic() - self._status_at > _STATUS_EVERY
        return before is None or before.queue.arming != now.queue.arming or is_stale

    async def _status_events(self, now: _Look) -> list[str]:
        max_age = _STATUS_EVERY if self._status_at >= self._began else _BUSY
        before = self._status
        read = partial(self._editor.status, timezone=self._zone)
        what = ("status", now.queue.arming, self._zone)
        status, self._status_at = await self._readings.get(what, read, max_age=max_age)
        self._status = status
        return [_event("status", to_json(status_fields(status)))] if status != before else []

    def _pause(self) -> float:
        if self._look is None or self._look.queue.busy:
            return _BUSY
        next_due = self._status.next_due if self._status else None
        return _BUSY if next_due and next_due - utc_now() < _SOON else _QUIET


def _rev(editor: Editor, id: str) -> int | None:
    try:
        return editor.get(id).rev
    except TaskNotFound:
        return None


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
