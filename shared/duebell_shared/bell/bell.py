"""The bell, which wakes the worker: read it, and set it to a minute. It is created by the stack, never here.

It is one EventBridge rule, or one schedule of EventBridge Scheduler. Both ring by the same cron expressions,
in UTC, somewhere within the minute. Both take a short time until a change takes effect, and have no
compare-and-set.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.aws_session import way_out
from duebell_shared.backoff import pause
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.instants import utc_now
from duebell_shared.quoting import quoted

from .expression import FAR_SENTINEL, SENTINEL, expression_at, is_set_for

#: A call, and its arguments.
_SettingCall = tuple[Callable[..., Any], dict[str, Any]]

#: The longest that one call about the bell may take: the client's connect and read time-outs together.
CALL_LIMIT = timedelta(seconds=6)

#: AWS accepts a call for this time after its signature, so an unanswered call may take effect until then.
#: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
_ACCEPTED_FOR = timedelta(minutes=5)

#: Tries of a call that fails.
_TRIES = 8

#: Refusals that had no effect, and after which another try may succeed. In practice, PutRule answers with the
#: first and UpdateSchedule with the second. No retry mode of the SDK covers these two.
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html#API_PutRule_Errors
#: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UpdateSchedule.html#API_UpdateSchedule_Errors
_PASSING = {
    "ConcurrentModificationException",
    "ConflictException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}

#: From this HTTP status on the server failed: the call may have taken effect, or may still do so.
_SERVER_FAILED = 500


class BellKind(StrEnum):
    """The kinds of bell: a rule of EventBridge, or a schedule of EventBridge Scheduler."""

    RULE = "rule"
    SCHEDULE = "schedule"


class BellState(msgspec.Struct, frozen=True, kw_only=True):
    """The bell as AWS has it.

    role  the role of a rule itself; for a schedule, the role in which it calls its target
    """

    expression: str
    state: str
    description: str | None = None
    role: str | None = None
    arn: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """The region and the account that the bell is in; empty if its ARN has none."""
        match self.arn.split(":"):
            case [_, _, _, region, account, *_]:
                return region, account
        return "", ""

    @property
    def is_enabled(self) -> bool:
        """Tell whether the bell rings at all; an operator may have disabled it."""
        return self.state != "DISABLED"

    def is_at(self, minute: datetime | None) -> bool:
        """Tell whether it is set to this minute, or parked for None."""
        return is_set_for(self.expression, minute)


class Bell(ABC):
    """The bell of this name, of one kind.

    The client must not retry by itself, and must time out within CALL_LIMIT. The arming protocol relies on
    that: no call that sets the bell may take effect after the end of its caller's hold.

    kind       the kind of bell, as messages name it
    service    the name of the client in the AWS SDK
    setting    the operation that sets it
    sentinel   the expression of a parked bell
    """

    kind: ClassVar[BellKind]
    service: ClassVar[str]
    setting: ClassVar[str]
    sentinel: ClassVar[str]

    #: The service's name for people, and the client's method that reads the bell.
    _service_name: ClassVar[str]
    _reads: ClassVar[str]

    def __init__(
        self,
        name: str,
        client: Any,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.puts = 0  # how often the bell was set
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self._unanswered_at: datetime | None = None

    def read(self) -> BellState:
        """The bell as AWS has it now. Raises NotDeployed, AwsError."""
        found = self._find(self._clock() + 3 * CALL_LIMIT)
        return BellState(
            expression=found.get("ScheduleExpression", ""),
            state=found.get("State", "ENABLED"),
            description=found.get("Description") or None,
            role=found.get("Target", found).get("RoleArn"),
            arn=found.get("Arn", ""),
        )

    def ring_at(self, minute: datetime | None, *, early: datetime | None = None, within: timedelta) -> bool:
        """Set the bell to ring in `minute`, its echoes and `early`, or park it at the sentinel for None.

        No call is begun that could end later than `within` from now. Returns False if an earlier try of this
        call went unanswered: it may still take effect. The call resets every field that it is not given, so
        the values that were read are given back: a bell that an operator disabled stays disabled. Raises
        NotDeployed, AwsError; after AwsUnavailable the call may still take effect.
        """
        deadline = self._clock() + within
        found = self._find(deadline)
        self.puts += 1
        expression = expression_at(minute, early=early, now=self._clock()) if minute else self.sentinel
        call, arguments = self._setting_of(found, expression)
        began = self._clock()
        self._call(call, deadline, sets=True, **arguments)
        return self._unanswered_at is None or self._unanswered_at < began

    def may_change_for(self) -> timedelta:
        """Return how long an unanswered setting of this process may still take effect; 0 if there is none."""
        left = self._unanswered_at + _ACCEPTED_FOR - self._clock() if self._unanswered_at else timedelta(0)
        return max(left, timedelta(0))

    @abstractmethod
    def count_targets(self) -> int:
        """Count the targets of the bell. Raises NotDeployed, AwsError."""

    def _find(self, deadline: datetime) -> dict[str, Any]:
        found: dict[str, Any] = self._call(getattr(self._client, self._reads), deadline, Name=self.name)
        return found

    @abstractmethod
    def _setting_of(self, found: dict[str, Any], expression: str) -> _SettingCall:
        """The call that sets the expression, and leaves all other fields as they were found."""

    def _call(
        self, call: Callable[..., Any], deadline: datetime, *, sets: bool = False, **arguments: Any
    ) -> Any:
        """Return the answer. If it `sets` the bell, note a try without an answer or with status 500."""
        failure: Exception | None = None
        went_unanswered = False
        for tries in range(_TRIES):
            if self._clock() + CALL_LIMIT > deadline:
                break
            try:
                return call(**arguments)
            except (ClientError, BotoCoreError) as error:
                failure = error
                if not isinstance(error, ClientError) or _has_failed_in_the_server(error):
                    went_unanswered = True
                    if sets:
                        self._unanswered_at = self._clock()
                elif not went_unanswered:
                    self._raise_if_refused(error)
            self._sleep(pause(tries, 0.1, 2.0))
        why = f"{failure or 'out of time'}{way_out(failure)}"
        raise AwsUnavailable(f"{self._label}: {why}") from failure

    def _raise_if_refused(self, error: ClientError) -> None:
        """Raise what this refusal means, unless another try may succeed."""
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ResourceNotFoundException":
            raise NotDeployed(
                f"there is no {self._service_name} {self.kind} {quoted(self.name)} in "
                f"{self._client.meta.region_name}: run `duebell deploy`, or set DUEBELL_RULE, DUEBELL_BELL "
                f"and AWS_REGION to where it is"
            ) from error
        if code not in _PASSING:
            raise AwsRefused(f"{self._label}: {error}") from error

    @property
    def _label(self) -> str:
        return f"{self._service_name}, {self.kind} {quoted(self.name)}"


class Rule(Bell):
    """The rule of this name on the default bus. Its targets are not part of setting it."""

    kind = BellKind.RULE
    service = "events"
    setting = "PutRule"
    sentinel = SENTINEL

    _service_name, _reads = "EventBridge", "describe_rule"

    def count_targets(self) -> int:
        """Count the targets of the rule. Raises NotDeployed, AwsError."""
        deadline = self._clock() + 3 * CALL_LIMIT
        return len(self._call(self._client.list_targets_by_rule, deadline, Rule=self.name)["Targets"])

    def _setting_of(self, found: dict[str, Any], expression: str) -> _SettingCall:
        kept = {one: found[one] for one in ("State", "Description", "RoleArn") if found.get(one)}
        return self._client.put_rule, {"Name": self.name, "ScheduleExpression": expression, **kept}


class RingSchedule(Bell):
    """The schedule of this name in the default group of EventBridge Scheduler, AWS's newer service.

    It rings by the cron expression that a rule would have. A one-time schedule, `at(…)`, would ring only
    once: its echoes would be missing, and it would not be more exact. All else is given back as it was found.
    https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """

    kind = BellKind.SCHEDULE
    service = "scheduler"
    setting = "UpdateSchedule"
    sentinel = FAR_SENTINEL

    _service_name, _reads = "EventBridge Scheduler", "get_schedule"

    def count_targets(self) -> int:
        """Return 1 without a call: a schedule has exactly one target."""
        return 1

    def _setting_of(self, found: dict[str, Any], expression: str) -> _SettingCall:
        kept = {one: found[one] for one in ("Target", "State", "Description", "KmsKeyArn") if found.get(one)}
        return self._client.update_schedule, {
            "Name": self.name,
            "ScheduleExpression": expression,
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "NONE",
            **kept,
        }


def _has_failed_in_the_server(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= _SERVER_FAILED
