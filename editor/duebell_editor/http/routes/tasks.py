"""Tasks: add, list, read, change, one or many.

An id may hold any printable character. In a path it is percent-encoded, `/` as `%2F` (a plain `/` works,
too). So the path of a task also matches the paths of the verbs. It is registered after them.
The task's rev is its ETag (RFC 9110, section 8.8.3).
"""

import re
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path, Query, Request

from duebell_editor.http.access import VisitorsEditor
from duebell_editor.http.answers import (
    BulkAnswer,
    Json,
    add_answer,
    backfill_answer,
    bulk_answer,
    page_answer,
)
from duebell_editor.http.description import ADDED, CHANGED, answers
from duebell_editor.http.requests import (
    BackfillRange,
    BulkChange,
    Filters,
    Move,
    NewBatch,
    NewTask,
    NewTasks,
    Search,
    StrictRoute,
    TaskChange,
)
from duebell_editor.library.change_many import Selection, check_verb
from duebell_editor.library.editor import Editor
from duebell_editor.library.json_fields import task_fields
from duebell_shared.errors import AwsError, InvalidQuery, InvalidTask, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.tasks import fields
from duebell_shared.tasks.fields import IfExists, fields_of
from duebell_shared.tasks.status import Verb
from duebell_shared.tasks.task import Task

_IfSeen = Annotated[
    str | None,
    Header(
        description='The ETag of the task as you saw it, such as `"7"`: if it was changed since, nothing is '
        "done, and the answer is 412",
        examples=['"7"'],
    ),
]


def _expected(if_match: _IfSeen = None) -> int | None:
    """The rev that If-Match expects; None for any rev: `*` or no header. Raises InvalidQuery."""
    if if_match is None or if_match.strip() == "*":
        return None
    if not (tag := re.fullmatch(r'"([1-9]\d{0,17})"', if_match.strip(), re.ASCII)):
        raise InvalidQuery("If-Match", 'must be the one ETag that the task came with, such as "7", or *')
    return int(tag[1])


def _takes_no_rev(request: Request) -> None:
    if "If-Match" in request.headers:
        raise InvalidQuery("If-Match", "is not taken here: leave it out")


#: For changes that are made whatever the task's rev is.
_ANY_REV = (Depends(_takes_no_rev),)

#: The rev that a task must have to be changed or replaced; None for any.
ExpectedRev = Annotated[int | None, Depends(_expected)]


def etag_of(task: Task) -> dict[str, str]:
    """The header with the task's ETag."""
    return {"ETag": f'"{task.rev}"'}


router = APIRouter(route_class=StrictRoute, tags=["tasks"])

Id = Annotated[str, Path(description="The task's id, percent-encoded", examples=["sale-42"])]

_TASK = "/tasks/{id:path}"


def _answer(task: Task) -> Json:
    return Json(task_fields(task), headers=etag_of(task))


@router.post(
    "/tasks", status_code=201, summary="Add a task, or a list of tasks", responses=answers("Task", ADDED)
)
def add_task(body: NewTasks, request: Request, editor: VisitorsEditor, rev: ExpectedRev) -> Json:
    """Answers when the task is stored and the rule is confirmed to ring for it.

    201 when it is new; 200 when the id was taken, and the task was kept, replaced or pushed by `if_exists`.

    A list has at most 1,000 tasks. All are checked before any is written. If one is wrong, the answer
    names it, as `tasks[2].due`, and nothing is added. Else each succeeds or fails by itself; the answer, 200,
    has the outcome of each. `if_exists` and `max_wait` must be the same in all of them.
    """
    if isinstance(body, list):
        return _add_list(body, editor, rev)
    given = _given(body)
    if rev is not None and body.if_exists is not IfExists.REPLACE:
        raise InvalidQuery("If-Match", 'needs "if_exists": "replace"')
    # Generated here, not by the library, so that the answer has the id even if the rule could not be set.
    request.state.task_id = given["id"]
    task, outcome = editor.add_one(given, if_exists=body.if_exists, max_wait=body.max_wait, rev=rev)
    place = f"{request.url.path}/{quote(task.id, safe='')}"
    return Json(task_fields(task), 201 if outcome == "added" else 200, {**etag_of(task), "Location": place})


def _check_address(field: str, id: str | None) -> None:
    if id in (".", ".."):
        raise InvalidTask(field, f"{quoted(id)} cannot be named in an address: choose another")


