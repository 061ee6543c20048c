"""A long-running process in frozen time, and what happens beside it when it looks at the arming record."""

from collections.abc import Callable
from datetime import datetime, timedelta

from duebell import Editor, Task, Worker
from duebell_infra.testing import Bell
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.instants import NEVER
from duebell_shared.settings import Settings
from duebell_worker.process import Process
from tests.support import NOON, Clock, minute_of
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.log_lines import Log
from tests.worker.memory import in_lane
from tests.worker.other_runs import Other
from tests.worker.stage import Stage

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

#: No test takes longer, by the clock.
_LONGEST = timedelta(days=1)


class Hosted:
    """A process whose actions may take time, over a queue in memory.

    starts  when the action `act` was started; it takes no time
    """

    def __init__(self, clock: Clock, stage: Stage, log: Log) -> None:
        self.clock, self.stage, self.log = clock, stage, log
        self.bell, self.store = Bell(), HookedStore()
        self._rule = Rule("duebell", self.bell.client, clock=clock, sleep=self._sleep)
        self.called = Called()
        self.starts: list[datetime] = []
        self.events: list[tuple[datetime, Callable[[], object]]] = []
        self.ends_at = clock.now + _LONGEST
        self.serve()
        self.editor = Editor(backend=self.backend)
        self.store.on_read = self._look

    def serve(self, *, parallel_runs: int = 1, calls: bool = False, places: int = 2) -> None:
        """Have another process, which has so many places."""
        # Of a worker that has precision "minute": a process starts tasks to the second all the same.
        settings = Settings(lanes=4, parallel_runs=parallel_runs, metrics=True)
        backend = Backend(settings, self.store, self._rule, clock=self.clock, sleep=self._sleep)
        self.backend = self.called.by(backend) if calls else backend
        self.worker = Worker(backend=self.backend, pool=self.stage, concurrency=places)
        self.worker.action("act")(lambda: self.starts.append(self.clock.now))
        self.process = Process(self.worker, drain_for=20 * SECOND)

    def takes(self, time: timedelta) -> None:
        """Have an action `long` that takes so long."""
        self.worker.action("long")(lambda: self.stage.sleep(time.total_seconds()))

    def add(self, action: str, due: datetime, *, lane: int | None = None) -> Task:
        """Add a task of this action, in this lane."""
        name = f"{action}-{len(self.events)}-{due:%H%M%S}"
        id = name if lane is None else in_lane(lane, name=name)
        return self.editor.add(action, due=due, id=id)

    def at(self, moment: datetime, what: Callable[[], object]) -> None:
        """Have this happen when the process looks or sleeps at that time, or later."""
        self.events.append((moment, what))

    def run_until(self, moment: datetime) -> bool:
        """Let the process run, and tell it to drain when it is that time; returns what its `run` does."""
        self.at(moment, self.process.drain)
        return self.process.run()

    def other(self, *lanes: int) -> Other:
        """Another run, which holds these lanes."""
        return Other(self.backend, *lanes)

    def lose_the_lease(self, *lanes: int) -> None:
        """Have the process stand still ten seconds after noon until another run holds these lanes."""

        def lose() -> None:
            self.clock.advance(LEASE + SECOND)
            self.other(*lanes)

        self.at(NOON + 10 * SECOND, lose)

    @property
    def record(self) -> ArmingRecord:
        """The arming record."""
        return self.backend.armer.read()

    @property
    def rings_at(self) -> datetime:
        """The minute that the rule is set to."""
        return minute_of(self.bell.expression, self.clock.now) or NEVER

    def _look(self) -> None:
        if self.clock.now > self.ends_at:
            raise AssertionError("the process does not end")
        due = [event for event in self.events if event[0] <= self.clock.now]
        self.events = [event for event in self.events if event not in due]
        for _, what in due:
            what()

    def _sleep(self, seconds: float) -> None:
        until = self.clock.now + timedelta(seconds=seconds)
        self.stage.go_on_until(until)
        self.clock.now = max(self.clock.now, until)
        self._look()
