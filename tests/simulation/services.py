"""AWS as it is, in the simulated world: slow, failing, at least once, and never quite on the second."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec
from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_infra.testing import MemoryStore
from duebell_shared.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable, DuebellError
from duebell_shared.expression import SENTINEL, minute_of
from duebell_shared.instants import NEVER
from duebell_shared.task import QueueKey, Status, Task

from .world import Process, World

__all__ = ["Aws", "EventsClient", "Faults", "LambdaClient", "StoreOverNetwork"]

_T = TypeVar("_T")

_PAGE = 3


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """How likely each thing goes wrong at one call, and for how long anything does."""

    crash: float = 0.0
    time_out: float = 0.0
    refuse: float = 0.0  # throttling, ConcurrentModificationException
    slow: float = 0.0
    pause: float = 0.0
    skew: float = 0.0  # seconds that a clock may be off, either way
    duplicate: float = 0.0  # of a ring
    drop: float = 0.0  # of an invocation's first try
    seconds: float = 900.0

    @property
    def any(self) -> bool:
        """Whether anything goes wrong at all."""
        return any((self.crash, self.time_out, self.refuse, self.slow, self.pause, self.skew, self.drop))


class Aws:
    """The table, the rule, and what rings; one for all processes of a world."""

    def __init__(self, world: World, faults: Faults, invoke: Callable[[object], None]) -> None:
        """`invoke` is called when the worker is to be invoked, with the event."""
        self.world = world
        self.faults = faults
        self.store = MemoryStore()
        self.expression = SENTINEL
        self.put_rules: list[tuple[datetime, str]] = []
        self.crashes = 0
        self.trace: list[str] = []
        self._settings = 0
        self._invoke = invoke
        self._quiet_from = world.now + timedelta(seconds=faults.seconds)

    def call(
        self, process: Process, what: str, effect: Callable[[], _T], *, time_out: float, refusal: Exception
    ) -> _T:
        """One call over the network, with whatever happens on the way. Raises TimeoutError and `refusal`."""
        random = self.world.random
        process.wake()
        fault = self.draw(process)
        self.trace.append(f"{self.world.now:%H:%M:%S.%f} {process.name}: {what} {fault}")
        process.sleep(random.uniform(0.001, 0.01) if fault != "slow" else random.uniform(0.5, 4.0))
        if fault == "crash" and random.random() < 0.5:
            process.crash()
        if fault == "time_out" and random.random() < 0.5:
            process.sleep(time_out)
            raise TimeoutError
        if fault == "refuse":
            raise refusal
        result = effect()
        if fault == "crash":
            process.crash()
        if fault == "time_out":
            process.sleep(time_out)
            raise TimeoutError
        if fault == "pause":
            process.pause(random.uniform(1, 400))
        process.sleep(random.uniform(0.001, 0.01))
        return result

    def refuses(self) -> bool:
        """Whether one of many statements is refused."""
        return self.world.now < self._quiet_from and self.world.random.random() < self.faults.refuse

    def put_rule(self, expression: str) -> None:
        """The rule set anew; it takes effect some time later, and a minute over by then never rings."""
        self.expression = expression
        self.put_rules.append((self.world.now, expression))
        self._settings += 1
        setting = self._settings
        minute = minute_of(expression)
        if minute is None:
            return
        in_effect = self.world.now + timedelta(seconds=self.world.random.uniform(0, 30))
        early = [minute - timedelta(minutes=1)] if "," in expression else []
        for each in (*early, minute):
            rings_at = each + timedelta(seconds=self.world.random.uniform(0, 59))
            if rings_at >= in_effect:
                # Another setting takes as long to take effect, so a ring that is near may come nevertheless.
                self.world.at(rings_at, lambda: self._ring_if(setting))

    def _ring_if(self, setting: int) -> None:
        if setting == self._settings or self.world.random.random() < 0.1:
            self.invoke(None)

    def invoke(self, event: object) -> None:
        """An asynchronous invocation: it comes once, and sometimes twice."""
        self._invoke(event)
        if self.world.random.random() < self.faults.duplicate:
            self.world.after(self.world.random.uniform(0, 30), lambda: self._invoke(event))

    def draw(self, process: Process) -> str:
        """What goes wrong with a call of this process; nothing, most of the time."""
        if self.world.now >= self._quiet_from:
            return ""
        chance = self.world.random.random()
        for fault in ("crash", "time_out", "refuse", "slow", "pause"):
            chance -= getattr(self.faults, fault)
            if chance < 0 and not (process.is_charmed and fault in {"crash", "pause"}):
                self.crashes += fault == "crash"
                return fault
        return ""


class EventsClient:
    """What `Rule` uses of boto3's EventBridge client, as one process has it."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self.meta = SimpleNamespace(region_name="simulated")

    def describe_rule(self, **_: Any) -> dict[str, Any]:
        return self._call(
            "DescribeRule", lambda: {"ScheduleExpression": self._aws.expression, "State": "ENABLED"}
        )

    def put_rule(self, **arguments: Any) -> dict[str, Any]:
        def put() -> dict[str, Any]:
            self._aws.put_rule(arguments["ScheduleExpression"])
            return {}

        return self._call(f"PutRule {arguments['ScheduleExpression']}", put)

    def list_targets_by_rule(self, **_: Any) -> dict[str, Any]:
        return self._call("ListTargetsByRule", lambda: {"Targets": [{}]})

    def _call(self, what: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        busy = ClientError({"Error": {"Code": "ConcurrentModificationException"}}, "PutRule")
        try:
            return self._aws.call(self._process, what, effect, time_out=4, refusal=busy)
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None


class LambdaClient:
    """What `Function` uses of boto3's Lambda client, as one process has it."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process

    def invoke(self, *, Payload: bytes, **_: Any) -> dict[str, Any]:  # noqa: N803 (as boto3 has it)
        throttled = ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        event = json.loads(Payload)
        what = f"Invoke {Payload.decode()}"
        try:
            self._aws.call(
                self._process, what, lambda: self._aws.invoke(event), time_out=3, refusal=throttled
            )
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None
        return {}


class StoreOverNetwork:
    """The store as one process has it: every verb a call."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self._store = aws.store

    def read_record(self) -> ArmingRecord | None:
        return self._call("read_record", self._store.read_record)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        return self._call("swap_record", lambda: self._store.swap_record(old, new))

    def insert(self, task: Task) -> bool:
        return self._call(f"insert {task.id}", lambda: self._store.insert(task))

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            return self._call("insert_many", lambda: self._store.insert_many(tasks))
        except AwsUnavailable as error:
            return [error] * len(tasks)

    def save(self, old: Task, new: Task) -> bool:
        return self._call(f"save {new.id} {new.status}", lambda: self._store.save(old, new))

    def save_many(self, changes: Sequence[tuple[Task, Task]]) -> list[bool | DuebellError]:
        return self._many("save_many", [partial(self._store.save, old, new) for old, new in changes])

    def get(self, lane: int, id: str) -> Task | None:
        return self._call(f"get {id}", lambda: self._store.get(lane, id))

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        return self._call("get_many", lambda: self._store.get_many(keys))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        return self._call(
            f"claim {key.id}, {status}", lambda: self._store.claim(key, run=run, now=now, status=status)
        )

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        claim = partial(self._store.claim, run=run, now=now, status=status)
        return self._many(f"claim_many, {status}", [partial(claim, key) for key in keys])

    def queued(
        self, lane: int, *, after: datetime | QueueKey | None = None, before: datetime = NEVER
    ) -> Iterator[QueueKey]:
        while True:  # page by page, and the queue may change between two
            keys = self._store.queued(lane, after=after, before=before)
            page: list[QueueKey] = self._call(f"queued {lane}", partial(list, islice(keys, _PAGE)))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1]

    def unqueued(self, lane: int, statuses: Collection[Status], *, now: datetime) -> Iterator[Task]:
        yield from self._call(f"unqueued {lane}", lambda: list(self._store.unqueued(lane, statuses, now=now)))

    def past(self, lane: int, *, now: datetime) -> Iterator[Task]:
        yield from self._call(f"past {lane}", lambda: list(self._store.past(lane, now=now)))

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, sum(1 for _ in self.queued(lane, after=after, before=before)))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return self._call(f"head {lane}", lambda: self._store.head(lane, skipping=skipping))

    def _many(self, what: str, effects: Sequence[Callable[[], _T]]) -> list[_T | DuebellError]:
        """One call; each of its statements may be refused by itself."""

        def execute() -> list[_T | DuebellError]:
            return [AwsUnavailable("throttled") if self._aws.refuses() else effect() for effect in effects]

        try:
            return self._call(f"{what} {len(effects)}", execute)
        except AwsUnavailable as error:
            return [error] * len(effects)

    def _call(self, what: str, effect: Callable[[], _T]) -> _T:
        try:
            return self._aws.call(
                self._process, what, effect, time_out=20, refusal=AwsUnavailable("simulated throttling")
            )
        except TimeoutError:
            raise AwsUnavailable("simulated time-out") from None
