"""The scene of the checks: the scheduler, AWS's answers, the tasks of their own, and how to wait."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config

from duebell_editor import Editor
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.instants import NEVER
from duebell_shared.queue.store import Store

from .answers import Answers
from .own_tasks import OwnTasks

__all__ = ["Scene"]

_CLIENT = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})


@dataclass(kw_only=True)
class Scene:
    """One verify.

    function           the worker's name: as set, or else that of the bell's target
    is_set             whether it is set, so that editors call it
    conditions_hold    whether a write under a condition that did not hold was seen to change nothing
    progress           is told what the verify waits for
    """

    session: boto3.Session
    backend: Backend
    editor: Editor
    answers: Answers
    own: OwnTasks
    progress: Callable[[str], None]
    function: str | None = None
    is_set: bool = True
    conditions_hold: bool = False

    @property
    def store(self) -> Store:
        """The queue."""
        return self.backend.store

    def now(self) -> datetime:
        """The time, by the backend's clock."""
        return self.backend.clock()

    def client(self, service: str) -> Any:
        """A client of this service, which gives up in good time."""
        return self.session.client(service, config=_CLIENT)  # type: ignore[call-overload]

    def wait(self, is_so: Callable[[], bool], *, until: datetime, every: float = 1.0) -> bool:
        """Wait until it is so; False if it is not by then. AWS is asked at least once."""
        while not is_so():
            if self.now() >= until:
                return False
            self.backend.sleep(every)
        return True

    def rings_within(self, moment: timedelta) -> bool:
        """Return True if the bell rings so soon that it is left alone."""
        record = self.backend.armer.read()
        rings = [record.target] + ([record.rings_at] if record.rings_at else [])
        return min(rings) != NEVER and min(rings) < self.now() + moment

    def target(self) -> dict[str, Any] | None:
        """The bell's target that is the worker: the Lambda of the name that is set, else the first Lambda.

        Raises NotDeployed, AwsError.
        """
        targets = self._targets()
        functions = [one for one in targets if ":lambda:" in one.get("Arn", "")]
        named = [one for one in functions if _name_in(one["Arn"]) == self.function]
        return next(iter(named or functions), None)

    def _targets(self) -> list[dict[str, Any]]:
        """All that the bell wakes."""
        if self.backend.rule.kind is BellKind.SCHEDULE:
            self.backend.rule.read()
            return [self.answers.of("GetSchedule")[-1].parsed["Target"]]
        self.backend.rule.count_targets()
        listed: list[dict[str, Any]] = self.answers.of("ListTargetsByRule")[-1].parsed["Targets"]
        return listed

    def target_function(self) -> str | None:
        """The name of the Lambda that the bell wakes."""
        target = self.target()
        return _name_in(target["Arn"]) if target else None


def _name_in(arn: str) -> str:
    """The function's name in its ARN, with the alias or version if it has one: `duebell`, `duebell:live`."""
    return arn.partition(":function:")[2]
