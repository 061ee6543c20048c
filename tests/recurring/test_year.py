"""Every nominal occurrence of a year is accounted for, none is doubled but by a death.

It is a year of many recurring tasks, with processes that die and days on which nothing runs.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple, cast

import pytest

from duebell import Editor, ProblemKind, Worker
from duebell_infra.testing import Bell, InlinePool, MemoryStore
from duebell_shared.bell.expression import next_ring
from duebell_shared.tasks.history import Occurrence, Result
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.crash.dying import Death
from tests.support import Clock, minute_of
from tests.worker.memory import memory_backend
from tests.worker.starting import Context

pytestmark = pytest.mark.slow

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

#: The number of tasks of each kind among two hundred.
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


class Store(MemoryStore):
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
        self.store = Store(self._random)
        self.bell = Bell()
        self._backend = memory_backend(self.clock, self.store, bell=self.bell)
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
        return minute_of(self.bell.expression, now) or next_ring(self.bell.expression, now)

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
        """Invokes as Lambda does: once and two retries, the last of which does not die."""
        for pause in (1, 2, 0):
            self.store.is_charmed = pause == 0
            try:
                self._worker().handler(None, cast("Any", Context(self.clock, 5 * MINUTE)))
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


def test_a_year_of_recurring_tasks() -> None:
    # It is one test, for a year takes long to play, and processes that share tests would each play it
    year = Year(seed=2027).play()
    the_year_was_a_rough_one(year)
    every_occurrence_is_accounted_for(year)
    none_is_doubled_but_by_a_death_or_a_retry(year)
    none_ran_early_and_all_are_made_up_for_where_that_is_wanted(year)
    wrong = {problem.kind for problem in year.editor.status().problems}
    assert wrong <= {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}


def nominal(task: Task, until: datetime) -> list[datetime]:
    """All that the schedule says, after it was added and up to `until`."""
    assert task.recurrence
    return task.recurrence.schedule.latest(START, until, 10_000)


def over(year: Year, task: Task) -> list[Occurrence]:
    """The task's past occurrences by their due dates."""
    return sorted((one for id, one in year.store.over if id == task.id), key=lambda one: one.due)


def the_year_was_a_rough_one(year: Year) -> None:
    assert len(year.store.tasks.values()) == 200
    assert year.store.deaths > 20
    assert len(year.starts) > 10_000
    assert any(one.missed for _, one in year.store.over)
    assert {one.result for _, one in year.store.over} == set(Result)


def every_occurrence_is_accounted_for(year: Year) -> None:
    for task in year.store.tasks.values():
        dues = nominal(task, END + timedelta(days=200))
        at = 0
        for one in over(year, task):
            # Each is the schedule's next, or stands for those between
            assert one.due == dues[at + one.missed], (task.id, one)
            at += one.missed + 1
        # And what is left is the one it stands at
        assert task.status.is_finished if at == len(dues) else task.due == dues[at], task.id


def none_is_doubled_but_by_a_death_or_a_retry(year: Year) -> None:
    starts = Counter((start.id, start.due) for start in year.starts)
    attempts = Counter((id, one.due) for id, one in year.store.over for _ in range(one.attempts))
    beyond = starts - attempts
    assert beyond.total() <= year.store.deaths
    assert not [occurrence for occurrence, count in (attempts - starts).items() if count > year.store.deaths]


def none_ran_early_and_all_are_made_up_for_where_that_is_wanted(year: Year) -> None:
    for task in year.store.tasks.values():
        assert task.recurrence
        for one in over(year, task):
            assert one.lateness_ms is None or one.lateness_ms >= 0
            if task.recurrence.missed is Missed.ALL:
                assert one.missed == 0
                assert one.result is not Result.SKIPPED
