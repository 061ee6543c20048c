"""AWS as one process of a simulated world has it: every call goes over the network, and may fail."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function
from duebell_shared.bell.bell import BellKind, RingSchedule, Rule
from duebell_shared.errors import AwsUnavailable, DuebellError, ItemRefusal
from duebell_shared.instants import NEVER
from duebell_shared.parallel import Parallel
from duebell_shared.queue.changes import TaskWrite, Transacted, UserWrite
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from duebell_shared.tasks.task import QueueKey, Task
from tests.support import SCHEDULED

from .aws import Aws
from .world import Process

_T = TypeVar("_T")

_PAGE = 3

#: A value that no item of a user has.
NO_VERSION = {"S": "never"}

#: Verbs of the store whose first argument says which lane they are for, those that are no calls of their own
#: here, and those that read page by page.
_OF_A_TASK, _OF_A_LANE = {"insert", "save", "delete", "claim"}, {"get", "head"}
_NO_CALLS, _PAGES = {"note", "noted", "lane_sizes"}, {"past"}


def backend_of(process: Process, aws: Aws, settings: Settings) -> Backend:
    is_rule = settings.bell is BellKind.RULE
    bell = Rule if is_rule else RingSchedule
    client: Any = _EventsClient(aws, process) if is_rule else _SchedulerClient(aws, process)
    name = settings.function
    return Backend(
        settings,
        cast("Store", _StoreOverNetwork(aws, process)),
        bell("duebell", client, clock=process.clock, sleep=process.sleep),
        clock=process.clock,
        sleep=process.sleep,
        parallel=Parallel(1),
        function=Function(name, lambda: cast("Any", _LambdaClient(aws, process))) if name else None,
    )


def context_of(process: Process, request: str, *, limit: float) -> Any:
    """Lambda's context of an invocation that begins now, and may take so many seconds."""
    world = process.world
    ends_at = world.now + timedelta(seconds=limit)

    def milliseconds_left() -> int:
        return max(int((ends_at - world.now).total_seconds() * 1000), 0)

    return SimpleNamespace(get_remaining_time_in_millis=milliseconds_left, aws_request_id=request)


