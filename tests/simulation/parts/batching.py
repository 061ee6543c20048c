"""Batches in a history: made by one call, or filled over time and closed, by processes that die."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from duebell import DuebellError, Editor, Status, Task, Then
from duebell_shared.tasks.fields import NewTask
from tests.simulation.world import Process

from .part import Part, Start

_ENDS = ("done", "failed", "cancelled", "expired")

#: Seconds in which batches are begun, and the actions of their tasks.
_BUSY, _ACTIONS = 1200, ("quick", "flaky", "bad", "slow")


class Batching(Part):
    """Makes some batches, and tells what went wrong with them."""

    salt = 15

    def start(self) -> None:
        self._closed: set[str] = set()
        self._wrong: list[str] = []
        for number in range(self._random.randint(1, 2)):
            dues = [
                self._random.choice([0, 0, 60, 300, 301, 1800]) for _ in range(self._random.randint(0, 6))
            ]
            tasks = [
                NewTask(
                    action=self._random.choice(_ACTIONS),
                    due=timedelta(seconds=due),
                    id=f"batch-{number}.{place}",
                )
                for place, due in enumerate(dues)
            ]
            make = self._random.choice([self._make_whole, self._fill, self._gather])
            id = f"batch-{number}"
            live = partial(self._live, id, partial(self._insist, make, id, tasks))
            self._world.after(self._random.uniform(0, _BUSY), live)

    def _insist(self, make: Callable[..., None], id: str, tasks: list[NewTask], process: Process) -> None:
        editor = self._editor(process)
        for pause in (0.0, 1.0, 5.0, *[60.0] * 200):
            try:
                make(editor, process, id, tasks)
            except DuebellError as error:
                # Such as a task that an earlier call has reserved, or a batch that others keep changing
                last = error
                process.sleep(pause)
            else:
                self._closed.add(id)
                self._count["closed batches"] += 1
                return
        self._wrong.append(f"{id} could not be made: {last!r}")

    def _make_whole(self, editor: Editor, _: Process, id: str, tasks: list[NewTask]) -> None:
        editor.batch(id, tasks, then=Then("quick", {"of": id}), on_failed="flaky")

    def _gather(self, editor: Editor, process: Process, id: str, tasks: list[NewTask]) -> None:
        for task in tasks:
            editor.add_one(task, if_exists="keep")
            process.sleep(self._random.choice([0, 0, 100]))
        ids = [str(task["id"]) for task in tasks]
        editor.batch(id, wait_for=ids, then=Then("quick", {"of": id}), on_failed="flaky")

    def _fill(self, editor: Editor, process: Process, id: str, tasks: list[NewTask]) -> None:
        if not editor.batch(id, then=Then("quick", {"of": id}), on_failed="flaky").is_blocked:
            return
        for place, task in enumerate(tasks):
            editor.add_one({**task, "batch": id}, if_exists="keep")
            process.sleep(self._random.choice([0, 0, 100]))
            there = editor.get(f"{id}.0")
            if place == self._random.randrange(6) and not there.status.is_finished:
                editor.cancel(there.id, rev=there.rev)  # one that has failed would go on to count as that
        editor.close_batch(id)

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        yield from self._wrong
        first: dict[str, datetime] = {}
        last: dict[str, datetime] = {}
        for start in starts:
            first.setdefault(start.id, start.at)
            last[start.id] = start.at
        there = {task.id: task for task in tasks}
        for id in sorted(self._closed):
            members = [task for task in tasks if task.batch == id]
            yield from _wrong_batch(id, there.get(id), members, is_started=id in first)
            for task in members:
                if not task.status.is_finished or task.owes or not task.counted:
                    yield f"{task.id} is {task.status}, counted {task.counted}, owes {task.owes}"
                if id in first and last.get(task.id, first[id]) > first[id]:
                    yield f"{task.id} was started after its batch went on, at {first[id]}"


def _wrong_batch(id: str, batch: Task | None, members: Sequence[Task], *, is_started: bool) -> Iterator[str]:
    if batch is None or not batch.status.is_finished or not batch.members:
        yield f"batch {id} did not come to its end: {batch}"
        return
    if not is_started and batch.status is not Status.FAILED:
        yield f"batch {id} is {batch.status}, and what comes after it never did"
    told = {"id": id, **{end: sum(task.status == end for task in members) for end in _ENDS}}
    if batch.members.left or batch.members.told(id) != told:
        yield f"batch {id} has counted {batch.members}, and it is {told}"
    if "snoozed" not in batch.payload and batch.payload != {"of": id, "batch": told}:
        yield f"batch {id} was told {batch.payload}, and it is {told}"
    if batch.action != ("flaky" if told["failed"] else "quick"):
        yield f"batch {id} went on with {batch.action} after {told}"
