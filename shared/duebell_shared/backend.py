"""The parts that editor and worker share: the queue, the rule, the arming between them, and the clock."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import botocore
import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError, NoRegionError

from duebell_shared.bell.armer import Function

from .aws.alarms import Alarms
from .aws.aws_session import client_maker, is_here
from .aws.sqs import Sqs
from .bell.armer import Armer
from .bell.bell import CALL_LIMIT, Bell, BellKind, RingSchedule, Rule
from .errors import InvalidSettings
from .instants import utc_now
from .parallel import Parallel
from .queue.store import Store
from .queue.table import DynamoTable
from .settings import Settings

if TYPE_CHECKING:
    import boto3

    from .audit import Audit
    from .schedules.calendars import Calendar, KnownCalendars
    from .tasks.task import Task

#: Connections kept open to DynamoDB; more threads than this share them.
_CONNECTIONS = 32

#: DynamoDB answers in milliseconds. A call that takes seconds is probably lost, so it is tried again.
_DYNAMODB = Config(
    connect_timeout=2,
    read_timeout=5,
    max_pool_connections=_CONNECTIONS,
    parameter_validation=False,  # checking costs a fifth of each call
    user_agent=f"duebell Botocore/{botocore.__version__}",  # the SDK would make up a longer one, twice a call
    retries={"mode": "standard", "total_max_attempts": 4},
)

#: No retries of the SDK's own: how long a call to the bell may take is part of the arming protocol.
_BELL = Config(
    connect_timeout=2,
    read_timeout=CALL_LIMIT.total_seconds() - 2,
    retries={"mode": "standard", "total_max_attempts": 1},
)

#: The time-outs are short: an add waits for this call, and the rule rings even if the call fails.
_LAMBDA = Config(connect_timeout=2, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 1})

_BELLS: dict[BellKind, type[Bell]] = {BellKind.RULE: Rule, BellKind.SCHEDULE: RingSchedule}

#: For calls about alarms. Only a person who runs the doctor waits for them.
_WATCHING = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})

_NO_REGION = (
    "is not set: name the region that duebell is deployed in; for the stack of `duebell local`, run the "
    "`export` line that `duebell local wait` prints"
)


class Backend(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The store, the rule and its armer, the clock they go by, and the worker's Lambda if it may be called.

    rule      the bell: the rule, or the schedule in its place
    parallel  makes many calls of the store side by side
    alarms    the alarms in CloudWatch; None where there is no CloudWatch
    client    makes more clients of AWS, by the name of a service; None if `connect` did not make this backend
    sqs       counts the messages of queues; None if `connect` did not make this backend
    """

    settings: Settings
    store: Store
    rule: Bell
    clock: Callable[[], datetime] = utc_now
    sleep: Callable[[float], None] = time.sleep
    parallel: Parallel = msgspec.field(default_factory=Parallel)
    function: Function | None = None
    alarms: Alarms | None = None
    client: Callable[..., Any] | None = None
    sqs: Sqs | None = None

    @cached_property
    def armer(self) -> Armer:
        """Changes the arming record and sets the rule."""
        return Armer(
            self.store,
            self.rule,
            lanes=self.settings.lanes,
            head_start=self.settings.head_start,
            clock=self.clock,
            sleep=self.sleep,
            parallel=self.parallel,
            function=self.function,
        )

    @cached_property
    def audit(self) -> "Audit":
        """The notes of changes by editors."""
        from .audit import Audit  # noqa: PLC0415 (runs note none)

        return Audit(self.store, self.settings, self.clock)

    @cached_property
    def _calendars(self) -> "KnownCalendars":
        from .schedules.calendars import Calendars, KnownCalendars  # noqa: PLC0415 (few queues have calendars)

        return KnownCalendars(lambda: self.store.read(Calendars), self.clock)

    def calendar(self, name: str) -> "Calendar":
        """The calendar of this name. Raises InvalidSchedule, and errors of the store."""
        return self._calendars.named(name)

    def attach_calendar(self, task: "Task") -> bool:
        """Give the task's schedule its calendar; False if there is none. Raises errors of the store."""
        schedule = task.recurrence.schedule if task.recurrence else None
        if schedule is None or not schedule.calendar:
            return True
        calendar = self._calendars.recent(schedule.calendar)
        schedule.set_calendar(calendar)
        return calendar is not None

    @classmethod
    def connect(
        cls,
        settings: Settings,
        session: "boto3.Session | botocore.session.Session | None" = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
        parallel: Parallel | None = None,
    ) -> Self:
        """A backend over DynamoDB and the bell, reached by the AWS SDK's own settings. Makes no call yet.

        Raises InvalidSettings when the SDK's settings are incomplete.
        """
        client = client_maker(session)
        try:
            dynamodb = client("dynamodb", config=_DYNAMODB)
            bell = _BELLS[settings.bell]
            ringing = client(bell.service, config=_BELL)
        except NoRegionError:
            raise InvalidSettings("AWS_REGION", _NO_REGION) from None
        except (BotoCoreError, ValueError) as error:
            raise InvalidSettings("AWS settings", str(error)) from None
        name = settings.function
        function = Function(name, lambda: client("lambda", config=_LAMBDA)) if name else None
        alarms = Alarms(settings.rule, lambda one: client(one, config=_WATCHING))
        return cls(
            settings,
            DynamoTable(settings.table, dynamodb, sleep=sleep),
            bell(settings.rule, ringing, clock=clock, sleep=sleep),
            clock=clock,
            sleep=sleep,
            parallel=parallel or Parallel(),
            function=function,
            # An emulator of AWS on this machine notifies nobody.
            alarms=None if is_here(dynamodb.meta.endpoint_url) else alarms,
            client=client,
            sqs=Sqs(client),
        )
