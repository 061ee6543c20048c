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
from duebell_shared.cron import parse_aws
from duebell_shared.errors import AwsUnavailable
from duebell_shared.expression import SENTINEL
from duebell_shared.instants import NEVER
from duebell_shared.past_index import Past, PastKey
from duebell_shared.store import Claimed, Failed, Inserted, NotEligible, Relocated, Saved, Taken
from duebell_shared.task import QueueKey, Status, Task
from duebell_shared.worker_record import WorkerRecord

from .world import Process, World

__all__ = [
    "SERVICES",
    "Aws",
    "EventsClient",
    "Faults",
    "LambdaClient",
    "Outage",
    "StoreOverNetwork",
    "minutes_of",
]

_T = TypeVar("_T")

_PAGE = 3

#: Seconds until a call takes effect that was answered with a failure of the server, at most.
_LATER = 5.0


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """How likely each thing goes wrong at one call, and for how long anything does."""

    crash: float = 0.0
    time_out: float = 0.0
    refuse: float = 0.0  # throttling, ConcurrentModificationException
    fail: float = 0.0  # a status of 500 or above: without effect, with it, or with it some seconds later
    slow: float = 0.0
    pause: float = 0.0
    skew: float = 0.0  # seconds that a clock may be off, either way
    duplicate: float = 0.0  # of a ring
    drop: float = 0.0  # of an invocation's first try
    lose: float = 0.0  # a ring that comes to nothing; as likely, a change of the rule takes minutes
    outage: float = 0.0  # of a history: a service is out, for an hour at most
    lane_outage: float = 0.0  # of a history: everything for one lane is refused or unanswered for an hour
    seconds: float = 900.0

    @property
    def any(self) -> bool:
        """Whether anything goes wrong, but for a lane that is out."""
        return self != Faults(seconds=self.seconds, lane_outage=self.lane_outage)


