"""Tasks: add, list, read, change, cancel.

An id may hold any printable character. In a path it is percent-encoded, `/` as `%2F` (a plain `/` is
understood too).
"""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response

from duebell_editor import IfExists, TaskExists
from duebell_editor.filtering import make_filter
from duebell_editor.listing import search

from ..answers import AWS, Responses, problems
from ..asks import Filters, NewTaskBody, TaskChange
from ..etags import Expected, ItsEditor, ItsQueue, tagged
from ..views import PageView, TaskBrief, TaskView

__all__ = ["Id", "router"]

router = APIRouter(tags=["tasks"])

Id = Annotated[str, Path(description="The task's id, percent-encoded", examples=["sale-42"])]


_THERE: Responses = {200: {"model": TaskView, "description": "It was there: kept as it is, or replaced"}}


@router.post(
    "/tasks",
    status_code=201,
    summary="Add a task",
    responses={**_THERE, **problems(400, 409, 422, *AWS)},
)
def add(body: NewTaskBody, request: Request, response: Response, editor: ItsEditor) -> TaskView:
    """Answers when the task is stored and the rule is confirmed to ring for it.

    201 when it is new; 200 when the id was taken, and `if_exists` says what became of that task.
    """
    # Generated here, not by the library, so that the answer can name the task even if it could not be armed.
    request.state.task_id = str(uuid.uuid4()) if body.id is None else body.id
    given = {name: getattr(body, name) for name in type(body).model_fields}
    given["id"] = request.state.task_id
    try:
        task = editor.add(**{**given, "if_exists": IfExists.FAIL})
    except TaskExists:
        if body.if_exists is IfExists.FAIL:
            raise
        task = editor.add(**given)
        response.status_code = 200
    response.headers["Location"] = f"{request.url.path}/{quote(task.id, safe='')}"
    return tagged(TaskView.of(task), response)


@router.get("/tasks", summary="List tasks", responses=problems(422, *AWS))
def list_tasks(filters: Annotated[Filters, Query()], queue: ItsQueue) -> PageView:
    """Scheduled and running tasks in due order; paused and finished ones when their status is asked for.

    The latter are found by reading all of history.
    """
    which = make_filter(
        status=filters.status or None,
        action=filters.action,
        prefix=filters.prefix,
        after=filters.after,
        before=filters.before,
        latest_first=filters.latest_first,
        limit=filters.limit,
        cursor=filters.cursor,
    )
    page = search(queue, which)
    if filters.brief:
        return PageView(tasks=[TaskBrief.of(task) for task in page.tasks], cursor=page.cursor)
    return PageView(tasks=[TaskView.of(task) for task in page.tasks], cursor=page.cursor)


@router.get("/tasks/{id:path}", summary="Read a task", responses=problems(404, 422, *AWS))
def get(id: Id, response: Response, editor: ItsEditor) -> TaskView:
    """The task as it is stored at this moment, with its rev as ETag."""
    return tagged(TaskView.of(editor.get(id)), response)


@router.patch("/tasks/{id:path}", summary="Change a task", responses=problems(400, 404, 409, 412, 422, *AWS))
def change(id: Id, body: TaskChange, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Another payload, action, due date or schedule: what is left out stays as it is.

    `null` takes away: the end, the limit of runs, the spread, the expiry; a `payload` of null is empty.
    """
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    if changes.keys() == {"due"} and body.due is not None:  # running tasks can be moved, and no more
        return tagged(TaskView.of(editor.move(id, due=body.due, rev=rev)), response)
    return tagged(TaskView.of(editor.update(id, **changes, rev=rev)), response)


@router.delete("/tasks/{id:path}", summary="Cancel a task", responses=problems(404, 409, 412, 422, *AWS))
def cancel(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Never to run; it is kept as history and returned as it is now."""
    return tagged(TaskView.of(editor.cancel(id, rev=rev)), response)