def _given(body: NewTask, place: str = "") -> dict[str, Any]:
    """The arguments for the library, with an id. Raises InvalidTask with the place and name of the field."""
    _check_address(f"{place}id", body.id)
    if body.id is None and not body.unique and body.if_exists is IfExists.PUSH:
        raise InvalidTask(f"{place}id", 'is missing: `"if_exists": "push"` needs one, or `unique`')
    try:
        given: dict[str, Any] = {**fields_of(fields.NewTask, body.given("if_exists", "max_wait"))}
    except InvalidTask as error:
        raise InvalidTask(f"{place}{error.field}", error.reason) from None
    return {**given, "id": str(uuid.uuid4()) if given.get("id") is None else given["id"]}


def _add_list(bodies: Sequence[NewTask], editor: Editor, rev: int | None) -> Json:
    if rev is not None:
        raise InvalidQuery("If-Match", "needs one task, not a list")
    given = [_given(body, f"tasks[{index}].") for index, body in enumerate(bodies)]
    policy: dict[str, Any] = {"if_exists": IfExists.FAIL, "max_wait": None}
    policy = {name: getattr(bodies[0], name) for name in policy} if bodies else policy
    for name, first in policy.items():
        for index, body in enumerate(bodies):
            if getattr(body, name) != first:
                reason = f"must be that of the others, {quoted(str(first))}"
                raise InvalidTask(f"tasks[{index}].{name}", reason)
    report = editor.add_many(given, **policy)
    if report.failures and not report.added:
        error = report.failures[0].error
        if isinstance(error, AwsError | NotDeployed):  # AWS did not take any of them
            raise error
    return Json(add_answer([one["id"] for one in given], report, policy["if_exists"]))


@router.post(
    "/batches",
    status_code=201,
    summary="Make a batch",
    responses=answers("Task", {201: CHANGED[200]}),
    dependencies=_ANY_REV,
)
def make_batch(body: NewBatch, editor: VisitorsEditor) -> Json:
    """A task that is blocked until all tasks of the batch have ended; its `members` has the counts.

    With an id of your own, the request can be repeated. `if_exists` of the tasks is ignored.
    """
    given = body.given("tasks")
    _check_address("id", body.id)
    for place, one in enumerate(body.tasks or ()):
        _check_address(f"tasks[{place}].id", one.id)
    if body.tasks is not None:
        given["tasks"] = [one.given("if_exists", "max_wait") for one in body.tasks]
    task = editor.batch(**given)
    return Json(task_fields(task), 201, etag_of(task))


@router.get("/tasks", summary="List tasks", responses=answers("TaskPage"))
def list_tasks(filters: Annotated[Filters, Query()], editor: VisitorsEditor) -> Json:
    """Lists the queue by when tasks run next: scheduled, running, reserved. `status` lists other tasks.

    Ended tasks are ordered by when they ended, paused ones by their due date. With `brief` the tasks have the
    short form. Give a cursor with the same filters as for the page before.
    """
    page = editor.list(**filters.given("brief"))
    return Json(page_answer(page, brief=filters.brief))


@router.get("/find", summary="Find tasks by id", responses=answers("TaskPage"))
def find_tasks(search: Annotated[Search, Query()], editor: VisitorsEditor) -> Json:
    """Finds tasks of any status by the beginning of their ids, in order of the ids."""
    page = editor.find(**search.given("brief"))
    return Json(page_answer(page, brief=search.brief))


@router.post("/bulk", summary="Change many tasks", responses=answers("BulkAnswer"))
def change_many(body: BulkChange, editor: VisitorsEditor) -> Json:
    """Pause, resume, cancel, retry or run the tasks with these ids, or those that a filter finds.

    With `dry_run` the answer has only their number and ids. A task that cannot be changed is a failure and
    does not stop others.
    """
    check_verb(body.do, "do")
    if (body.ids is None) == (body.where is None):
        raise InvalidQuery("where", "or `ids` says which tasks: give one of them, and not both")
    if body.where is not None:
        chosen = editor.select(body.do, **body.where.given(), limit=body.limit)
    else:
        chosen = Selection(ids=tuple(dict.fromkeys(body.ids or ())))
    if body.dry_run and body.ids is not None:
        there = editor.queue.get_many(chosen.ids)
        chosen = Selection(ids=tuple(id for id in chosen.ids if id in there and body.do in there[id].can))
    if body.dry_run:
        return Json(BulkAnswer(found=len(chosen.ids), is_all=chosen.is_all, dry_run=True, ids=chosen.ids))
    return Json(bulk_answer(chosen, editor.change_many(body.do, chosen.ids)))


