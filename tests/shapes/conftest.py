"""Items that others write into the table: by hand in the console, with a script, or a newer version."""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell import Editor, RunReport, Task, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.records import ARMING
from tests.support import REGION, Calls, Clock

#: No run of these tests has reason to make more calls to AWS than this, whatever it finds.
MOST_CALLS = 200

SOON = timedelta(minutes=10)

_LANES = 4
_KEY = {"lane": {"S": ARMING}, "id": {"S": ARMING}}


def text(value: str) -> dict[str, str]:
    return {"S": value}


def number(value: object) -> dict[str, str]:
    return {"N": str(value)}


def packed(record: object) -> dict[str, bytes]:
    """This JSON as a record has it."""
    return {"B": zlib.compress(json.dumps(record).encode())}


#: A task as it stands in the table, due ten minutes after noon.
ITEM: Mapping[str, Any] = {
    "action": text("note"),
    "due": text("2026-11-21T12:10:00.000Z"),
    "payload": text("{}"),
    "status": text("scheduled"),
    "queued": text("2026-11-21T12:10:00.000Z"),
    "attempt": number(0),
    "rev": number(1),
    "created_at": text("2026-11-21T12:00:00.000Z"),
}


def but(**changed: Any) -> dict[str, Any]:
    """The usual item, but for this."""
    return {**ITEM, **changed}


class Table:
    """The queue's table, written to and looked into behind duebell's back."""

    def __init__(self) -> None:
        self._client: Any = boto3.client("dynamodb", region_name=REGION)

    def put(self, id: str, item: Mapping[str, Any], *, lane: int | None = None) -> None:
        """An item as it is given, in the lane of its id unless told."""
        lane = lane_of(id, _LANES) if lane is None else lane
        self._client.put_item(TableName="duebell", Item={**item, "lane": text(str(lane)), "id": text(id)})

    def item(self, id: str) -> dict[str, Any]:
        """The item of this id as it is stored."""
        key = {"lane": text(str(lane_of(id, _LANES))), "id": text(id)}
        item: dict[str, Any] = self._client.get_item(TableName="duebell", Key=key)["Item"]
        return item

    def change_arming(self, change: Callable[[dict[str, Any]], None]) -> None:
        item = self._client.get_item(TableName="duebell", Key=_KEY)["Item"]
        change(item)
        self._client.put_item(TableName="duebell", Item=item)

    def change_record(self, change: Callable[[dict[str, Any]], None]) -> None:
        def change_json(item: dict[str, Any]) -> None:
            record = json.loads(zlib.decompress(item["record"]["B"]))
            change(record)
            item["record"] = packed(record)

        self.change_arming(change_json)

    def delete_arming(self) -> None:
        self._client.delete_item(TableName="duebell", Key=_KEY)


class Endless(BaseException):
    """More calls than any run has reason to make: it would go on for ever."""


class BoundedCalls(Calls):
    """Calls that fail once there are too many since they were last cleared."""

    def _count(self, model: Any, **more: Any) -> None:
        super()._count(model, **more)
        if self.total() > MOST_CALLS:
            raise Endless(dict(self))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The table behind duebell's back, an editor and a worker that notes what ran; no run is endless."""

    table: Table
    backend: Backend
    editor: Editor
    worker: Worker
    clock: Clock
    calls: Calls
    ran: list[str]

    @property
    def newcomer(self) -> Editor:
        """An editor of a process that was started just now, and knows nothing yet."""
        return Editor(backend=self.backend)

    def run(self) -> RunReport:
        """One run, of a bounded number of calls."""
        self.calls.clear()
        report = self.worker.run(time_left=timedelta(minutes=5))
        self.calls.clear()
        return report


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
