"""A task's rev as its ETag, and If-Match: a change only to what the asker has seen."""

import re
from typing import Annotated

from fastapi import Depends, Header, Request, Response

from duebell_editor import Editor
from duebell_editor.reading import Queue
from duebell_shared.errors import InvalidQuery

from .views import TaskView

__all__ = ["Expected", "ItsEditor", "ItsQueue", "tagged"]

_TAG = re.compile(r'"(\d{1,18})"')


def _editor(request: Request) -> Editor:
    editor: Editor = request.app.state.editor
    return editor


ItsEditor = Annotated[Editor, Depends(_editor)]


def _queue(editor: ItsEditor) -> Queue:
    return editor.queue


ItsQueue = Annotated[Queue, Depends(_queue)]


def _expected(
    if_match: Annotated[
        str | None,
        Header(
            description='The ETag of the task as you saw it, such as `"7"`: if it was changed since, nothing '
            "is done, and the answer is 412"
        ),
    ] = None,
) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    tag = _TAG.fullmatch(if_match.strip())
    if tag is None:
        raise InvalidQuery("If-Match", 'must be one ETag that a task came with, such as "7", or *')
    return int(tag[1])


#: The rev at which the request expects the task that it changes; None for any.
Expected = Annotated[int | None, Depends(_expected)]


def tagged(task: TaskView, response: Response) -> TaskView:
    """The task, with its rev as the response's ETag."""
    response.headers["ETag"] = f'"{task.rev}"'
    return task
