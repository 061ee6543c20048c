"""Destroys a stack; the queue stays unless it is to be deleted, too."""

from collections.abc import Callable
from enum import StrEnum

import boto3

from duebell_infra.aws import aws_calls

from .artifacts import Artifacts
from .queue_table import QueueTable
from .stack import Stack


class Queue(StrEnum):
    """The fate of the queue's table, and of all tasks in it, when its stack is destroyed."""

    KEEP = "keep"
    DELETE = "delete"


def destroy(
    session: boto3.Session,
    name: str,
    *,
    queue: Queue,
    say: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Delete the stack of this name, and the queue if told to. Raises DeployFailed.

    A queue that is kept is taken up again by the next deployment of the same name.
    """
    with aws_calls("AWS cannot be used"):
        account = session.client("sts").get_caller_identity()["Account"]
        stack = Stack(session.client("cloudformation"), name, progress=progress)
    parameters = stack.parameters()
    say(f"stack {name}: {'deleted' if stack.delete() else 'there is none'}")
    Artifacts(session, account=account).retire(parameters)
    table = QueueTable(session, name)
    if queue is Queue.DELETE:
        say(f"table {name}: {'deleted' if table.delete() else 'there is none'}")
    elif table.exists():
        say(
            f"table {name}: kept, with every task in it; the next deployment takes it up again, and "
            f"`duebell destroy --name {name} --delete-table` deletes it"
        )
