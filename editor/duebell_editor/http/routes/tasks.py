"""Tasks: add, list, read, change, cancel.

An id may hold any printable character. In a path it is percent-encoded, `/` as `%2F` (a plain `/` is
understood too).
"""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response

from duebell_editor.listing import make_filter
from duebell_editor.searching import Search, search

from ..answers import AWS, problems
from ..asks import Filters, NewTaskBody, TaskChange
from ..etags import Expected, ItsEditor, tagged
from ..views import PageView, TaskBrief, TaskView

__all__ = ["Id", "router"]

router = APIRouter(tags=["tasks"])

Id = Annotated[str, Path(description="The task's id, percent-encoded", examples=["sale-42"])]


@router.post("/tasks", status_code=201, summary="Add a task", responses=problems(400, 409, 422, *AWS))
def add(body: NewTaskBody, request: Request, response: Response, editor: ItsEditor) -> TaskView:
    """Answers when the task is stored and the rule is confirmed to ring for it."""
    # Generated here, not by the library, so that the answer can name the task even if it could not be armed.
    request.state.task_id = str(uuid.uuid4()) if body.id is None else body.id
    given = {name: getattr(body, name) for name in type(body).model_fields}
    task = editor.add(**{**given, "id": request.state.task_id})
    response.headers["Location"] = f"{request.url.path}/{quote(task.id, safe='')}"
    return tagged(TaskView.of(task), response)


@router.get("/tasks", summary="List tasks", responses=problems(422, *AWS))
def list_tasks(filters: Annotated[Filters, Query()], editor: ItsEditor) -> PageView:
    """Scheduled and running tasks in due order; paused and finished ones when their status is asked for.

    The latter are found by reading all of history.
    """
    which = make_filter(
        status=filters.status or None,
        action=filters.action,
        after=filters.after,
        before=filters.before,
        limit=filters.limit,
        cursor=filters.cursor,
    )
    page = search(editor, Search(which=which, prefix=filters.prefix, latest_first=filters.latest_first))
    if filters.brief:
        return PageView(tasks=[TaskBrief.of(task) for task in page.tasks], cursor=page.cursor)
    return PageView(tasks=[TaskView.of(task) for task in page.tasks], cursor=page.cursor)


@router.get("/tasks/{id:path}", summary="Read a task", responses=problems(404, 422, *AWS))
def get(id: Id, response: Response, editor: ItsEditor) -> TaskView:
    """The task as it is stored at this moment, with its rev as ETag."""
    return tagged(TaskView.of(editor.get(id)), response)


@router.patch("/tasks/{id:path}", summary="Change a task", responses=problems(400, 404, 409, 412, 422, *AWS))
def change(id: Id, body: TaskChange, response: Response, editor: Expected) -> TaskView:
    """Another payload, action, due date or schedule. What is left out, or null, stays as it is."""
    given = {name: getattr(body, name) for name in type(body).model_fields}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes.keys() == {"due"}:  # running tasks can be moved, and no more than that
        return tagged(TaskView.of(editor.move(id, **changes)), response)
    return tagged(TaskView.of(editor.update(id, **changes)), response)


@router.delete("/tasks/{id:path}", summary="Cancel a task", responses=problems(404, 409, 412, 422, *AWS))
def cancel(id: Id, response: Response, editor: Expected) -> TaskView:
    """Never to run; it is kept as history and returned as it is now."""
    return tagged(TaskView.of(editor.cancel(id)), response)
