"""The packaged Lambda's handler: messages of the intake queue add and change tasks; other events start runs.

The intake needs no actions, so the user's module is not imported for it and cannot break it.
"""

import gc
import logging
import os
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

# Imports make no garbage. Python would look for it several times, which is a twentieth of a cold start.
gc.disable()
from duebell_worker.entry import handler as run  # noqa: E402

gc.freeze()
gc.enable()

if TYPE_CHECKING:
    from duebell_editor.intake import Intake
    from duebell_worker.worker import LambdaContext


def handler(event: object, context: "LambdaContext") -> dict[str, Any]:
    """Take a batch of messages, or run what is due, as the event says."""
    records = _messages(event)
    if not records:
        return run(event, context)
    from duebell_worker.log import invocation  # noqa: PLC0415 (a run needs none of it)
    from duebell_worker.run.context import end_of_run  # noqa: PLC0415 (a run imports it when it needs it)

    with invocation(getattr(context, "aws_request_id", None)):
        intake, own = _intake(), os.environ.get("DUEBELL_INTAKE")
        arns = {str(one.get("eventSourceARN")) for one in records}
        if not own or len(arns) > 1 or not arns.pop().endswith(f":{own}"):
            raise PermissionError("these records are not of this scheduler's intake queue: nothing was done")
        left = timedelta(milliseconds=context.get_remaining_time_in_millis())
        until, _ = end_of_run(intake.clock(), left)
        return intake.take(records, until=until)


def _messages(event: object) -> list[Any]:
    """The messages of SQS in the event that Lambda invokes with; none in any other event.

    https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list):
        return []
    return [one for one in records if isinstance(one, dict) and one.get("eventSource") == "aws:sqs"]


@cache
def _intake() -> "Intake":
    from duebell_editor.intake import Intake  # noqa: PLC0415 (a run that adds nothing needs none)
    from duebell_editor.library.editor import Editor  # noqa: PLC0415
    from duebell_shared.errors import InvalidSettings  # noqa: PLC0415
    from duebell_worker.entry import connected_backend, given_environment  # noqa: PLC0415

    logging.getLogger("duebell.intake").setLevel(logging.INFO)
    with suppress(InvalidSettings):  # in the actions' environment: a run reports it
        os.environ.update(given_environment())
    backend = connected_backend()
    if backend.client is None:
        raise TypeError("a backend that was connected makes clients")
    editor = Editor(backend=backend, changed_by="intake")
    return Intake(editor, backend.client, settings=backend.settings, clock=backend.clock)
