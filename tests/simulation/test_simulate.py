"""The forecasts of `simulate`, against the real worker in simulated time."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from duebell import Editor, Precision, Settings, Task, Then, Worker
from duebell_infra.testing import Bell, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import next_ring
from duebell_shared.parallel import Parallel

from .processes import context_of
from .world import Process, SimulatedPool, World

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

#: Seconds that an attempt takes, by action; and the limits of some.
ACTIONS: Mapping[str, float] = {"quick": 0.2, "slow": 3.0, "long": 9.0, "few": 7.0, "rare": 0.5, "often": 0.1}
LIMITS: Mapping[str, dict[str, Any]] = {
    "few": {"at_most": 2},
    "rare": {"per_second": 0.1},
    "often": {"per_second": 5},
    "long": {"closed": "12:20-12:40"},
}

#: Actions whose tasks wait in a line.
COUNTED = {"few", "rare", "often"}

Starts = dict[str, list[datetime]]


class Played:
    """A queue, and a real worker that runs what is due when the rule rings, in simulated time."""

    def __init__(self, seed: int, precision: Precision) -> None:
        self.world = World(seed)
        self.store, self.bell = MemoryStore(), Bell()
        self.settings = Settings(precision=precision)
        self.editor = Editor(backend=self._backend(Process(self.world, "editor")))
        self.starts: Starts = defaultdict(list)
        self.runs = self._rings = 0

    def _backend(self, process: Process) -> Backend:
        return Backend(
            self.settings,
            self.store,
            Rule("duebell", self.bell.client, clock=process.clock, sleep=process.sleep),
            clock=process.clock,
            sleep=process.sleep,
            parallel=Parallel(1),
        )

    def play(self, until: datetime) -> None:
        """Let time pass; the rule rings at the beginning of each minute that it is set to."""
        while self.world.now < until:
            before, minute = self.world.now, self.world.now.replace(second=0, microsecond=0) + MINUTE
            self.world.run_until(minute)
            if next_ring(self.bell.expression, max(before, minute - MINUTE)) == minute:
                self._ring()
                self.world.run_until(minute)

    def register(self) -> None:
        self._worker(Process(self.world, "first")).register()

    def _worker(self, process: Process) -> Worker:
        worker = Worker(backend=self._backend(process), pool=lambda _: SimulatedPool(process))
        for name, seconds in ACTIONS.items():
            worker.action(name, **LIMITS.get(name, {}))(self._act(process, seconds))
        return worker

    def _act(self, process: Process, seconds: float) -> Callable[[Any, Task], None]:
        def act(_: Any, task: Task) -> None:
            self.starts[task.id].append(self.world.now)
            process.sleep(seconds)

        return act

    def _ring(self) -> None:
        self._rings += 1
        process = Process(self.world, f"run {self._rings}")
        context = context_of(process, f"request {self._rings}", limit=300)

        def run() -> None:
            answer = self._worker(process).handler({}, context)
            self.runs += answer["lanes"] > 0

        process.start(run)


def queue_of(random: Random, now: datetime, actions: Sequence[str]) -> list[dict[str, Any]]:
    def due() -> datetime:
        at = now + timedelta(seconds=random.choice([random.uniform(0, 3600), 60 * random.randint(1, 60)]))
        return at.replace(microsecond=at.microsecond // 1000 * 1000)

    def task(number: int) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "id": f"task-{number}",
            "action": random.choice(actions),
            "priority": random.choice([0, 0, 0, 5, 9]),
            "spread": random.choice([None, None, 10 * MINUTE]),
        }
        if random.random() < 0.3:
            fields["schedule"] = random.choice(
                ["rate(1 minute)", "rate(7 minutes)", "*/5 * * * *", "cron(0/20 * * * ? *)", "rate(1 hour)"]
            )
            fields["missed"] = random.choice(["once", "all", "skip"])
        else:
            fields["due"] = due()
            if random.random() < 0.1:
                # No whole minute: an attempt in the moment of its expiry may be told either way.
                fields["expires_after"] = random.choice([timedelta(seconds=50), HOUR])
            if random.random() < 0.1:
                fields["then"] = Then("quick", after=random.choice([timedelta(0), 3 * MINUTE]))
        return fields

    burst = [
        {"id": f"burst-{number}", "action": random.choice(actions), "due": now + 30 * MINUTE}
        for number in range(random.choice([0, 0, 5, 60]))
    ]
    return [*(task(number) for number in range(random.randint(1, 40))), *burst]


def told_and_played(seed: int, actions: Collection[str]) -> tuple[Starts, Starts]:
    # Given a queue of any tasks, whose actions have run before
    random = Random(seed)
    played = Played(seed, random.choice([*Precision]))
    played.register()
    played.editor.add_many([{"action": action, "due": timedelta(0)} for action in ACTIONS])
    played.play(played.world.now + 3 * MINUTE)
    played.world.run_until(played.world.now + MINUTE / 2)
    played.editor.add_many(queue_of(random, played.world.now, sorted(actions)))
    # When it is told what will happen, and then it does
    until = played.world.now + HOUR
    told: Starts = defaultdict(list)
    said = played.editor.simulate(until, most_starts=100_000).today
    for one in said.first:
        told[one.id].append(one.at)
    played.starts.clear()
    runs = played.runs
    played.play(until)
    assert abs(said.rings - (played.runs - runs)) <= 1, (said.rings, played.runs - runs)
    in_time = {id: [at for at in times if at <= until] for id, times in played.starts.items()}
    return told, {id: times for id, times in in_time.items() if times}


@pytest.mark.parametrize("seed", range(40))
def test_every_start_is_within_a_second_of_what_was_said(seed: int) -> None:
    told, starts = told_and_played(seed, ACTIONS.keys() - COUNTED)
    assert told.keys() == starts.keys()
    for id, times in starts.items():
        assert len(times) == len(told[id]), id
        for at, said in zip(times, told[id], strict=True):
            assert abs(at - said) <= timedelta(seconds=1), id


@pytest.mark.parametrize("seed", range(10))
def test_with_lines_of_limited_actions_the_starts_are_as_many_and_near(seed: int) -> None:
    told, starts = told_and_played(seed, ACTIONS)
    said, were = (sorted(itertools.chain(*times.values())) for times in (told, starts))
    # The last ones may fall on either side of the end
    assert abs(len(said) - len(were)) <= 2
    assert all(abs(one - other) < 2 * MINUTE for one, other in zip(said, were, strict=False))
