"""duebell's worker on the embedded stack: one action, which is the same as the other designs'."""

from typing import Any

import boto3

from duebell import Worker

from .journal import act as note

worker = Worker.from_env()


@worker.action("act")
def act(payload: dict[str, Any]) -> None:
    """Act for the task that the payload names."""
    note(boto3.client("dynamodb"), payload["id"], payload["payload"])
