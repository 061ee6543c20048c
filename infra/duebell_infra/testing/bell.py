"""EventBridge in memory, as far as one rule goes."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from duebell_shared.bell.expression import SENTINEL

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

__all__ = ["Bell"]


class Bell:
    """One rule, enabled, with one target."""

    def __init__(self) -> None:
        self._rule: dict[str, Any] = {"ScheduleExpression": SENTINEL, "State": "ENABLED"}

    @property
    def expression(self) -> str:
        """The rule's expression."""
        return str(self._rule["ScheduleExpression"])

    @property
    def client(self) -> "EventBridgeClient":
        """The client that a Rule calls."""
        client = SimpleNamespace(
            describe_rule=lambda **_: dict(self._rule),
            put_rule=self._put_rule,
            list_targets_by_rule=lambda **_: {"Targets": [{}]},
            meta=SimpleNamespace(region_name="nowhere"),
        )
        return cast("EventBridgeClient", client)

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self._rule = {"State": "ENABLED", **arguments}
        return {}
