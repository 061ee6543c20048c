"""The one EventBridge rule, which is the bell unless it is a schedule."""

from datetime import datetime
from typing import Any

from .bell import CALL_LIMIT, Bell, BellKind, BellState, Setting
from .expression import SENTINEL

__all__ = ["Rule"]


class Rule(Bell):
    """The rule of this name on the default bus. Its targets are not part of setting it."""

    kind = BellKind.RULE
    service = "events"
    setting = "PutRule"
    sentinel = SENTINEL

    _service_name = "EventBridge"

    # PutRule answers it in practice, and no retry mode of the SDK covers it.
    # https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html#API_PutRule_Errors
    _passing = "ConcurrentModificationException"

    def count_targets(self) -> int:
        """Count the targets of the rule. Raises NotDeployed, AwsError."""
        deadline = self._clock() + 3 * CALL_LIMIT
        return len(self._call(self._client.list_targets_by_rule, deadline, Rule=self.name)["Targets"])

    def _find(self, deadline: datetime) -> dict[str, Any]:
        found: dict[str, Any] = self._call(self._client.describe_rule, deadline, Name=self.name)
        return found

    def _state_of(self, found: dict[str, Any]) -> BellState:
        return BellState(
            expression=found.get("ScheduleExpression", ""),
            state=found["State"],
            description=found.get("Description"),
            role=found.get("RoleArn"),
            arn=found.get("Arn", ""),
        )

    def _setting_of(self, found: dict[str, Any], expression: str) -> Setting:
        kept = {one: found[one] for one in ("State", "Description", "RoleArn") if found.get(one)}
        return self._client.put_rule, {"Name": self.name, "ScheduleExpression": expression, **kept}
