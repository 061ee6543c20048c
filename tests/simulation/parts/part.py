"""A part of a history, and what a history notes of its users and actions."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from duebell import Editor, Task
from tests.simulation.world import Process

if TYPE_CHECKING:
    from tests.simulation.history import History

#: The number of attempts of each action.
LIMITS = {
    "quick": 3,
    "once": 1,
    "slow": 3,
    "flaky": 4,
    "bad": 2,
    "killer": 5,
    "hangs": 2,
    "chains": 5,
    "asks": 3,
}

#: The function of an action.
Act = Callable[[Any, Task], None]


class Known(msgspec.Struct):
    """A task as its user knows it: the request, the answer, and their times."""

    due: datetime
    action: str
    asked_at: datetime
    acknowledged_at: datetime | None = None
    cancelled_at: datetime | None = None
    pending: tuple[str, datetime] | None = None  # a change without an answer, and the due date it asks for
    may_be_out: bool = False  # paused or cancelled, perhaps without an answer


class Start(msgspec.Struct, frozen=True):
    """One start of an action."""

    id: str
    action: str
    at: datetime
    clock: datetime
    due: datetime
    attempt: int
    claimed_at: datetime


class Part:
    """Something that may be in a history. Histories without it stay as they were: its chances are its own.

    salt    what its chances differ by from those of other parts of the same seed
    chance  how likely it is in a history in which things go wrong, where nobody chooses
    """

    salt = 0
    chance = 0.0

    def __init__(self, played: "History", **options: Any) -> None:
        vars(self).update(options)
        self._played = played
        self._world = played.world
        self._random = Random(played.seed + self.salt)
        self._count = played.happened

    def start(self) -> None:
        """Begin, with the history."""

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterable[str]:
        """Says what went wrong with the part."""
        return ()

    def declared(self, name: str) -> dict[str, Any]:
        """Options of this action."""
        return {}

    def around(self, name: str, process: Process, act: Act) -> Act:
        """The function of this action in this process."""
        return act

    def _live(
        self,
        name: str,
        main: Callable[[Process], None],
        *,
        rest: tuple[float, float] = (1, 30),
        lives: float = math.inf,
        skewed: bool = False,
        life: int = 0,
    ) -> None:
        """Have a process do this; where it dies, another does it again after a rest of some seconds."""
        process = Process(
            self._world, f"{name}.{life}", skew=self._played.skew(self._random) if skewed else 0
        )

        def again() -> None:
            self._died()
            if life + 1 < lives:
                following = partial(
                    self._live, name, main, rest=rest, lives=lives, skewed=skewed, life=life + 1
                )
                self._world.after(self._random.uniform(*rest), following)

        process.start(partial(main, process), on_death=again)

    def _died(self) -> None:
        """A process of this part has died."""

    def _editor(self, process: Process) -> Editor:
        return Editor(backend=self._played.backend(process))
