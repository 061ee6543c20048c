"""Services that add tasks in transactions with items of their own: committed, refused, given up, late."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from duebell import AwsUnavailable, DuebellError, Editor, NotArmed, Task, TaskExists, TransactionCancelled
from duebell_shared.queue.changes import UserWrite
from duebell_shared.tasks.status import Status
from tests.simulation.processes import NO_VERSION
from tests.simulation.world import Process

from .part import Act, Known, Part, Start

#: Seconds in which transactions are begun, and how often a service that died goes on with what it does.
_BUSY, _LIVES = 1200, 5

_TABLE = "orders"


class Transacting(Part):
    """Makes some transactions, each of which puts an item and adds a task, both of one id.

    known  the tasks of those that were acknowledged as committed
    """

    salt, chance = 5, 0.2

    def start(self) -> None:
        self.known: dict[str, Known] = {}
        self._refused: set[str] = set()
        self._wrong: list[str] = []
        self._asked_at: dict[str, datetime] = {}
        for number in range(self._random.randint(1, 4)):
            kind = self._random.choice(["block", "block", "refused", "own", "own", "late", "given up"])
            due = self._world.now + timedelta(seconds=self._random.choice([0, 60, 300, 1200, 3600, 10_800]))
            id = f"tx-{number}"
            insist = partial(self._insist, id, kind, due)
            live = partial(self._live, id, insist, rest=(1, 200), lives=_LIVES, skewed=True)
            self._world.after(self._random.uniform(0, _BUSY), live)

    def around(self, name: str, process: Process, act: Act) -> Act:
        def watched(payload: object, task: Task) -> None:
            if task.id in self._asked_at and task.id not in self._played.others:
                self._wrong.append(f"{task.id} was run, and its transaction is not committed")
            act(payload, task)

        return watched

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        there = {task.id: task for task in tasks if task.id in self._asked_at}
        items = self._played.others & self._asked_at.keys()
        waiting = {id for id, task in there.items() if task.status is not Status.RESERVED}
        self._count["committed"] += len(items)
        yield from self._wrong
        yield from (f"{id} is committed, and its task is not there" for id in sorted(items - waiting))
        yield from (f"{id} is there, and its transaction is not committed" for id in sorted(waiting - items))
        yield from (f"{id} was refused, and is committed" for id in sorted(items & self._refused))

    def _insist(self, id: str, kind: str, due: datetime, process: Process) -> None:
        asked_at = self._asked_at.setdefault(id, self._world.now)
        editor = self._editor(process)
        for pause in (0.0, 1.0, 5.0, *[30.0] * 100):
            try:
                is_committed = self._transact(editor, process, id, kind, due)
            except (AwsUnavailable, NotArmed):
                process.sleep(pause)
                if id not in self._played.others:
                    continue
                is_committed = True
            except TaskExists:  # by a call of this very transaction that was not answered
                is_committed = True
            except TransactionCancelled:
                is_committed = False
                if kind != "refused":  # its reservation ended, for the process stood still
                    process.sleep(pause)
                    continue
            except DuebellError as error:
                self._wrong.append(f"{id}: {type(error).__name__}: {error}")
                return
            if is_committed:
                self.known[id] = Known(
                    due=due, action="quick", asked_at=asked_at, acknowledged_at=self._world.now
                )
            elif kind == "refused":
                self._refused.add(id)
            return

    def _transact(self, editor: Editor, process: Process, id: str, kind: str, due: datetime) -> bool:
        if kind in {"block", "refused"}:
            put: dict[str, Any] = {"TableName": _TABLE, "Item": {"id": {"S": id}}}
            if kind == "refused":
                put["ConditionExpression"] = "#version = :never"
                put["ExpressionAttributeNames"] = {"#version": "version"}
                put["ExpressionAttributeValues"] = {":never": NO_VERSION}
            with editor.transaction() as tx:
                tx.write({"Put": put})
                tx.add("quick", due=due, id=id)
            return True
        reservation = editor.reserve("quick", due=due, id=id)
        if kind == "given up":
            return False
        pause = self._random.uniform(0, 20) if kind == "own" else self._random.uniform(100, 400)
        process.sleep(pause)
        token = UUID(int=self._random.getrandbits(128)).hex
        own: UserWrite = {"Put": {"TableName": _TABLE, "Item": {"id": {"S": id}}}}
        refusals = editor.queue.store.transact([own, reservation.write], token=token).refusals
        if refusals and kind != "late":
            raise TransactionCancelled(refusals)
        return not refusals
