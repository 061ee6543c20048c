"""The scene of the checks: the scheduler, AWS's answers, the verify's own tasks, and how to wait.

A verify's tasks are recognisable, never a user's, and gone afterwards. Those that no run is to see are in a
lane of their own, which no queue has: no run, listing, export or count reads it. All of them expire. The
others, which a run starts, are ordinary tasks of the built-in action, which does nothing.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from msgspec.structs import replace

from duebell_editor.library.editor import Editor
from duebell_infra.aws import code_of
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.records import SEMAPHORE
from duebell_shared.queue.store import Store
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import VERIFY
from duebell_shared.tasks.task import QueueKey, Task, queue_key

from .checks import Answers, expect

_CLIENT = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})

#: The beginning of the ids of a verify's tasks.
PREFIX = "duebell-verify-"

#: A lane that no queue has: theirs are numbers from 0.
LANE = -1

#: When DynamoDB may delete the items in that lane, should nobody else have done it.
_KEPT = timedelta(days=1)


class OwnTasks:
    """The tasks of one verify."""

    def __init__(self, backend: Backend, client: Any) -> None:
        """`client` is DynamoDB's; it deletes whatever state a task is in, which a store does not."""
        self.run = f"{PREFIX}{uuid.uuid4().hex[:12]}"
        self._backend = backend
        self._store = backend.store
        self._client = client
        self._keys: set[tuple[int, str]] = set()

    @property
    def now(self) -> datetime:
        """The time in whole seconds, for DynamoDB's time to live counts those."""
        return self._backend.clock().replace(microsecond=0)

    def make(self, name: str, **fields: Any) -> Task:
        """A task in LANE that is not stored yet; it is removed in the end, in case somebody stores it."""
        now, id = self.now, f"{self.run}-{name}"
        later = now + _KEPT
        self._keys.add((LANE, id))
        made = Task(
            id=id, lane=LANE, action=VERIFY, due=later, queued=later, created_at=now, expires_at=later
        )
        return replace(made, **fields)

    def stored(self, name: str, count: int = 1, **fields: Any) -> list[Task]:
        """Store `count` tasks in LANE, each queued a second after the one before."""
        tasks = [self.make(f"{name}-{number}", **fields) for number in range(count)]
        tasks = [
            replace(task, queued=task.queued and task.queued + timedelta(seconds=number))
            for number, task in enumerate(tasks)
        ]
        for task in tasks:
            self._insert(task)
        return tasks

    def ordinary(self, name: str) -> str:
        """The id of an ordinary task, which is not stored yet; it is removed in the end."""
        id = f"{self.run}-{name}"
        self._keys.add((lane_of(id, len(self._backend.armer.read().lanes)), id))
        return id

    def remove(self, id: str | None = None) -> bool:
        """Delete the tasks of this verify, all or those of one id; False if deleting is not allowed."""
        return all(self._delete(*key) for key in self._keys if id in {None, key[1]})

    def left(self) -> list[str]:
        """The ids of this verify's tasks that are still there."""
        return sorted({id for lane, id in self._keys if self._store.get(lane, id)})

    def delete_semaphore(self) -> None:
        """Delete the semaphore of the built-in action, which no worker keeps one of."""
        key = {"lane": {"S": SEMAPHORE}, "id": {"S": VERIFY}}
        self._client.delete_item(TableName=self._backend.settings.table, Key=key)

    def _insert(self, task: Task) -> None:
        is_new = self._store.insert(task)
        expect(is_new, f"the id {quoted(task.id)} is new, and DynamoDB says that it is taken")

    def _delete(self, lane: int, id: str) -> bool:
        """Delete the task if it is one of a verify's; False if deleting is not allowed."""
        try:
            self._client.delete_item(
                TableName=self._backend.settings.table,
                Key={"lane": {"S": str(lane)}, "id": {"S": id}},
                ConditionExpression="#action = :verify",
                ExpressionAttributeNames={"#action": "action"},
                ExpressionAttributeValues={":verify": {"S": VERIFY}},
            )
        except ClientError as error:
            if "AccessDenied" in code_of(error):
                return False
            if code_of(error) != "ConditionalCheckFailedException":  # it is not there, or none of ours
                raise
        return True


@dataclass(kw_only=True)
class Scene:
    """One verify.

    function           the worker's name: as set, or else that of the bell's target
    is_set             whether it is set, so that editors call it
    conditions_hold    whether a write under a condition that did not hold was seen to change nothing
    progress           is told what the verify waits for
    """

    session: boto3.Session
    backend: Backend
    editor: Editor
    answers: Answers
    own: OwnTasks
    progress: Callable[[str], None]
    function: str | None = None
    is_set: bool = True
    conditions_hold: bool = False

    @property
    def store(self) -> Store:
        """The queue."""
        return self.backend.store

    def now(self) -> datetime:
        """The time, by the backend's clock."""
        return self.backend.clock()

    def client(self, service: str) -> Any:
        """A client of this service, which gives up in good time."""
        return self.session.client(service, config=_CLIENT)  # type: ignore[call-overload]

    def wait(self, is_so: Callable[[], bool], *, until: datetime, every: float = 1.0) -> bool:
        """Wait until it is so; False if it is not by then. AWS is asked at least once."""
        while not is_so():
            if self.now() >= until:
                return False
            self.backend.sleep(every)
        return True

    def target(self) -> dict[str, Any] | None:
        """The bell's target that is the worker: the Lambda of the name that is set, else the first Lambda.

        Raises NotDeployed, AwsError.
        """
        if self.backend.rule.kind is BellKind.SCHEDULE:
            self.backend.rule.read()
            targets = [self.answers.of("GetSchedule")[-1].parsed["Target"]]
        else:
            self.backend.rule.count_targets()
            targets = self.answers.of("ListTargetsByRule")[-1].parsed["Targets"]
        functions = [one for one in targets if ":lambda:" in one.get("Arn", "")]
        named = [one for one in functions if function_in(one) == self.function]
        return next(iter(named or functions), None)


def function_in(target: dict[str, Any]) -> str:
    """The function's name in a target, with its alias or version if it has one: `duebell:live`."""
    return str(target["Arn"]).partition(":function:")[2]


def key_of(task: Task) -> QueueKey:
    """The key of a task in the queue's index."""
    return queue_key(task)._replace(queued=task.queued or task.due)
