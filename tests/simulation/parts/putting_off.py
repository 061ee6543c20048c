"""Tasks that are put off in a history: by their actions, with Snooze, and by users, with pushes."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zlib import crc32

from duebell import Editor, Snooze, Status, Task
from tests.simulation.world import Process

from .part import Known, Part, Start

#: Actions that snooze before they do what they are for. The others end or hold up their process.
_SNOOZING = frozenset({"quick", "once", "slow", "flaky", "bad", "asks", "chains"})

#: Seconds for which an action snoozes, and seconds after the first add by which a pushed task is due.
_PAUSES, _LIMITS = (0.0, 5.0, 60.0, 400.0), (None, 30.0, 300.0, 1800.0)


class PuttingOff(Part):
    """Puts off some tasks of a history, and notes what went wrong with that."""

    salt, chance = 7, 0.2

    def start(self) -> None:
        self._wrong: list[str] = []
        self._answers: dict[str, Task] = {}
        self._snoozed: Counter[str] = Counter()

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> list[str]:
        return self._wrong

    def may_snooze(self, name: str, payload: Any, task: Task) -> None:
        """Raise Snooze if this action, which was just started, puts its task off."""
        snoozed = payload.get("snoozed", 0) if isinstance(payload, dict) else 0
        if snoozed > self._snoozed[task.id]:
            self._wrong.append(f"{task.id} was snoozed {self._snoozed[task.id]} times at most: {payload}")
        if name in _SNOOZING and snoozed < _chance(task.id) % 4:
            self._count["snoozed"] += 1
            self._snoozed[task.id] = max(self._snoozed[task.id], snoozed + 1)
            raise Snooze(self._random.choice(_PAUSES), payload={"snoozed": snoozed + 1})

    def instead_of(self, what: str) -> str:
        """The call that a user makes instead of this one: half of the moves and adds are pushes."""
        return "push" if what in {"add", "move"} and self._random.random() < 0.5 else what

    def push(
        self,
        editor: Editor,
        process: Process,
        known: Known,
        id: str,
        insist: Callable[[Callable[[], object]], bool],
        *,
        options: Mapping[str, Any],
    ) -> None:
        """Push a task up to three times, to the due date that is asked for and a bit later each time.

        `insist` makes a call again until it is answered; `options` is what `Editor.add` is given beside.
        """
        assert known.pending
        _, due = known.pending
        for number in range(self._random.randint(1, 3)):
            if number:
                process.sleep(self._random.uniform(0, 40))
            later = due + timedelta(seconds=20 * number)
            known.pending = "push", later
            known.cancelled_at = None  # from now on it may be added anew
            asked_at, answers = self._world.now, list[Task]()
            add = partial(editor.add, known.action, id=id, if_exists="push", max_wait=_limit(id), **options)

            def push(due: datetime, answers: list[Task], add: Callable[..., Task]) -> None:
                answers.append(add(due=due))

            if not insist(partial(push, later, answers, add)):
                # It kept changing, and a try that was not answered may have pushed it, or nothing has.
                known.may_be_out = True
                return
            self._note(known, answers[-1], asked_at, process.clock())

    def _note(self, known: Known, task: Task, asked_at: datetime, now: datetime) -> None:
        self._count["pushed"] += 1
        known.due, known.asked_at, known.acknowledged_at = task.due, asked_at, self._world.now
        known.may_be_out = task.status is Status.PAUSED
        before, self._answers[task.id] = self._answers.get(task.id), task
        if before and task.rev == before.rev + 1:
            self._count["pushed again"] += 1
            if task.created_at != before.created_at:
                self._wrong.append(f"a push of {task.id} did not keep its first add, {before.created_at}")
        max_wait = _limit(task.id)
        if max_wait and task.due > max(task.created_at + max_wait, now):
            self._wrong.append(f"{task.id}, added at {task.created_at}, was pushed to {task.due}")


def _limit(id: str) -> timedelta | None:
    seconds = _LIMITS[_chance(id) // 4 % len(_LIMITS)]
    return None if seconds is None else timedelta(seconds=seconds)


def _chance(id: str) -> int:
    return crc32(f"put off {id}".encode())
