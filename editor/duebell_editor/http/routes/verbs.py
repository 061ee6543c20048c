"""What else can be done to a task: move, pause, resume, retry, run now.

These routes come before those of the task itself, whose path takes any id.
"""

from fastapi import APIRouter, Response

from ..answers import AWS, problems
from ..asks import MoveBody
from ..etags import Expected, ItsEditor, tagged
from ..views import TaskView
from .tasks import Id

__all__ = ["router"]

router = APIRouter(tags=["tasks"], responses=problems(404, 409, 412, 422, *AWS))


@router.post("/tasks/{id:path}/move", summary="Move a task", responses=problems(400))
def move(id: Id, body: MoveBody, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Another due date; of a recurring task, for this occurrence only. A running task can be moved too."""
    return tagged(TaskView.of(editor.move(id, due=body.due, rev=rev)), response)


@router.post("/tasks/{id:path}/pause", summary="Pause a task")
def pause(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Out of the queue until it is resumed."""
    return tagged(TaskView.of(editor.pause(id, rev=rev)), response)


@router.post("/tasks/{id:path}/resume", summary="Resume a paused task")
def resume(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Back in the queue; it runs at once if its due date has passed."""
    return tagged(TaskView.of(editor.resume(id, rev=rev)), response)


@router.post("/tasks/{id:path}/retry", summary="Retry a failed or expired task")
def retry(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """Now, with all attempts to come."""
    return tagged(TaskView.of(editor.retry(id, rev=rev)), response)


@router.post("/tasks/{id:path}/run", summary="Run a task now")
def run_now(id: Id, response: Response, editor: ItsEditor, rev: Expected) -> TaskView:
    """A recurring task once more, beside its schedule; one that runs once, now instead of when it is due."""
    return tagged(TaskView.of(editor.run_now(id, rev=rev)), response)
