"""Follow-ups in a history: tasks that users add with `then` and `on_failed`, once and recurring."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from zlib import crc32

from duebell import Status, Task, Then
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.instants import render
from duebell_shared.tasks.follow_up import Cause
from duebell_shared.tasks.history import Result
from tests.simulation.world import Process

from .part import Known, Part, Start
from .putting_off import PuttingOff

#: Actions of follow-ups, those of recurring tasks, and seconds between a task and what follows it.
_FOLLOWING, _RECURRING = ("quick", "flaky", "bad"), ("quick", "flaky", "bad", "once", "killer", "asks")
_AFTER = (0, 0, 45, 600)

#: Seconds in which recurring tasks are added, and how often each runs.
_BUSY, _RUNS = 1200, 4

_CAUSES = {
    Status.DONE: Cause.DONE,
    Status.FAILED: Cause.FAILED,
    Result.DONE: Cause.DONE,
    Result.FAILED: Cause.FAILED,
}


class Following(Part):
    """Gives half of a history's tasks follow-ups, adds recurring ones, and tells what went wrong."""

    salt, chance = 9, 0.2

    def options(self, id: str) -> dict[str, Any]:
        chance = crc32(f"follow {id}".encode())
        after = timedelta(seconds=_AFTER[chance // 64 % len(_AFTER)])
        then = Then(_FOLLOWING[chance // 4 % len(_FOLLOWING)], {"of": id}, after)
        on_failed = _FOLLOWING[chance // 1024 % len(_FOLLOWING)]
        return {
            **({"then": then} if chance & 1 else {}),
            **({"on_failed": on_failed} if chance & 2 else {}),
        }

    def start(self) -> None:
        actions = [action for action in _RECURRING if action in self._played.actions]
        for number in range(self._random.randint(0, 3) if actions else 0):
            action, minutes = self._random.choice(actions), self._random.choice([1, 2, 10])
            given = {
                "action": action,
                "schedule": f"rate({minutes} minute{'s' if minutes > 1 else ''})",
                "max_runs": self._random.randint(1, _RUNS),
                # One that kills its process is too late each time the next run finds it: skipped without end
                "missed": self._random.choice(["once", "all", *(["skip"] if action != "killer" else [])]),
                "id": f"recurring-{number}",
            }
            live = partial(self._live, f"recurring-{number}", partial(self._add, given))
            self._world.after(self._random.uniform(0, _BUSY), live)

    def _add(self, given: Mapping[str, Any], process: Process) -> None:
        add = partial(self._editor(process).add, **given, **self.options(given["id"]), if_exists="keep")
        self._played.insist(process, add)

    def known_of(self, tasks: Sequence[Task]) -> dict[str, Known]:
        """The follow-ups as a user would know them: whoever added them has them acknowledged."""
        return {
            task.id: Known(
                due=task.due,
                action=task.action,
                asked_at=task.created_at - timedelta(minutes=1),  # by the clock of the run
                acknowledged_at=task.created_at,
            )
            for task in tasks
            if _parent(task.id) is not None
        }

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        there: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            if (parent := _parent(task.id)) is not None:
                there[parent].append(task)
        stored = {task.id for task in tasks}
        yield from (f"the task of {parent}/... is gone" for parent in there if parent not in stored)
        for task in tasks:
            if task.owes or task.follow_up_error:
                yield f"{task.id} still owes a follow-up: {task.follow_up_error}"
            yield from self._unlike(task, there[task.id])
        yield from _early(tasks, starts, skew=self._played.faults.skew)

    def _unlike(self, task: Task, there: Sequence[Task]) -> Iterator[str]:
        """Says which follow-ups of this task are missing, too many, or not as they were asked for."""
        if _parent(task.id) is not None:
            wanted: list[str] = []
        elif task.recurrence:
            ended = [(_CAUSES.get(one.result), f"@{render(one.due)}") for one in task.occurrences]
            is_over = task.status in _CAUSES
            last = len(ended) - 1
            wanted = [
                f"{task.id}/{cause}{'' if is_over and place == last else at}"
                for place, (cause, at) in enumerate(ended)
                if _has(task, cause)
            ]
        else:
            cause = _CAUSES.get(task.status)
            wanted = [f"{task.id}/{cause}"] if _has(task, cause) else []
        self._count["followed"] += len(wanted)
        missing, extra = Counter(wanted), Counter(each.id for each in there)
        if task.status is Status.CANCELLED and not task.recurrence:
            extra.pop(f"{task.id}/{Cause.FAILED}", None)  # one that has failed can be cancelled then
        if missing - extra:
            yield f"{task.id} is {task.status} without {list(missing - extra)}, and with {list(extra)}"
        if extra - missing and (task.recurrence or not self._played.part(PuttingOff)):
            yield f"{task.id} is {task.status}, and there is {list(extra - missing)}"
        for each in there:
            yield from _changed(task, each)


def _has(task: Task, cause: Cause | None) -> bool:
    return bool(task.then) if cause is Cause.DONE else cause is Cause.FAILED and bool(task.on_failed)


def _changed(task: Task, follow_up: Task) -> Iterator[str]:
    is_then = follow_up.id.startswith(f"{task.id}/{Cause.DONE}")
    action = task.then.action if is_then and task.then else task.on_failed
    after = task.then.after if is_then and task.then else timedelta(0)
    if (follow_up.action, follow_up.due) != (action, follow_up.created_at + after):
        yield f"{follow_up.id} is {follow_up.action} at {follow_up.due}, added at {follow_up.created_at}"


def _early(tasks: Sequence[Task], starts: Sequence[Start], *, skew: float) -> Iterator[str]:
    """The follow-ups that were started before their task, or sooner after it than was asked for.

    A process that dies just before an attempt leaves a failure without a start. Then a follow-up cannot be
    compared if its task recurs, or if the first start of its task came after that was added anew.

    A process that is paused there for longer than its lease is taken for dead, too, and starts the attempt
    afterwards: see "not promised" in docs/guarantees.md. Such a start comes a lease after its claim.
    """
    given_up = {task.id for task in tasks if task.failure and task.failure.type == "WorkerDied"}
    recurring = {task.id for task in tasks if task.recurrence}
    created = {task.id: task.created_at for task in tasks}
    first: dict[str, Start] = {}
    for start in starts:
        first.setdefault(start.id, start)
    for task in tasks:
        parent = _parent(task.id)
        if parent is None or task.id not in first or parent not in first:
            continue
        is_left = first[parent].clock - first[parent].claimed_at > LEASE
        excused = recurring | given_up if is_left else recurring
        if parent in excused and task.id.startswith(f"{parent}/{Cause.FAILED}"):
            continue
        if task.created_at < created.get(parent, task.created_at) <= first[parent].clock:
            continue
        if first[task.id].at < first[parent].at + (task.due - task.created_at) - timedelta(seconds=2 * skew):
            yield f"{task.id} was started early, at {first[task.id].at}"


def _parent(id: str) -> str | None:
    """The id of the task that this one follows; None if it follows none."""
    parent, slash, _ = id.rpartition("/")
    return parent if slash else None
