"""A scheduler for tests: in memory, without AWS, and time passes when the test says so."""

from datetime import UTC, datetime, timedelta

from duebell_editor import Editor
from duebell_shared.backend import Backend
from duebell_shared.expression import minute_of
from duebell_shared.rule import Rule
from duebell_shared.settings import Settings
from duebell_worker import RunReport, Worker

from .bell import Bell
from .inline import InlinePool
from .memory import MemoryStore

__all__ = ["Rehearsal"]


class Rehearsal:
    """An editor for the code under test, and a worker that runs what comes due while time passes.

    editor   what the code under test is given; the real one, over a queue in memory
    now      what time it is here, in UTC; tasks that are due so long from now count from it
    reports  what each run did
    """

    def __init__(self, worker: Worker, *, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        """`worker` is yours, with your actions; it is not changed. `now` is aware."""
        self.now = now.astimezone(UTC)
        self.reports: list[RunReport] = []
        self._bell = Bell()
        rule = Rule("duebell", self._bell.client, clock=self._clock, sleep=self._sleep)
        backend = Backend(Settings(), MemoryStore(), rule, clock=self._clock, sleep=self._sleep)
        self.editor = Editor(backend=backend)
        self._worker = worker.over(backend, pool=lambda _: InlinePool())

    def let_time_pass(self, by: timedelta) -> list[RunReport]:
        """Let time pass, and the rule ring in between; returns what the runs did.

        Actions run one after the other, in this thread. What they raise is on the task, as always, and is
        retried when its time has come.
        """
        until = self.now + by
        first = len(self.reports)
        while (minute := minute_of(self._bell.expression)) and minute <= until:
            self.now = max(self.now, minute)
            self.reports.append(self._worker.run())
        self.now = max(self.now, until)
        return self.reports[first:]

    def _clock(self) -> datetime:
        return self.now

    def _sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
