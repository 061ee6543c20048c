"""The routes under `/api`: each one a method of the library.

An id may hold any printable character. In a path it is percent-encoded, `/` as `%2F` (a plain `/` is
understood too).
"""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from duebell_editor import Editor, make_schedule
from duebell_shared.instants import utc_now

from .models import (
    Filters,
    NewTaskBody,
    PageView,
    PreviewBody,
    PreviewView,
    StatusView,
    TaskChange,
    TaskView,
)

__all__ = ["api"]

api = APIRouter(prefix="/api")


def _editor(request: Request) -> Editor:
    editor: Editor = request.app.state.editor
    return editor


ItsEditor = Annotated[Editor, Depends(_editor)]
Id = Annotated[str, Path(description="The task's id, percent-encoded")]


@api.post("/tasks", status_code=201, summary="Add a task")
def add(body: NewTaskBody, request: Request, response: Response, editor: ItsEditor) -> TaskView:
    """Answers when the task is stored and the rule is confirmed to ring for it."""
    # Generated here, not by the library, so that the answer can name the task even if it could not be armed.
    request.state.task_id = str(uuid.uuid4()) if body.id is None else body.id
    given = {name: getattr(body, name) for name in type(body).model_fields}
    task = editor.add(**{**given, "id": request.state.task_id})
    response.headers["Location"] = f"{request.url.path}/{quote(task.id, safe='')}"
    return TaskView.of(task)


@api.get("/tasks", summary="List tasks in due order")
def list_tasks(filters: Annotated[Filters, Query()], editor: ItsEditor) -> PageView:
    """Scheduled and running tasks; paused and finished ones when their status is asked for."""
    page = editor.list(
        status=filters.status or None,
        action=filters.action,
        after=filters.after,
        before=filters.before,
        limit=filters.limit,
        cursor=filters.cursor,
    )
    return PageView(tasks=[TaskView.of(task) for task in page.tasks], cursor=page.cursor)


@api.get("/tasks/{id:path}", summary="One task")
def get(id: Id, editor: ItsEditor) -> TaskView:
    """The task as it is stored at this moment."""
    return TaskView.of(editor.get(id))


@api.patch("/tasks/{id:path}", summary="Change a task")
def change(id: Id, body: TaskChange, editor: ItsEditor) -> TaskView:
    """Another payload, action, due date or schedule. What is left out, or null, stays as it is."""
    given = {name: getattr(body, name) for name in type(body).model_fields}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes.keys() == {"due"}:
        return TaskView.of(editor.move(id, **changes))  # running tasks can be moved, and no more than that
    return TaskView.of(editor.update(id, **changes))


@api.post("/tasks/{id:path}/pause", summary="Pause a task")
def pause(id: Id, editor: ItsEditor) -> TaskView:
    """Out of the queue until it is resumed."""
    return TaskView.of(editor.pause(id))


@api.post("/tasks/{id:path}/resume", summary="Resume a paused task")
def resume(id: Id, editor: ItsEditor) -> TaskView:
    """Back in the queue; it runs at once if its due date has passed."""
    return TaskView.of(editor.resume(id))


@api.post("/tasks/{id:path}/retry", summary="Retry a failed or expired task")
def retry(id: Id, editor: ItsEditor) -> TaskView:
    """Now, with all attempts to come."""
    return TaskView.of(editor.retry(id))


@api.post("/tasks/{id:path}/run", summary="Run a task now")
def run_now(id: Id, editor: ItsEditor) -> TaskView:
    """A recurring task once more, beside its schedule; one that runs once, now instead of when it is due."""
    return TaskView.of(editor.run_now(id))


@api.delete("/tasks/{id:path}", summary="Cancel a task")
def cancel(id: Id, editor: ItsEditor) -> TaskView:
    """Never to run; it is kept as history and returned as it is now."""
    return TaskView.of(editor.cancel(id))


@api.get("/status", summary="How the scheduler stands")
def status(editor: ItsEditor) -> StatusView:
    """The rule, the next due date, and what is wrong, if anything."""
    return StatusView.of(editor.status())


@api.post("/preview", summary="What a schedule means")
def preview(body: PreviewBody) -> PreviewView:
    """In words, and the times that come next. Nothing is stored."""
    now = utc_now()
    schedule = make_schedule(body.schedule, timezone=body.timezone, start=body.start, end=body.end, now=now)
    return PreviewView(words=schedule.describe(), occurrences=schedule.preview(body.count, now))
