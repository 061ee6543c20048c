"""The tasks that a verify stores: recognisable, never a user's, and gone afterwards.

Tasks that no run is to see are in a lane of their own, which no queue has: no run, listing, export or count
reads it. All of them expire. The others, which a run starts, are ordinary tasks of the built-in action; each
has an entry of the same id in that lane, written before it, so that it is found again without a search of the
queue. So the next verify finds and removes what is left of one that was broken off.
"""

import uuid
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from botocore.exceptions import ClientError
from msgspec.structs import replace

from duebell_infra.aws import code_of
from duebell_shared.backend import Backend
from duebell_shared.errors import NotDeployed
from duebell_shared.keeping import Keeping
from duebell_shared.queue.lanes import lane_of
from duebell_shared.queue.past_index import Past
from duebell_shared.quoting import quoted
from duebell_shared.tasks.reserved import VERIFY
from duebell_shared.tasks.task import QueueKey, Task, queue_key

from .check import Found, Wrong, check, expect

if TYPE_CHECKING:
    from .scene import Scene

__all__ = ["LANE", "PREFIX", "OwnTasks", "key_of", "left_overs", "nothing_left"]

#: The beginning of their ids.
PREFIX = "duebell-verify-"

#: A lane that no queue has: theirs are numbers from 0.
LANE = -1

#: When DynamoDB may delete the items in that lane, should nobody else have done it.
_KEPT = timedelta(days=1)

#: No verify takes so long: an older task was left by one that was broken off.
_LONGEST = timedelta(minutes=30)


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of a task in LANE: the lane of the queue that its namesake is in, if it has one."""

    lane: int | None = None


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
        now = self.now
        id = f"{self.run}-{name}"
        self._keys.add((LANE, id))
        made = Task(
            id=id,
            lane=LANE,
            action=VERIFY,
            due=now + _KEPT,
            queued=now + _KEPT,
            created_at=now,
            expires_at=now + _KEPT,
            payload_json=msgspec.json.encode(_Entry()).decode(),
        )
        return replace(made, **fields)

    def stored(self, name: str, count: int = 1, **fields: Any) -> list[Task]:
        """Store `count` tasks in LANE, each queued a second after the one before."""
        first = self.make(f"{name}-0", **fields)
        tasks = [first]
        for number in range(1, count):
            later = first.queued and first.queued + number * timedelta(seconds=1)
            tasks.append(self.make(f"{name}-{number}", **{**fields, "queued": later}))
        for task in tasks:
            self._insert(task)
        return tasks

    def enter(self, name: str, *, lanes: int) -> str:
        """Store the entry of an ordinary task of this name in a queue of `lanes`; the task's id."""
        entry = self.make(name)
        lane = lane_of(entry.id, lanes)
        self._insert(replace(entry, payload_json=msgspec.json.encode(_Entry(lane=lane)).decode()))
        self._keys.add((lane, entry.id))
        return entry.id

    def remove(self, id: str | None = None) -> bool:
        """Remove the tasks of this verify, all or those of one id.

        False if they are only marked as expired: deleting is not allowed. Raises DuebellError and what
        botocore raises.
        """
        return self._remove_all(key for key in self._keys if id in {None, key[1]})

    def remove_left_overs(self) -> int:
        """Remove what is left of earlier ones that were broken off; the count of those tasks."""
        before = self._backend.clock() - _LONGEST
        old = [task for task in self._in_own_lane().values() if task.created_at < before]
        keys = {(lane, task.id) for task in old for lane in (LANE, _lane_in(task)) if lane is not None}
        self._remove_all(keys)
        return len(keys)

    def left(self) -> list[str]:
        """The ids of this verify's tasks that are still there."""
        now = self._backend.clock()
        there = set()
        for lane, id in self._keys:
            task = self._store.get(lane, id)
            has_expired = task and task.expires_at and task.expires_at <= now
            if task and (lane == LANE or not has_expired):
                there.add(id)
        return sorted(there)

    def _insert(self, task: Task) -> None:
        is_new = self._store.insert(task)
        expect(is_new, f"the id {quoted(task.id)} is new, and DynamoDB says that it is taken")

    def _in_own_lane(self) -> dict[str, Task]:
        """The tasks in LANE, by id: those that wait or run, and those that have ended."""
        keys = list(self._store.queued(LANE))
        with suppress(NotDeployed):  # no past-index; the check of history reports it
            ended = [key for kind in (Past.DONE, Past.CANCELLED) for key in self._store.past(LANE, kind)]
            keys += [QueueKey(queued=key.at or self.now, id=key.id, lane=LANE) for key in ended]
        return self._store.get_many(keys)

    def _remove_all(self, keys: Iterable[tuple[int, str]]) -> bool:
        """Remove each ordinary task before its entry, which must be there if this is broken off."""
        may_delete = True
        for lane, id in sorted(keys, key=lambda key: key[0], reverse=True):
            may_delete = may_delete and self._delete(lane, id)
            if not may_delete and lane != LANE:
                self._let_expire(lane, id)
        return may_delete

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

    def _let_expire(self, lane: int, id: str) -> None:
        """Make it history that has expired: it is out of the queue, and DynamoDB deletes it."""
        task = self._store.get(lane, id)
        if task is None or task.action != VERIFY:
            return
        if task.status.is_finished:
            self._store.save(task, replace(task, expires_at=self.now, rev=task.rev + 1))
        else:
            self._store.save(task, task.cancelled(now=self.now, keep=Keeping(retention=timedelta(0))))


def _lane_in(task: Task) -> int | None:
    try:
        return msgspec.json.decode(task.payload_json, type=_Entry).lane
    except msgspec.MsgspecError:
        return None


def key_of(task: Task) -> QueueKey:
    """The key of a task in the queue's index."""
    return queue_key(task)._replace(queued=task.queued or task.due)


@check()
def left_overs(scene: "Scene") -> Found:
    """Tasks that are left of an earlier verify that was broken off: removed."""
    count = scene.own.remove_left_overs()
    return Found(f"{count} of an earlier verify that was broken off: removed" if count else "none")


@check()
def nothing_left(scene: "Scene") -> Found:
    """All tasks of this verify: removed."""
    if not scene.own.remove():
        return Found("the tasks of this verify are marked as expired, and DynamoDB deletes them within days")
    if left := scene.own.left():
        raise Wrong(f"still there: {', '.join(left)}", "verify again in half an hour: it removes them")
    return Found("every task of this verify is deleted")
