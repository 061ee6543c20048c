"""The one EventBridge rule: read it, and set it to a minute. It is created by the stack, never here."""

import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from .endpoint import way_out
from .errors import AwsRefused, AwsUnavailable, NotDeployed
from .expression import expression_at, is_set_for, minute_of
from .instants import utc_now

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

__all__ = ["CALL_LIMIT", "Rule", "RuleState"]

#: The longest that one call to EventBridge may take: the client's connect and read time-outs together.
CALL_LIMIT = timedelta(seconds=6)

#: Seconds between tries, at most; each is jittered.
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0)

#: Refusals of a call, without an effect, that another try may not meet. PutRule answers
#: ConcurrentModificationException in practice, and no retry mode of the SDK covers it.
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html#API_PutRule_Errors
_PASSING = {
    "ConcurrentModificationException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}

#: From this HTTP status on the server failed: the call may have taken effect, or may yet.
_SERVER_FAILED = 500


class RuleState(msgspec.Struct, frozen=True, kw_only=True):
    """The rule as EventBridge has it."""

    expression: str
    state: str
    description: str | None = None
    role: str | None = None
    arn: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """The region and the account that the rule is in; empty if its ARN does not tell."""
        match self.arn.split(":"):
            case [_, _, _, region, account, *_]:
                return region, account
        return "", ""

    @property
    def is_enabled(self) -> bool:
        """Tell whether the rule rings at all; an operator may have disabled it."""
        return self.state != "DISABLED"

    @property
    def minute(self) -> datetime | None:
        """The minute it rings at; None at the sentinel, or at an expression that is not ours."""
        return minute_of(self.expression)

    def is_at(self, minute: datetime | None) -> bool:
        """Tell whether it is set to this minute, or parked for None."""
        return is_set_for(self.expression, minute)


class Rule:
    """The rule of this name on the default bus.

    The client must not retry by itself and must time out within CALL_LIMIT: the arming protocol relies on
    no PutRule landing after its caller's hold on the rule has ended.
    """

    def __init__(
        self,
        name: str,
        client: "EventBridgeClient",
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.puts = 0  # how often the rule was set
        self._client = client
        self._clock = clock
        self._sleep = sleep

    def read(self, *, within: timedelta = 3 * CALL_LIMIT) -> RuleState:
        """The rule as it stands, with no call begun that could end later than `within` from now.

        Raises NotDeployed, AwsError.
        """
        rule = self._call(self._client.describe_rule, self._clock() + within, Name=self.name)
        return RuleState(
            expression=rule.get("ScheduleExpression", ""),
            state=rule["State"],
            description=rule.get("Description"),
            role=rule.get("RoleArn"),
            arn=rule.get("Arn", ""),
        )

    def ring_at(self, minute: datetime | None, *, early: datetime | None = None, within: timedelta) -> bool:
        """Set the rule to ring in `minute`, its echoes and `early`, or park it at the sentinel for None.

        `within` is as in `read`. Returns False if a try before the one that succeeded went unanswered: it may
        take effect yet.

        PutRule resets what it is not given: the state becomes ENABLED and the description empty. So the rule
        is read first and its values given back; a rule that an operator disabled stays disabled. Targets are
        not part of the call. Raises NotDeployed, AwsError; after AwsUnavailable the rule may be set yet.
        """
        deadline = self._clock() + within
        rule = self.read(within=within)
        self.puts += 1
        kept = {"State": rule.state, "Description": rule.description, "RoleArn": rule.role}
        _, went_unanswered = self._try(
            self._client.put_rule,
            deadline,
            Name=self.name,
            ScheduleExpression=expression_at(minute, early=early, now=self._clock()),
            **{name: value for name, value in kept.items() if value},
        )
        return not went_unanswered

    def count_targets(self) -> int:
        """Count the targets of the rule. Raises NotDeployed, AwsError."""
        deadline = self._clock() + 3 * CALL_LIMIT
        return len(self._call(self._client.list_targets_by_rule, deadline, Rule=self.name)["Targets"])

    def _call(self, call: Callable[..., Any], deadline: datetime, **arguments: Any) -> Any:
        answer, _ = self._try(call, deadline, **arguments)
        return answer

    def _try(self, call: Callable[..., Any], deadline: datetime, **arguments: Any) -> tuple[Any, bool]:
        """The answer, and whether a try before it went unanswered: silence, or the server's failure."""
        failure: Exception | None = None
        went_unanswered = False
        for pause in _PAUSES:
            if self._clock() + CALL_LIMIT > deadline:
                break
            try:
                return call(**arguments), went_unanswered
            except ClientError as error:
                failure = error
                if _has_failed_in_the_server(error):
                    went_unanswered = True
                elif not went_unanswered:
                    self._raise_if_refused(error)
            except BotoCoreError as error:
                failure = error
                went_unanswered = True
            self._sleep(random.uniform(pause / 2, pause))
        why = f"{failure or 'out of time'}{way_out(failure)}"
        raise AwsUnavailable(f"EventBridge, rule {self.name!r}: {why}") from failure

    def _raise_if_refused(self, error: ClientError) -> None:
        """Raise what this refusal means, unless another try may succeed."""
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ResourceNotFoundException":
            raise NotDeployed(
                f"there is no EventBridge rule {self.name!r} in {self._client.meta.region_name}: run "
                f"`duebell deploy`, or set DUEBELL_RULE and AWS_REGION to where it is"
            ) from error
        if code not in _PASSING:
            raise AwsRefused(f"EventBridge, rule {self.name!r}: {error}") from error


def _has_failed_in_the_server(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= _SERVER_FAILED