#: What can be out.
SERVICES = ("dynamodb", "events", "lambda")


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Services that answer nothing from the one moment to the other."""

    services: tuple[str, ...] = ()
    begins: datetime = NEVER
    ends: datetime = NEVER

    def hits(self, service: str, now: datetime) -> bool:
        """Whether this service is out."""
        return service in self.services and self.begins <= now < self.ends


class LaneOutage(msgspec.Struct, frozen=True, kw_only=True):
    """One lane for which no call is answered from the one moment to the other: no read and no write."""

    lane: int | None = None
    begins: datetime = NEVER
    ends: datetime = NEVER

    def hits(self, lane: int | None, now: datetime) -> bool:
        """Whether calls for this lane are not answered."""
        return lane is not None and lane == self.lane and self.begins <= now < self.ends


class Aws:
    """The table, the rule, and what rings; one for all processes of a world."""

    def __init__(
        self,
        world: World,
        faults: Faults,
        invoke: Callable[[object, str], None],
        outage: Outage | None = None,
    ) -> None:
        """`invoke` is called when the worker is to be invoked, with the event and the request id."""
        self.world = world
        self.faults = faults
        self.store = MemoryStore()
        self.expression = SENTINEL
        self.put_rules: list[tuple[datetime, str]] = []
        self.rings = self.lost_rings = 0
        self.crashes = 0
        self.trace: list[str] = []
        self.quiet_from = world.now + timedelta(seconds=faults.seconds)
        self.outage = outage or self._draw_outage()
        self.lane_outage = LaneOutage()
        self._settings: list[datetime] = []  # when each setting of the rule takes effect
        self._invoke = invoke
        self._requests = 0

    def _draw_outage(self) -> Outage:
        random = self.world.random
        if random.random() >= self.faults.outage:
            return Outage()
        begins = self.world.now + timedelta(seconds=random.uniform(0, 900))
        out = random.choice([*((service,) for service in SERVICES), SERVICES])
        return Outage(services=out, begins=begins, ends=begins + timedelta(seconds=random.uniform(60, 3600)))

    def draw_lane_outage(self, lanes: int) -> None:
        """Have one of so many lanes be out for an hour."""
        begins = self.world.now + timedelta(seconds=self.world.random.uniform(0, 900))
        lane = self.world.random.randrange(lanes)
        self.lane_outage = LaneOutage(lane=lane, begins=begins, ends=begins + timedelta(hours=1))

    def calm_from(self, lane: int | None = None) -> datetime:
        """When nothing goes wrong any more, with this lane or any but the one that is out."""
        calm_from = max(self.quiet_from, self.outage.ends if self.outage.services else self.quiet_from)
        is_out = lane is not None and lane == self.lane_outage.lane
        return max(calm_from, self.lane_outage.ends) if is_out else calm_from

    def call(
        self,
        process: Process,
        what: str,
        effect: Callable[[], _T],
        *,
        time_out: float,
        refusal: Exception,
        service: str = "dynamodb",
        failure: Exception | None = None,
        lane: int | None = None,
    ) -> _T:
        """One call over the network, for one lane or not, with whatever happens on the way.

        Raises TimeoutError, `refusal` where there was no effect, and `failure` where there may be.
        """
        random = self.world.random
        process.wake()
        fault = self.draw(process)
        self.trace.append(f"{self.world.now:%H:%M:%S.%f} {process.name}: {what} {fault}")
        if self.outage.hits(service, self.world.now) or self.lane_outage.hits(lane, self.world.now):
            process.sleep(random.choice([0.01, time_out]))
            raise failure or TimeoutError
        process.sleep(random.uniform(0.001, 0.01) if fault != "slow" else random.uniform(0.5, 4.0))
        if fault == "crash" and random.random() < 0.5:
            process.crash()
        if fault == "time_out" and random.random() < 0.5:
            process.sleep(time_out)
            raise TimeoutError
        if fault == "refuse":
            raise refusal
        if fault == "fail":
            self._have_effect_or_not(effect)
            raise failure or TimeoutError
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

    def _have_effect_or_not(self, effect: Callable[[], object]) -> None:
        match self.world.random.choice(["none", "now", "later"]):
            case "now":
                effect()
            case "later":
                self.world.after(self.world.random.uniform(0, _LATER), effect)
            case _:
                pass

    def refuses(self, lane: int | None = None) -> bool:
        """Whether one of many statements, for this lane, is refused."""
        if self.lane_outage.hits(lane, self.world.now):
            return True
        return self.world.now < self.quiet_from and self.world.random.random() < self.faults.refuse

    def put_rule(self, expression: str) -> None:
        """The rule set anew; it takes effect some time later, and a minute over by then never rings."""
        self.expression = expression
        self.put_rules.append((self.world.now, expression))
        lag = self.world.random.uniform(0, 30)
        if self._happens(self.faults.lose):
            lag += self.world.random.uniform(0, 150)
        self._settings.append(self.world.now + timedelta(seconds=lag))
        if expression != SENTINEL:
            self._ring_next(len(self._settings) - 1, minutes_of(expression, self.world.now))

    def _ring_next(self, setting: int, minutes: Iterator[datetime]) -> None:
        """Have the rule ring in the next of these minutes that is not over when the setting takes effect."""
        for minute in minutes:
            rings_at = minute + timedelta(seconds=self.world.random.uniform(0, 59))
            if rings_at >= max(self._settings[setting], self.world.now):
                self.world.at(rings_at, partial(self._ring, setting, minutes))
                return

    def _ring(self, setting: int, minutes: Iterator[datetime]) -> None:
        """Ring, unless a later setting has taken effect."""
        if any(in_effect <= self.world.now for in_effect in self._settings[setting + 1 :]):
            return
        self.rings += 1
        if self._happens(self.faults.lose) or self.outage.hits("events", self.world.now):
            self.lost_rings += 1
            self.trace.append(f"{self.world.now:%H:%M:%S.%f} the ring is lost")
        else:
            self.invoke(None)
        self._ring_next(setting, minutes)

    def _happens(self, likelihood: float) -> bool:
        return self.world.now < self.quiet_from and self.world.random.random() < likelihood

    def invoke(self, event: object) -> None:
        """An asynchronous invocation: it comes once, and sometimes twice.

        Where Lambda delivers one invocation twice, both have its request id; where EventBridge rings twice,
        there are two invocations.
        """
        request = self._new_request()
        self._invoke(event, request)
        if self.world.random.random() < self.faults.duplicate:
            again = self.world.random.choice([request, self._new_request()])
            self.world.after(self.world.random.uniform(0, 30), lambda: self._invoke(event, again))

    def _new_request(self) -> str:
        self._requests += 1
        return f"request-{self._requests}"

    def draw(self, process: Process) -> str:
        """What goes wrong with a call of this process; nothing, most of the time."""
        if self.world.now >= self.quiet_from:
            return ""
        chance = self.world.random.random()
        for fault in ("crash", "time_out", "refuse", "fail", "slow", "pause"):
            chance -= getattr(self.faults, fault)
            if chance < 0 and not (process.is_charmed and fault in {"crash", "pause"}):
                self.crashes += fault == "crash"
                return fault
        return ""


def minutes_of(expression: str, after: datetime) -> Iterator[datetime]:
    """The minutes of this day and the next in which the expression rings, after this moment."""
    cron = parse_aws(expression.removeprefix("cron(").removesuffix(")"))
    midnight = after.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in (midnight, midnight + timedelta(days=1)):
        if day.day in cron.days_of(day.year, day.month):
            minutes = (day + timedelta(minutes=minute) for minute in cron.minutes)
            yield from (minute for minute in minutes if minute + timedelta(minutes=1) > after)


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
        failed: Any = {"Error": {"Code": "503"}, "ResponseMetadata": {"HTTPStatusCode": 503}}
        try:
            return self._aws.call(
                self._process,
                what,
                effect,
                time_out=4,
                refusal=busy,
                service="events",
                failure=ClientError(failed, "PutRule"),
            )
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
                self._process,
                what,
                lambda: self._aws.invoke(event),
                time_out=3,
                refusal=throttled,
                service="lambda",
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

    def read_worker(self, *, consistent: bool) -> WorkerRecord | None:
        return self._call("read_worker", lambda: self._store.read_worker(consistent=consistent))

    def swap_worker(self, old: WorkerRecord | None, new: WorkerRecord) -> WorkerRecord | None:
        return self._call("swap_worker", lambda: self._store.swap_worker(old, new))

    def insert(self, task: Task) -> bool:
        return self._call(f"insert {task.id}", lambda: self._store.insert(task), lane=task.lane)

    def insert_many(self, tasks: Sequence[Task]) -> list[Inserted | Taken | Failed]:
        try:
            return self._call("insert_many", lambda: self._store.insert_many(tasks))
        except AwsUnavailable as error:
            return [Failed(error)] * len(tasks)

    def save(self, old: Task, new: Task | None) -> bool:
        what = f"save {old.id} {new and new.status}"
        return self._call(what, lambda: self._store.save(old, new), lane=old.lane)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[Saved | NotEligible | Failed]:
        def save(old: Task, new: Task | None) -> Saved | NotEligible:
            return Saved() if self._store.save(old, new) else NotEligible()

        return self._many("save_many", [(old.lane, partial(save, old, new)) for old, new in changes])

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime
    ) -> list[Relocated | NotEligible | Failed]:
        def relocate(key: QueueKey) -> Relocated | NotEligible | Failed:
            [moved] = self._store.relocate([key], lanes=lanes, now=now)
            return moved

        return self._many("relocate", [(key.lane, partial(relocate, key)) for key in keys])

    def get(self, lane: int, id: str) -> Task | None:
        return self._call(f"get {id}", lambda: self._store.get(lane, id), lane=lane)

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        return self._call("get_many", lambda: self._store.get_many(keys))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        claim = partial(self._store.claim, key, run=run, now=now, status=status)
        return self._call(f"claim {key.id}, {status}", claim, lane=key.lane)

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Claimed | NotEligible | Failed]:
        def claim(key: QueueKey) -> Claimed | NotEligible:
            task = self._store.claim(key, run=run, now=now, status=status)
            return Claimed(task) if task else NotEligible()

        return self._many(f"claim_many, {status}", [(key.lane, partial(claim, key)) for key in keys])

    def queued(
        self, lane: int, *, after: datetime | QueueKey | None = None, **bounds: Any
    ) -> Iterator[QueueKey]:
        while True:  # page by page, and the queue may change between two
            keys = self._store.queued(lane, after=after, **bounds)
            read = partial(list[QueueKey], islice(keys, _PAGE))
            page = self._call(f"queued {lane}", read, lane=lane)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1]

    def past(self, lane: int, kind: Past, **bounds: Any) -> Iterator[PastKey]:
        yield from self._call(f"past {lane}", lambda: list(self._store.past(lane, kind, **bounds)))

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        return self._call(f"named {lane}", lambda: self._store.named(lane, prefix, after=after, most=most))

    def recurring(self, lane: int, *, page_size: int = 200) -> Iterator[PastKey]:
        read = partial(list[PastKey], self._store.recurring(lane, page_size=page_size))
        yield from self._call(f"recurring {lane}", read)

    def count_past(self, lane: int, kind: Past, **bounds: Any) -> int:
        return self._call(f"count past {lane}", lambda: self._store.count_past(lane, kind, **bounds))

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, sum(1 for _ in self.queued(lane, after=after, before=before)))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return self._call(f"head {lane}", lambda: self._store.head(lane, skipping=skipping), lane=lane)

    def lane_sizes(self) -> dict[int, int]:
        return self._store.lane_sizes()

    def _many(self, what: str, effects: Sequence[tuple[int, Callable[[], _T]]]) -> list[_T | Failed]:
        """One call; each of its statements, which is for a lane, may be refused by itself."""

        def execute() -> list[_T | Failed]:
            return [
                Failed(AwsUnavailable("throttled")) if self._aws.refuses(lane) else effect()
                for lane, effect in effects
            ]

        try:
            return self._call(f"{what} {len(effects)}", execute)
        except AwsUnavailable as error:
            return [Failed(error)] * len(effects)

    def _call(self, what: str, effect: Callable[[], _T], *, lane: int | None = None) -> _T:
        refusal = AwsUnavailable("simulated throttling")
        try:
            return self._aws.call(self._process, what, effect, time_out=20, refusal=refusal, lane=lane)
        except TimeoutError:
            raise AwsUnavailable("simulated time-out") from None
