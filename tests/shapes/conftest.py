"""The fixture for what comes from outside."""

import boto3
import pytest

from duebell import Editor, Task, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from tests.support import Calls, Clock

from .foreign import BoundedCalls, Scene, Table


@pytest.fixture
def calls(session: boto3.Session) -> BoundedCalls:
    """The AWS calls made through `session`, and no endless number of them."""
    calls = BoundedCalls()
    calls.watch(session)
    return calls


@pytest.fixture
def scene(backend: Backend, editor: Editor, clock: Clock, calls: Calls) -> Scene:
    """A scheduler on moto, its clock at noon, and the table for others to write to."""
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    ran: list[str] = []

    @worker.action("note", attempts=2)
    def note(payload: object, task: Task) -> None:
        ran.append(task.id)

    return Scene(
        table=Table(), backend=backend, editor=editor, worker=worker, clock=clock, calls=calls, ran=ran
    )
