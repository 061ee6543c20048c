"""The check of the intake queue: a message goes in, and becomes a task."""

import json
from contextlib import suppress
from datetime import timedelta

from botocore.exceptions import ClientError

from duebell_shared.aws.intake_queue import is_missing
from duebell_shared.errors import TaskNotFound
from duebell_shared.quoting import quoted
from duebell_shared.tasks.reserved import VERIFY

from .check import Found, When, Wrong, check
from .scene import Scene

__all__ = ["intake"]

#: A message becomes a task within this: Lambda waits for a second for others, and a process has to start.
_LONGEST = timedelta(minutes=2)

#: No run sees the task: it is deleted when it was seen.
_DUE_IN = timedelta(days=1)

_LOOK = "`duebell doctor` says whether the worker takes messages; look into the dead letters and its log"

_DEPLOY = "`duebell deploy --intake` makes it"


@check(_LOOK, when=When.PROBING)
def intake(scene: Scene) -> Found:
    """A message of the intake queue: how soon its task is there. Without an intake there is nothing to do."""
    queue = scene.backend.intake
    if queue is None:
        return Found("there is no intake queue")
    region, account = scene.backend.rule.read().place
    id = scene.own.enter("intake", lanes=len(scene.backend.armer.read().lanes))
    message = {"action": VERIFY, "in": _DUE_IN.total_seconds(), "id": id}
    scene.answers.clear()
    try:
        queue.send(json.dumps(message), region=region, account=account)
    except ClientError as error:
        if is_missing(error):
            raise Wrong(f"there is no queue {quoted(queue.name)}", _DEPLOY) from error
        raise
    began = scene.now()
    scene.progress("waiting for a message of the intake queue to become a task")

    def is_there() -> bool:
        with suppress(TaskNotFound):
            return bool(scene.editor.get(id))
        return False

    if not scene.wait(is_there, until=began + _LONGEST):
        raise Wrong(f"the message sent at {began:%H:%M:%S} UTC is no task yet")
    took = round((scene.now() - began).total_seconds(), 1)
    scene.own.remove(id)
    return Found(f"a task {took:.0f} s after it was sent", figures={"added_after_seconds": took})
