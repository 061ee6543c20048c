"""One simulated history: editors that add and change tasks, runs that the rule wakes, and what goes wrong.

The editors and the worker are the real code, over the simulated AWS. `problems` then holds what really
happened against what duebell promises.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from random import Random
from typing import Any, Self, TypeVar
from unittest.mock import patch
from zlib import crc32

from duebell import AwsError, DuebellError, Editor, NotArmed, Retry, Task, TaskConflict, Worker
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_shared.settings import Precision, Settings

from .aws import Aws
from .parts.batching import Batching
from .parts.following import Following
from .parts.hosting import Hosting
from .parts.limits import Limits
from .parts.part import LIMITS, Act, Known, Part, Start
from .parts.putting_off import PuttingOff
from .parts.relaning import Relaning
from .parts.resting import Resting
from .parts.timing_out import TimingOut
from .parts.transacting import Transacting
from .processes import backend_of, context_of
from .promises import Promises
from .weather import Faults, Outage
from .wire import Network, backend_over
from .world import OneThreadLock, Process, SimulatedPool, World

_PartT = TypeVar("_PartT", bound=Part)

#: The parts of a history that are chosen: whether there is one, or its options. Others are left to chance.
Parts = Mapping[type[Part], bool | Mapping[str, Any]]

#: Every part that there can be.
_PARTS = (Relaning, Transacting, PuttingOff, Following, TimingOut, Batching, Resting, Limits, Hosting)

#: Lambda ends an invocation after this, and tries a failed one again twice.
LAMBDA_LIMIT = 300.0
LAMBDA_RETRIES = 2

#: The most restarts of a service that died; it goes on with its work.
_LIVES = 4

#: Long enough for an outage, all retries with their back-off, and leases, watchdogs and echoes between.
END = timedelta(hours=8)


class Over(StrEnum):
    """The store that a history plays over.

    TWIN  the store's twin in memory
    WIRE  the table code over botocore, and AWS below it
    """

    TWIN = "twin"
    WIRE = "wire"


class History:
    """A history from its seed. `run` plays it, `problems` says what promise it broke.

    happened     how often something happened that a part counts, or the network
    last_healed  when a call or a run came to its end the last time
    """

    def __init__(
        self,
        seed: int,
        faults: Faults,
        *,
        parts: Parts | None = None,
        actions: Collection[str] = tuple(LIMITS),
        settings: Settings | None = None,
        delivery: float = 20.0,
        outage: Outage | None = None,
        over: Over = Over.TWIN,
    ) -> None:
        """`delivery` is the most that it takes from a ring or a call until a process runs, in seconds.

        `outage` is what is out, if that is not left to chance.
        """
        self.seed = seed
        self.faults = faults
        self.actions = tuple(actions)
        self.delivery = delivery
        self.world = World(seed)
        self.random = Random(seed + 1)
        random.seed(seed + 2)  # the jitter of the code under test
        self.aws = Aws(self.world, faults, self._invoked, outage)
        has_many_lanes = bool(faults.lane_outage) and self.random.random() < faults.lane_outage
        self.settings = settings or Settings(
            lanes=8 if has_many_lanes else self.random.choice([1, 2, 4]),
            precision=self.random.choice(list(Precision)),
            function=self.random.choice([None, "worker"]),
            parallel_runs=self.random.choice([1, 2, 4]),
        )
        if has_many_lanes:
            self.aws.draw_lane_outage(self.settings.lanes)
        self.network = Network(self.aws, self.settings) if over is not Over.TWIN else None
        self.happened = self.network.happened if self.network else Counter[str]()
        self.known: dict[str, Known] = {}
        self.starts: list[Start] = []
        self.invocations = 0
        self.failures: list[str] = []
        self.lock_waits: list[str] = []
        self.last_healed = self.world.now - timedelta(days=1)
        self.parts = list(self._drawn(parts or {}))

    def _drawn(self, chosen: Parts) -> Iterator[Part]:
        for kind in _PARTS:
            is_drawn = self.faults.any and Random(self.seed + kind.salt + 1).random() < kind.chance
            wanted = chosen.get(kind, is_drawn)
            if wanted is not False:
                yield kind(self, **(wanted if isinstance(wanted, Mapping) else {}))

    def part(self, kind: type[_PartT]) -> _PartT | None:
        return next((part for part in self.parts if isinstance(part, kind)), None)

    def run(self) -> Self:
        for number in range(self.random.randint(1, 3)):
            self.world.after(self.random.uniform(0, 120), partial(self._service, number, 0))
        for part in self.parts:
            part.start()
        with patch("threading.Lock", partial(OneThreadLock, self.lock_waits)):
            self.world.run_until(self.world.now + END)
        return self

    # The users' services.

    def _service(self, number: int, life: int) -> None:
        """A process that uses an editor, started again when it dies, until all its calls are answered."""
        process = Process(self.world, f"service-{number}.{life}", skew=self.skew(self.random))

        def again() -> None:
            if life < _LIVES or any(self._unanswered(number)):
                self.world.after(self.random.uniform(1, 30), lambda: self._service(number, life + 1))

        process.start(lambda: self._use(process, number, life), on_death=again)

    def _use(self, process: Process, number: int, life: int) -> None:
        editor = Editor(backend=self.backend(process))
        # A service that died repeats its last operation: ids and "keep" make that safe.
        for id, known in list(self._unanswered(number)):
            if known.acknowledged_at is None:
                self._add(editor, process, id, known)
            elif known.pending:
                self._change(editor, process, known.pending[0], id, known.pending[1])
        if life > _LIVES:
            return
        for step in range(self.random.randint(1, 6)):
            process.sleep(self.random.choice([0.0, 0.1, 5.0, self.random.uniform(0, 200)]))
            self._step(editor, process, f"{number}-{life}.{step}")

    def _unanswered(self, number: int) -> Iterator[tuple[str, Known]]:
        """The tasks of this service of which a call was not answered."""
        for id, known in self.known.items():
            if id.startswith(f"{number}-") and (known.acknowledged_at is None or known.pending):
                yield id, known

    def _step(self, editor: Editor, process: Process, id: str) -> None:
        now = process.clock()
        mine = [known for known in self.known if known.startswith(id.partition("-")[0] + "-")]
        what = self.random.choice(["add", "add", "add", "many", "move", "cancel", "pause"])
        putting_off = self.part(PuttingOff)
        what = putting_off.instead_of(what) if putting_off else what
        if what == "add" or not mine:
            self._add(editor, process, id, self._new(self._due(now), self.random.choice(self.actions)))
        elif what == "many":
            due = self._due(now)
            # More slow ones than a run has places for make their neighbours late, and have runs share them.
            action = self.random.choice(["quick", "slow"]) if self.faults.any else "quick"
            for each in range(self.random.randint(2, 16)):
                # add_many writes in threads of its own; to everyone else it is the same one by one.
                self._add(editor, process, f"{id}.{each}", self._new(due, action))
        else:
            chosen = self.random.choice(mine)
            self._change(editor, process, what, chosen, self._due(now))

    def _new(self, due: datetime, action: str) -> Known:
        return Known(due=due, action=action, asked_at=self.world.now)

    def _add(self, editor: Editor, process: Process, id: str, known: Known) -> None:
        self.known[id] = known

        def add() -> None:
            editor.add(known.action, due=known.due, id=id, if_exists="keep", **self._options(id))

        if self.insist(process, add):
            known.acknowledged_at = self.world.now

    def _options(self, id: str) -> dict[str, Any]:
        following = self.part(Following)
        return {"priority": _priority(id), **(following.options(id) if following else {})}

    def _change(self, editor: Editor, process: Process, what: str, id: str, due: datetime) -> None:
        """Change a task, with the same call again until it is answered, by the next process if need be."""
        known = self.known[id]
        if known.acknowledged_at is None:
            return
        known.pending, asked_at = (what, due), self.world.now
        insist, putting_off = partial(self.insist, process), self.part(PuttingOff)
        if what == "move" and insist(lambda: editor.move(id, due=due)):
            known.due, known.asked_at, known.acknowledged_at = due, asked_at, self.world.now
        elif what == "cancel":
            known.may_be_out = True
            if insist(lambda: editor.cancel(id)):
                known.cancelled_at = self.world.now
        elif what == "push" and putting_off:
            putting_off.push(editor, process, known, id, insist, options=self._options(id))
        elif what == "pause":
            known.may_be_out = True
            insist(lambda: editor.pause(id))
            insist(lambda: editor.resume(id))
        known.pending = None

    def insist(self, process: Process, call: Callable[[], object]) -> bool:
        """Do it again until it is answered, as a careful user would; False if the task does not allow it."""
        for pause in (0.0, 0.0, 1.0, 5.0, *[30.0] * 200):
            try:
                call()
            except TaskConflict:
                return False
            except (AwsUnavailable, NotArmed):
                process.sleep(pause)
                continue
            except DuebellError as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                return False
            self.last_healed = self.world.now
            return True
        self.failures.append("an editor's call never succeeded")
        return False

    def _due(self, now: datetime) -> datetime:
        seconds = self.random.choice([-600, 0, 1, 30, 59, 60, 61, 90, 120, 300, 300, 301, 600, 3600, 10_800])
        return (now + timedelta(seconds=seconds)).replace(microsecond=0)

    # The worker, as Lambda invokes it.

    def _invoked(self, event: object, request: str) -> None:
        delay = self.random.choice([0.1, 1.0, self.random.uniform(0, self.delivery)])
        self.world.after(delay, lambda: self._invoke(event, request, 0))

    def _invoke(self, event: object, request: str, tries: int) -> None:
        self.invocations += 1
        if self.invocations > 400:
            raise AssertionError(f"seed {self.seed}: the rule rings and rings")
        process = Process(self.world, f"run-{self.invocations}", skew=self.skew(self.random))

        def again() -> None:
            if tries < LAMBDA_RETRIES:
                self.world.after(
                    60 * (tries + 1) * self.random.uniform(1, 1.2),
                    lambda: self._invoke(event, request, tries + 1),
                )

        is_dropped = tries == 0 and self.random.random() < self.faults.drop
        if is_dropped or self.aws.outage.hits("lambda", self.world.now):
            again()
            return

        def main() -> None:
            try:
                self._run_worker(process, event, request)
                self.last_healed = self.world.now
            except (AwsUnavailable, NotArmed):
                process.kill()
            except AwsError as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                process.kill()

        process.start(main, on_death=again)
        self.world.after(LAMBDA_LIMIT, lambda: None if process.has_ended else process.kill())

    def _run_worker(self, process: Process, event: object, request: str) -> None:
        context = context_of(process, request, limit=LAMBDA_LIMIT)
        worker = Worker(backend=self.backend(process), concurrency=4, pool=lambda _: SimulatedPool(process))
        self.declare(worker, process)
        worker.handler(event, context)
        process.has_ended = True

    def declare(self, worker: Worker, process: Process) -> None:
        for name in LIMITS:
            act = self._action(name, process)
            options: dict[str, Any] = {"attempts": LIMITS[name]}
            for part in self.parts:
                act = part.around(name, process, act)
                options |= part.declared(name)
            worker.action(name, **options)(act)

    def _action(self, name: str, process: Process) -> Act:
        chance = self.random

        def act(payload: Any, task: Task) -> None:
            self._note_start(process, task)
            self._may_end(name, process, payload, task)
            match name:
                case "slow":
                    process.sleep(chance.uniform(10, 200))
                case "flaky" if chance.random() < 0.5:
                    raise ValueError("flaky")
                case "bad":
                    raise KeyboardInterrupt
                case "killer":
                    process.crash()
                case "hangs":
                    process.sleep(10_000)
                case "asks":
                    raise Retry(after=chance.uniform(0, 100))
                case "chains":
                    id = f"chained-{task.id}"
                    known = self.known.get(id) or self._new(self._due(process.clock()), "quick")
                    self._add(Editor(backend=self.backend(process)), process, id, known)
                case _:
                    process.sleep(chance.uniform(0, 0.5))

        return act

    def _may_end(self, name: str, process: Process, payload: Any, task: Task) -> None:
        """End the attempt here if it is told to stop, or snoozes. Raises Retry and Snooze."""
        if timing_out := self.part(TimingOut):
            timing_out.look(name, process)
        if putting_off := self.part(PuttingOff):
            putting_off.may_snooze(name, payload, task)

    def _note_start(self, process: Process, task: Task) -> None:
        # A limited task may start before its place in the line, but not before it came due.
        due = task.limited_since or task.queued or task.due
        claimed_at = task.started_at or self.world.now
        noted = Start(task.id, task.action, self.world.now, process.clock(), due, task.attempt, claimed_at)
        self.starts.append(noted)

    def backend(self, process: Process) -> Backend:
        if self.network:
            return backend_over(self.network, process, self.settings)
        return backend_of(process, self.aws, self.settings)

    def skew(self, random: Random) -> float:
        return random.uniform(-self.faults.skew, self.faults.skew)

    # The outcome.

    @property
    def stored(self) -> MemoryStore | Network:
        return self.network or self.aws.store

    @property
    def others(self) -> set[str]:
        if self.network:
            return {id for _, id in self.network.dynamodb.others}
        return {write["Put"]["Item"]["id"]["S"] for write in self.aws.store.others}

    def problems(self) -> list[str]:
        return list(Promises(self).broken())


def _priority(id: str) -> int | None:
    """A priority by the id; none for half of the tasks. It draws nothing from the history's chance."""
    chance = crc32(id.encode())
    return None if chance % 2 else chance % 20 // 2
