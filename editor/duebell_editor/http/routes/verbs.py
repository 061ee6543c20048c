"""What else can be done to a task: move, pause, resume, retry, run now.

These routes come before those of the task itself, whose path takes any id.
"""

from fastapi import APIRouter, Response

from ..answers import AWS, FULL, TASK, problems
from ..asks import MoveBody
from ..bodies import JsonRoute
from ..etags import Expected, ItsEditor, tagged
from ..views import TaskView
from .tasks import Id

__all__ = ["router"]

router = APIRouter(
    route_class=JsonRoute, tags=["tasks"], responses={**TASK, **problems(404, 409, 412, 422, *AWS, FULL)}
)


@router.post("/tasks/{id:path}/move", summary="Move a task", responses=problems(400))
def move_task(id: Id, body: MoveBody, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Another due date. A running task can be moved too.

    Of a recurring task it is for the occurrence that it stands at, and with every repetition for the next:
    with If-Match a request that is repeated is carried out once.
    """
    return tagged(TaskView.of(editor.move(id, due=body.due, rev=rev)), response)


@router.post("/tasks/{id:path}/pause", summary="Pause a task")
def pause_task(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Out of the queue until it is resumed."""
    return tagged(TaskView.of(editor.pause(id, rev=rev)), response)


@router.post("/tasks/{id:path}/resume", summary="Resume a paused task")
def resume_task(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Back in the queue; it runs at once if its due date has passed."""
    return tagged(TaskView.of(editor.resume(id, rev=rev)), response)


@router.post("/tasks/{id:path}/retry", summary="Retry a failed or expired task")
def retry_task(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Now, with all attempts to come."""
    return tagged(TaskView.of(editor.retry(id, rev=rev)), response)


@router.post("/tasks/{id:path}/run", summary="Run a task now")
def run_task_now(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """A recurring task once more, beside its schedule; one that runs once, now instead of when it is due."""
    return tagged(TaskView.of(editor.run_now(id, rev=rev)), response)