class _StoreOverNetwork:
    """The store: each of its verbs is one call, or one for each page."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self._store = aws.store

    def __getattr__(self, verb: str) -> Any:
        if verb in _NO_CALLS:
            return getattr(self._store, verb)
        return partial(self._read if verb in _PAGES else self._do, verb)

    def _do(self, verb: str, *given: Any, **options: Any) -> Any:
        lane = given[0].lane if verb in _OF_A_TASK else given[0] if verb in _OF_A_LANE else None
        about = [
            getattr(each, "id", each) for each in given if hasattr(each, "id") or isinstance(each, int | str)
        ]
        effect = partial(getattr(self._store, verb), *given, **options)
        return self._call(" ".join(map(str, [verb, *about])), effect, lane=lane)

    def _read(self, verb: str, lane: int, *given: Any, **bounds: Any) -> Iterator[Any]:
        read = getattr(self._store, verb)
        yield from self._call(f"{verb} {lane}", lambda: list(read(lane, *given, **bounds)))

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            return self._call("insert_many", lambda: self._store.insert_many(tasks))
        except AwsUnavailable as error:
            return [error] * len(tasks)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        saves = [(old.lane, partial(self._store.save, old, new)) for old, new in changes]
        return self._many("save_many", saves)

    def relocate(self, keys: Sequence[QueueKey], **options: Any) -> list[bool | DuebellError]:
        def relocate(key: QueueKey) -> bool | DuebellError:
            [moved] = self._store.relocate([key], **options)
            return moved

        return self._many("relocate", [(key.lane, partial(relocate, key)) for key in keys])

    def claim_many(self, keys: Sequence[QueueKey], **options: Any) -> list[Task | DuebellError | None]:
        claim = partial(self._store.claim, **options)
        return self._many("claim_many", [(key.lane, partial(claim, key)) for key in keys])

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

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, sum(1 for _ in self.queued(lane, after=after, before=before)))

    def transact(self, writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
        """Refused if another write is on condition of NO_VERSION: the twin takes all conditions for true."""

        def transact() -> Transacted:
            others = [write["Put"] for write in writes if isinstance(write, Mapping)]
            if any(NO_VERSION in put.get("ExpressionAttributeValues", {}).values() for put in others):
                return Transacted(refusals=(ItemRefusal(index=0, code="ConditionalCheckFailed"),))
            return self._store.transact(writes, token=token)

        return self._call(f"transact {len(writes)}", transact)

    def _many(self, what: str, effects: Collection[tuple[int, Callable[[], _T]]]) -> list[_T | DuebellError]:
        """One call; each of its statements, which is for a lane, may be refused by itself."""

        def execute() -> list[_T | DuebellError]:
            return [
                AwsUnavailable("throttled") if self._aws.refuses(lane) else effect()
                for lane, effect in effects
            ]

        try:
            return self._call(f"{what} {len(effects)}", execute)
        except AwsUnavailable as error:
            return [error] * len(effects)

    def _call(self, what: str, effect: Callable[[], _T], *, lane: int | None = None) -> _T:
        refusal = AwsUnavailable("simulated throttling")
        try:
            return self._aws.call(self._process, what, effect, time_out=20, refusal=refusal, lane=lane)
        except TimeoutError:
            raise AwsUnavailable("simulated time-out") from None


class _EventsClient:
    """The part of boto3's EventBridge client that `Rule` uses."""

    kind = BellKind.RULE
    busy = "ConcurrentModificationException"

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self.meta = SimpleNamespace(region_name="simulated")

    def describe_rule(self, **_: Any) -> dict[str, Any]:
        return self._call(
            "DescribeRule",
            lambda: {"ScheduleExpression": self._aws.expressions[self.kind], "State": "ENABLED"},
        )

    def put_rule(self, **arguments: Any) -> dict[str, Any]:
        def put() -> dict[str, Any]:
            self._aws.put_rule(arguments["ScheduleExpression"], self.kind)
            return {}

        self._aws.may_set_late(self._process, put)
        return self._call(f"PutRule {arguments['ScheduleExpression']}", put)

    def list_targets_by_rule(self, **_: Any) -> dict[str, Any]:
        return self._call("ListTargetsByRule", lambda: {"Targets": [{}]})

    def _call(self, what: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        def there() -> dict[str, Any]:
            if self.kind in self._aws.removed:
                raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, what)
            return effect()

        failed: Any = {"Error": {"Code": "503"}, "ResponseMetadata": {"HTTPStatusCode": 503}}
        try:
            return self._aws.call(
                self._process,
                what,
                there,
                time_out=4,
                refusal=ClientError({"Error": {"Code": self.busy}}, "PutRule"),
                service="events",
                failure=ClientError(failed, "PutRule"),
            )
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None


class _SchedulerClient(_EventsClient):
    """The part of boto3's client of EventBridge Scheduler that `RingSchedule` uses."""

    kind = BellKind.SCHEDULE
    busy = "ConflictException"

    def get_schedule(self, **arguments: Any) -> dict[str, Any]:
        return {**self.describe_rule(**arguments), "Target": SCHEDULED}

    update_schedule = _EventsClient.put_rule


class _LambdaClient:
    """The part of boto3's Lambda client that `Function` uses."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process

    def invoke(self, *, Payload: bytes, **_: Any) -> dict[str, Any]:  # noqa: N803 (as boto3 has it)
        event = json.loads(Payload)
        throttled = ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        what, invoke = f"Invoke {Payload.decode()}", partial(self._aws.invoke, event)
        try:
            self._aws.call(self._process, what, invoke, time_out=3, refusal=throttled, service="lambda")
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None
        return {}
