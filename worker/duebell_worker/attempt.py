"""One attempt at a task within a run, and how it ended."""

from concurrent.futures import Future
from typing import NamedTuple

from duebell_shared.task import QueueKey, Status, Task

from .report import Outcome

__all__ = ["Attempt", "Ending"]


class Attempt:
    """One task in the pool, and how far it has come.

    claimed  the task as it was claimed, or recorded as begun
    begun    the task with its last attempt recorded as begun, if it is the last
    unsure   the task as it was before that, if nobody can tell whether it was recorded
    started  the task as it is run
    ending   how the attempt ended
    outcome  the same, once that is stored, or the task was changed meanwhile
    over     done when nothing more will come of it
    """

    def __init__(self, key: QueueKey, status: Status) -> None:
        self.key = key
        self.status = status
        self.claimed: Task | None = None
        self.begun: Task | None = None
        self.unsure: Task | None = None
        self.started: Task | None = None
        self.ending: Ending | None = None
        self.outcome: Outcome | None = None
        self.over: Future[None] = Future()


class Ending(NamedTuple):
    """How an attempt ended: what is stored was `claimed` and becomes `kept`, which is `ended` or nothing."""

    attempt: Attempt
    claimed: Task
    started: Task
    ended: Task
    kept: Task | None
    outcome: Outcome

    @property
    def change(self) -> tuple[Task, Task | None]:
        """What is to be written."""
        return self.claimed, self.kept
