"""The one schedule of EventBridge Scheduler that is the bell, where AWS's newer service is wanted.

It rings by the cron expression that a rule would have, with the same echoes, in UTC. A one-time schedule,
`at(…)`, would ring only once: its echoes, which a run that died relies on, would be missing. Nor would it be
more exact: all schedules ring within their minute.
https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
"""

from datetime import datetime
from typing import Any

from .bell import Bell, BellKind, BellState, Setting
from .expression import FAR_SENTINEL

__all__ = ["RingSchedule"]


class RingSchedule(Bell):
    """The schedule of this name in the default group.

    When it rings is ours: its expression in UTC, no flexible window, no start and no end, and it is never
    deleted. All else is given back as it was found.
    """

    kind = BellKind.SCHEDULE
    service = "scheduler"
    setting = "UpdateSchedule"
    sentinel = FAR_SENTINEL

    _service_name = "EventBridge Scheduler"

    # https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UpdateSchedule.html#API_UpdateSchedule_Errors
    _passing = "ConflictException"

    def count_targets(self) -> int:
        """Return 1 without a call: a schedule has exactly one target."""
        return 1

    def _find(self, deadline: datetime) -> dict[str, Any]:
        found: dict[str, Any] = self._call(self._client.get_schedule, deadline, Name=self.name)
        return found

    def _state_of(self, found: dict[str, Any]) -> BellState:
        return BellState(
            expression=found.get("ScheduleExpression", ""),
            state=found.get("State", "ENABLED"),
            description=found.get("Description") or None,
            role=found["Target"].get("RoleArn"),
            arn=found.get("Arn", ""),
        )

    def _setting_of(self, found: dict[str, Any], expression: str) -> Setting:
        kept = {one: found[one] for one in ("Target", "State", "Description", "KmsKeyArn") if found.get(one)}
        return self._client.update_schedule, {
            "Name": self.name,
            "ScheduleExpression": expression,
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "NONE",
            **kept,
        }