_OF_A_CHANGE = answers("Task", CHANGED)


@router.post(f"{_TASK}/move", summary="Move a task", responses=_OF_A_CHANGE)
def move_task(id: Id, body: Move, editor: VisitorsEditor, rev: ExpectedRev) -> Json:
    """Give a task another due date. A running task can be moved, too.

    Of a recurring task, the current occurrence is moved. A repeated request would move the next one: with
    If-Match it is carried out only once.
    """
    return _answer(editor.move(id, **{"due": None, **body.given()}, rev=rev))


def _change_by(verb: Verb) -> Callable[..., Json]:
    def change(id: Id, editor: VisitorsEditor, rev: ExpectedRev) -> Json:
        do: Callable[..., Task] = getattr(editor, verb)
        return _answer(do(id, rev=rev))

    return change


for _verb in (Verb.PAUSE, Verb.RESUME, Verb.RETRY, Verb.RUN_NOW):
    router.add_api_route(
        f"{_TASK}/{_verb}",
        _change_by(_verb),
        methods=["POST"],
        name=f"{_verb}_task",
        summary=f"{_verb.rules.words.capitalize()} a task",
        description=_verb.rules.means,
        responses=_OF_A_CHANGE,
    )


@router.post(
    f"{_TASK}/backfill",
    summary="Backfill a recurring task",
    responses=answers("BackfillAnswer"),
    dependencies=_ANY_REV,
)
def backfill_task(id: Id, body: BackfillRange, editor: VisitorsEditor) -> Json:
    """Adds the occurrences of a range that has passed as tasks of their own, at most 10,000.

    A repeated request adds none of them twice: their ids are made of the occurrences.
    """
    return Json(backfill_answer(editor.backfill(id, **body.given())))


@router.post(f"{_TASK}/close", summary="Close a batch", responses=_OF_A_CHANGE, dependencies=_ANY_REV)
def close_batch(id: Id, editor: VisitorsEditor) -> Json:
    """It takes no more tasks, and goes on when all its tasks have ended. A repeated request does nothing."""
    return _answer(editor.close_batch(id))


def _is_of_the_id(request: Request, end: str) -> bool:
    """Tell whether the path's end is a part of the id: its `/` came as `%2F`."""
    return not request.scope.get("raw_path", end.encode()).endswith(end.encode())


@router.get(f"{_TASK}/why", summary="Explain why a task waits", responses=answers("Why"))
def explain_task(id: Id, editor: VisitorsEditor, request: Request) -> Json:
    """The cause of its wait and what to do, or the parts of the lateness of its last attempt."""
    if _is_of_the_id(request, "/why"):
        return read_task(f"{id}/why", editor)
    return Json(editor.why(id))


@router.get(f"{_TASK}/history", summary="Tell what happened to a task", responses=answers("TaskHistory"))
def tell_history(id: Id, editor: VisitorsEditor, request: Request) -> Json:
    """Its add, changes, attempts and past occurrences, the latest at the end, as far as they are kept."""
    if _is_of_the_id(request, "/history"):
        return read_task(f"{id}/history", editor)
    return Json({"events": editor.get(id).history})


@router.get(_TASK, summary="Read a task", responses=answers("Task", CHANGED))
def read_task(id: Id, editor: VisitorsEditor) -> Json:
    """The task as it is stored now, with its rev as ETag."""
    return _answer(editor.get(id))


@router.patch(_TASK, summary="Change a task", responses=_OF_A_CHANGE)
def change_task(id: Id, body: TaskChange, editor: VisitorsEditor, rev: ExpectedRev) -> Json:
    """Changes a scheduled, paused, failed or expired task. A field that is left out stays as it is.

    `null` removes the end, the limit of runs, the spread or the expiry; a `payload` of null is empty.

    A `due` or an `in` alone moves the task, as `/move` does: of a recurring task the current occurrence. A
    repeated request would move the next one: with If-Match it is carried out only once.
    """
    changes = body.given()
    # A running task can be moved, but not updated.
    if changes.keys() == {"due"} and changes["due"] is not None:
        return _answer(editor.move(id, **changes, rev=rev))
    return _answer(editor.update(id, **changes, rev=rev))


@router.delete(_TASK, summary="Cancel a task", responses=answers("Task", CHANGED))
def cancel_task(id: Id, editor: VisitorsEditor, rev: ExpectedRev) -> Json:
    """The task never runs; it is kept as history and returned as it is now."""
    return _answer(editor.cancel(id, rev=rev))
