"""EventBridge Scheduler: schedules that invoke functions."""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["Scheduler"]


class Scheduler:
    """Schedules by name."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._schedules: dict[str, dict[str, Any]] = {}

    def create_schedule(self, Name: str, ClientToken: str, **given: Any) -> dict[str, Any]:
        there = self._schedules.get(Name)
        if there and there["ClientToken"] != ClientToken:
            raise refusal("ConflictException", f"the schedule {Name} is there")
        if not there:
            self._set(Name, {**given, "ClientToken": ClientToken})
        return {}

    def update_schedule(self, Name: str, **given: Any) -> dict[str, Any]:
        self._set(Name, {**given, "ClientToken": self._schedule(Name)["ClientToken"]})
        return {}

    def delete_schedule(self, Name: str) -> dict[str, Any]:
        self._schedule(Name)
        del self._schedules[Name]
        return {}

    def list_schedules(self, NamePrefix: str) -> dict[str, Any]:
        names = [name for name in self._schedules if name.startswith(NamePrefix)]
        return {"Schedules": [{"Name": name} for name in names[:100]]}

    def _schedule(self, name: str) -> dict[str, Any]:
        if name not in self._schedules:
            raise refusal("ResourceNotFoundException", f"there is no schedule {name}")
        return self._schedules[name]

    def _set(self, name: str, schedule: dict[str, Any]) -> None:
        self._schedules[name] = schedule
        kind, _, inside = schedule["ScheduleExpression"].removesuffix(")").partition("(")
        if kind == "at":
            self._invoke_at(name, schedule, datetime.fromisoformat(inside).replace(tzinfo=UTC), None)
        else:
            every = timedelta(minutes=int(inside.partition(" ")[0]))
            self._invoke_at(name, schedule, schedule["StartDate"], every)

    def _invoke_at(
        self, name: str, schedule: dict[str, Any], moment: datetime, every: timedelta | None
    ) -> None:
        late = timedelta(seconds=self._account.manners.schedule(self._account.random))

        def invoke() -> None:
            if self._schedules.get(name) is not schedule:  # deleted, or set anew
                return
            self._account.billed["schedule"] += 1
            target = schedule["Target"]
            function = target["Arn"].rpartition(":")[2]
            self._account.functions.invoke_async(function, json.loads(target["Input"]))
            if every:
                self._invoke_at(name, schedule, moment + every, every)
            elif schedule.get("ActionAfterCompletion") == "DELETE":
                del self._schedules[name]

        self._account.world.at(moment + late, invoke)
