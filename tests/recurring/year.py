"""A year of many recurring tasks, with processes that die and days on which nothing runs."""

from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from duebell import Editor, Worker
from duebell_infra.testing import InlinePool, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import next_ring
from duebell_shared.settings import Settings
from duebell_shared.tasks.history import Occurrence
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.crash.dying import Death
from tests.shared.fake_events import FakeEvents
from tests.support import Clock, minute_of

__all__ = ["Start", "Year"]

START, END = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)

ZONES = (
    "UTC",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/Berlin",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
)

#: How many tasks of each kind there are among two hundred.
SCHEDULES = {
    "cron(30 2 * * ? *)": 24,
    "cron(0 9 ? * MON-FRI *)": 40,
    "0 18 * * 1,3,5": 40,
    "cron(15 1,13 ? * SAT,SUN *)": 24,
    "rate(36 hours)": 24,
    "cron(0 8 L * ? *)": 24,
    "cron(45 */8 1-7 * ? *)": 16,
    "cron(0 0 28 2,8 ? *)": 4,
    "rate(7 hours)": 4,
}

#: A process dies at one of so many calls that write.
_DIES_ONCE_IN = 400

MINUTE = timedelta(minutes=1)


class Start(NamedTuple):
    """An action was called: for which task's occurrence."""

    id: str
    due: datetime
    missed: int


class _Store(MemoryStore):
    """The queue, which sees each outcome being written, and in which a process dies now and then."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self.over: list[tuple[str, Occurrence]] = []
        self.deaths = 0
        self.is_charmed = False

    def save(self, old: Task, new: Task | None) -> bool:
        self._may_die()
        saved = super().save(old, new)
        if saved and new and new.last and new.occurrences != old.occurrences:
            self.over.append((new.id, new.last))
        self._may_die()
        return saved

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        claimed = super().claim(key, run=run, now=now, status=status)
        self._may_die()
        return claimed

    def _may_die(self) -> None:
        if not self.is_charmed and self._random.randrange(_DIES_ONCE_IN) == 0:
            self.deaths += 1
            raise Death


class Year:
    """The year, played; `starts` and `over` say what happened."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.clock = Clock(START)
        self.store = _Store(self._random)
        self.events = FakeEvents(self.clock)
        rule = Rule("duebell", self.events.client, clock=self.clock, sleep=self.clock.sleep)
        self._backend = Backend(Settings(), self.store, rule, clock=self.clock, sleep=self.clock.sleep)
        self.editor = Editor(backend=self._backend)
        self.starts: list[Start] = []
        self._nights_off = [
            (START + timedelta(days=day), START + timedelta(days=day, hours=hours))
            for day, hours in ((40, 3), (86, 30), (150, 70), (303, 9))
        ]

    def play(self) -> "Year":
        """Add the tasks, and let happen what happens by itself until the year is over."""
        self.store.is_charmed = True
        self._add_all()
        while (minute := self._next_ring()) and minute < END:
            rings_at = max(self.clock.now, minute + timedelta(seconds=self._random.uniform(0, 59)))
            for begins, ends in self._nights_off:
                if begins <= rings_at < ends:  # nothing rings, and then someone deploys again
                    self.clock.now = ends
                    self.editor.ensure_armed()
                    break
            else:
                self.clock.now = rings_at
                self._invoke()
        return self

    def _next_ring(self) -> datetime | None:
        """The minute that the rule is set to; its next echo once that is over."""
        now = self.clock.now
        return minute_of(self.events.expression, now) or next_ring(self.events.expression, now)

    @property
    def tasks(self) -> list[Task]:
        return list(self.store.tasks.values())

    def _add_all(self) -> None:
        number = 0
        for schedule, count in SCHEDULES.items():
            for _ in range(count):
                self.editor.add(
                    "note",
                    schedule=schedule,
                    timezone=ZONES[number % len(ZONES)],
                    missed=(Missed.ONCE, Missed.ALL, Missed.SKIP)[number % 3],
                    spread=timedelta(minutes=20) if number % 2 else None,
                    start=START,
                    end=None if number % 5 else START + timedelta(days=200),
                    id=f"task-{number}",
                )
                number += 1

    def _invoke(self) -> None:
        """What Lambda does: one try and two more, the last of which does not die."""
        for pause in (1, 2, 0):
            self.store.is_charmed = pause == 0
            try:
                self._worker().handler(
                    None, cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))
                )
            except Death:
                self.clock.advance(pause * MINUTE)
            else:
                return

    def _worker(self) -> Worker:
        worker = Worker(backend=self._backend, pool=lambda _: InlinePool())

        @worker.action("note", attempts=3)
        def note(_: object, task: Task) -> None:
            self.starts.append(Start(task.id, task.due, task.missed_runs))
            is_hopeless = Random(f"{task.id} {task.due}").random() < 0.01
            if is_hopeless or self._random.random() < 0.02:
                raise ValueError("as told")

        return worker
