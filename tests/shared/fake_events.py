"""EventBridge in memory, with one rule or one schedule: slow, refusing or silent when a test says so."""

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from tests.support import SCHEDULED, Clock

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

Trouble = Callable[[], None]


def refusal(code: str, status: int = 400) -> Trouble:
    """A call that AWS answers with this error, and this HTTP status."""
    answer: Any = {
        "Error": {"Code": code, "Message": "as the test wants it"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }

    def trouble() -> None:
        raise ClientError(answer, "PutRule")

    return trouble


def silence(clock: Clock, seconds: float = 6) -> Trouble:
    """A call that nobody answers in time."""

    def trouble() -> None:
        clock.sleep(seconds)
        raise ReadTimeoutError(endpoint_url="https://events.example")

    return trouble


class FakeEvents:
    """The one rule and what became of it; `troubles` come at the next calls of that name, in turn."""

    kind = BellKind.RULE
    sentinel = SENTINEL
    busy = "ConcurrentModificationException"

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rule: dict[str, Any] = {"ScheduleExpression": self.sentinel, "State": "ENABLED"}
        self.put: list[dict[str, Any]] = []
        self.described = 0
        self.targets = 1
        self.troubles: dict[str, list[Trouble]] = defaultdict(list)

    @property
    def expression(self) -> str:
        """The time that the rule is set to."""
        return str(self.rule["ScheduleExpression"])

    @property
    def client(self) -> "EventBridgeClient":
        """The calls that a Rule makes."""
        client = SimpleNamespace(
            describe_rule=self._describe_rule,
            put_rule=self._put_rule,
            list_targets_by_rule=lambda **_: {"Targets": [{}] * self.targets},
            meta=SimpleNamespace(region_name="eu-central-1"),
        )
        return cast("EventBridgeClient", client)

    def _describe_rule(self, **_: Any) -> dict[str, Any]:
        self.described += 1
        self._be_troubled("DescribeRule")
        return dict(self.rule)

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self.put.append(arguments)
        self._be_troubled("PutRule")
        self.rule = {"State": "ENABLED", **arguments}  # what is not given is gone
        return {}

    def _be_troubled(self, call: str) -> None:
        if self.troubles[call]:
            self.troubles[call].pop(0)()


class FakeScheduler(FakeEvents):
    """The same of EventBridge Scheduler: `troubles` of a rule's calls come at those of its one schedule."""

    kind = BellKind.SCHEDULE
    sentinel = FAR_SENTINEL
    busy = "ConflictException"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.rule["Target"] = SCHEDULED

    @property
    def client(self) -> Any:
        """The calls that a RingSchedule makes."""
        return SimpleNamespace(
            get_schedule=self._describe_rule,
            update_schedule=self._put_rule,
            meta=SimpleNamespace(region_name="eu-central-1"),
        )
