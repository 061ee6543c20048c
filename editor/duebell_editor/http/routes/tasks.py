"""Tasks: add, list, read, change, cancel.

An id may hold any printable character. In a path it is percent-encoded, `/` as `%2F` (a plain `/` is
understood too).
"""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request, Response

from duebell_editor import IfExists, InvalidQuery, InvalidTask, TaskExists
from duebell_editor.filtering import make_filter
from duebell_editor.listing import search
from duebell_shared.quoting import quoted

from ..answers import ADDED, AWS, FULL, TAGGED, TASK, Responses, problems
from ..asks import Filters, NewTaskBody, TaskChange
from ..bodies import JsonRoute
from ..etags import Expected, ItsEditor, ItsQueue, Replaced, is_known, tagged
from ..views import PageView, TaskBrief, TaskView

__all__ = ["Id", "router"]

router = APIRouter(route_class=JsonRoute, tags=["tasks"])

Id = Annotated[str, Path(description="The task's id, percent-encoded", examples=["sale-42"])]


_THERE: Responses = {
    200: {"model": TaskView, "description": "It was there: kept as it is, or replaced", "headers": ADDED},
    201: {"description": "It is new", "headers": ADDED},
}
_SAME: Responses = {304: {"description": "You have it as it is (If-None-Match)", "headers": TAGGED}}


@router.post(
    "/tasks",
    status_code=201,
    summary="Add a task",
    responses={**_THERE, **problems(400, 409, 412, 422, *AWS, FULL)},
)
def add_task(
    body: NewTaskBody, request: Request, response: Response, editor: ItsEditor, rev: Replaced
) -> TaskView:
    """Answers when the task is stored and the rule is confirmed to ring for it.

    201 when it is new; 200 when the id was taken, and `if_exists` says what became of that task.
    """
    # Generated here, not by the library, so that the answer can name the task even if it could not be armed.
    if body.id in {".", ".."}:
        raise InvalidTask("id", f"{quoted(body.id)} cannot be named in an address: choose another")
    if rev is not None and body.if_exists is not IfExists.REPLACE:
        raise InvalidQuery("If-Match", 'goes with "if_exists": "replace"')
    if body.due is None and body.schedule is None:
        raise InvalidTask("due", "is missing: say when it shall run, or give a `schedule`")
    request.state.task_id = str(uuid.uuid4()) if body.id is None else body.id
    given = {name: getattr(body, name) for name in type(body).model_fields}
    given["id"] = request.state.task_id
    try:
        task = editor.add(**{**given, "if_exists": IfExists.FAIL})
    except TaskExists:
        if body.if_exists is IfExists.FAIL:
            raise
        task = editor.add(**given, rev=rev)
        response.status_code = 200
    response.headers["Location"] = f"{request.url.path}/{quote(task.id, safe='')}"
    return tagged(TaskView.of(task), response)


@router.get("/tasks", summary="List tasks", responses=problems(422, *AWS))
def list_tasks(filters: Annotated[Filters, Query()], queue: ItsQueue) -> PageView:
    """Scheduled and running tasks by when they are looked at next; others when their status is asked for.

    Those that have ended stand where they ended, the paused where they are due. With `brief` the tasks are of
    the short form. A cursor goes with the filters that it came with.
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


@router.get(
    "/tasks/{id:path}",
    summary="Read a task",
    response_model=TaskView,
    responses={**TASK, **_SAME, **problems(404, 422, *AWS)},
)
def read_task(
    id: Id,
    request: Request,
    response: Response,
    editor: ItsEditor,
    if_none_match: Annotated[
        str | None, Header(description="The ETags that you have", examples=['"7"'])
    ] = None,
) -> TaskView | Response:
    """The task as it is stored at this moment, with its rev as ETag."""
    task = tagged(TaskView.of(editor.get(id)), response)
    if if_none_match is not None and is_known(task, request):
        return Response(status_code=304, headers={"ETag": response.headers["ETag"]})
    return task


@router.patch(
    "/tasks/{id:path}",
    summary="Change a task",
    responses={**TASK, **problems(400, 404, 409, 412, 422, *AWS, FULL)},
)
def change_task(id: Id, body: TaskChange, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Another payload, action, due date or schedule: what is left out stays as it is.

    `null` takes away: the end, the limit of runs, the spread, the expiry; a `payload` of null is empty.

    A `due` alone moves it, as `/move` does: of a recurring task the occurrence it stands at, and with every
    repetition the next. With If-Match a request that is repeated is carried out once.
    """
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    if changes.keys() == {"due"} and body.due is not None:  # running tasks can be moved, and no more
        return tagged(TaskView.of(editor.move(id, due=body.due, rev=rev)), response)
    return tagged(TaskView.of(editor.update(id, **changes, rev=rev)), response)


@router.delete(
    "/tasks/{id:path}",
    summary="Cancel a task",
    responses={**TASK, **problems(404, 409, 412, 422, *AWS)},
)
def cancel_task(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Never to run; it is kept as history and returned as it is now."""
    return tagged(TaskView.of(editor.cancel(id, rev=rev)), response)
