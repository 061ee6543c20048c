"""Services that add tasks in transactions with items of their own: committed, refused, given up, late."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from random import Random
from uuid import UUID

from boto3.dynamodb.conditions import Attr

from duebell import AwsUnavailable, DuebellError, Editor, NotArmed, Task, TaskExists, TransactionCancelled
from duebell_shared.backend import Backend
from duebell_shared.queue.changes import Other
from duebell_shared.tasks.status import Status

from .notes import Known, Start
from .store import NO_VERSION
from .world import Process, World

__all__ = ["Transactor"]

#: Seconds in which transactions are begun.
_BUSY = 1200

#: How often a service that died is started again to go on with what it does.
_LIVES = 4

_TABLE = "orders"


class Transactor:
    """Makes some transactions, each of which puts an item and adds a task, both of one id.

    known  the tasks of those that were acknowledged as committed
    """

    def __init__(
        self,
        seed: int,
        world: World,
        connect: Callable[[Process], Backend],
        skew: Callable[[Random], float],
        items: Callable[[], set[str]],
    ) -> None:
        """Its times are chances of its own. `items` tells the ids of the items that are stored now."""
        self.known: dict[str, Known] = {}
        self._random = Random(seed + 5)
        self._world = world
        self._connect = connect
        self._skew = skew
        self._items = items
        self._refused: set[str] = set()
        self._wrong: list[str] = []
        self._asked_at: dict[str, datetime] = {}

    def start(self) -> None:
        """Have each service come at some time."""
        for number in range(self._random.randint(1, 4)):
            kind = self._random.choice(["block", "block", "refused", "own", "own", "late", "given up"])
            due = self._world.now + timedelta(seconds=self._random.choice([0, 60, 300, 1200, 3600, 10_800]))
            live = partial(self._live, f"tx-{number}", kind, due, 0)
            self._world.after(self._random.uniform(0, _BUSY), live)

    def note_start(self, id: str) -> None:
        """A task is started now: its transaction must have been committed before."""
        if id in self._asked_at and id not in self._items():
            self._wrong.append(f"{id} was run, and its transaction is not committed")

    def problems(self, tasks: Iterable[Task], starts: Iterable[Start]) -> list[str]:
        """What is wrong: a task of every committed transaction is there, and of no other one."""
        there = {task.id: task for task in tasks if task.id in self._asked_at}
        items = self._items() & self._asked_at.keys()
        waiting = {id for id, task in there.items() if task.status is not Status.RESERVED}
        return [
            *self._wrong,
            *(f"{id} is committed, and its task is not there" for id in sorted(items - waiting)),
            *(f"{id} is there, and its transaction is not committed" for id in sorted(waiting - items)),
            *(f"{id} was refused, and is committed" for id in sorted(items & self._refused)),
        ]

    def _live(self, id: str, kind: str, due: datetime, life: int) -> None:
        process = Process(self._world, f"{id}.{life}", skew=self._skew(self._random))

        def again() -> None:
            if life < _LIVES:
                live = partial(self._live, id, kind, due, life + 1)
                self._world.after(self._random.uniform(1, 200), live)

        process.start(lambda: self._insist(process, id, kind, due), on_death=again)

    def _insist(self, process: Process, id: str, kind: str, due: datetime) -> None:
        """Make the transaction again until it is answered, as a careful user would."""
        asked_at = self._asked_at.setdefault(id, self._world.now)
        editor = Editor(backend=self._connect(process))
        for pause in (0.0, 1.0, 5.0, *[30.0] * 100):
            try:
                is_committed = self._transact(editor, process, id, kind, due)
            except (AwsUnavailable, NotArmed):
                process.sleep(pause)
                if id not in self._items():
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
        """Make the transaction once; tell whether it is committed."""
        if kind in {"block", "refused"}:
            condition = Attr("version").eq(NO_VERSION["S"]) if kind == "refused" else None
            with editor.transaction() as tx:
                tx.put(table=_TABLE, item={"id": id}, condition=condition)
                tx.add("quick", due=due, id=id)
            return True
        reservation = editor.reserve("quick", due=due, id=id)
        if kind == "given up":
            return False
        pause = self._random.uniform(0, 20) if kind == "own" else self._random.uniform(100, 400)
        process.sleep(pause)
        token = UUID(int=self._random.getrandbits(128)).hex
        put: Other = {"Put": {"TableName": _TABLE, "Item": {"id": {"S": id}}}}
        write = reservation.write
        refusals = editor.queue.store.transact([put, write], token=token).refusals
        if refusals and kind == "late":
            return False
        if refusals:
            raise TransactionCancelled(refusals)
        return True
