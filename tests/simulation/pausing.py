"""Histories in which someone pauses actions, limits them and lets them go on, until all are as declared."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from random import Random
from typing import Any

from msgspec.structs import replace

from duebell import Editor, Task

from .faults import Faults
from .history import Over
from .limited import Limited
from .notes import LIMITS
from .world import Process

__all__ = ["Pausing", "everything"]

#: Seconds in which actions are limited, for how long each, and when all of them are as declared again.
_BUSY, _FOR, _OVER = 2400, (5, 60, 600, 1800, 3600), 6600

_CHANGES: tuple[dict[str, Any], ...] = (
    {"at_most": 0},
    {"per_second": 0},
    {"at_most": 1},
    {"per_second": 0.01},
)

_DECLARED: dict[str, Any] = {"at_most": None, "per_second": None}


class Pausing(Limited):
    """A history in which actions are limited anew, and none is late from when it goes on as declared.

    parked  how many starts were of tasks that had been parked
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.parked = 0
        self._held: set[str] = set()
        # When an action was limited the last time
        self._limited_at: dict[str, datetime] = {}

    def run(self) -> "Pausing":
        """Play it to the end."""
        chance = Random(self.seed + 11)
        for number in range(chance.randint(1, 4)):
            action, at = chance.choice(self.actions), chance.uniform(0, _BUSY)
            self._limit(f"limits-{number}", at, chance.choice(_CHANGES), action)
            self._limit(f"lets-go-{number}", at + chance.choice(_FOR), _DECLARED, action)
        self._limit("ends", _OVER, _DECLARED, *LIMITS)
        super().run()
        return self

    def _limit(self, name: str, seconds: float, limit: dict[str, Any], *actions: str) -> None:
        """Have a process change the limits of these actions in so many seconds; another one if that dies."""

        def start(life: int) -> None:
            process = Process(self.world, f"{name}.{life}", skew=0)
            process.start(
                partial(change, process),
                on_death=lambda: self.world.after(10, partial(start, life + 1)),
            )

        def change(process: Process) -> None:
            editor = Editor(backend=self._backend(process))
            for action in actions:
                set_limit = partial(editor.limit, action, **limit)
                if limit is not _DECLARED:
                    self._insist(process, set_limit)
                    self._held.add(action)
                    self._limited_at[action] = self.world.now
                else:
                    self._let_go(process, action, set_limit)

        self.world.after(seconds, partial(start, 0))

    def _let_go(self, process: Process, action: str, lift: Callable[[], object]) -> None:
        """Lift the limit; again if another call has limited the action meanwhile, perhaps after the lift."""
        begun = self.world.now
        self._insist(process, lift)
        while self._limited_at.get(action, begun) > begun:
            begun = self.world.now
            self._insist(process, lift)
        if action in self._held:
            self._held.remove(action)
            self.held_until[action] = self.world.now

    def _note_start(self, process: Process, task: Task) -> None:
        if task.limited_since and task.queued and task.queued > process.clock():
            # It was parked until a time ahead, and its action goes on.
            self.parked += 1
            task = replace(task, queued=task.limited_since)
        super()._note_start(process, task)


def everything(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> Pausing:
    """A history with limits, pauses and most else: all of it with all, over many seeds."""
    return Pausing(
        seed,
        faults,
        over=over,
        follows=seed % 5 != 0,
        puts_off=seed % 2 == 0,
        relanes=seed % 3 == 0,
        transactions=seed % 4 == 0,
        times_out=seed % 3 != 1,
    )
