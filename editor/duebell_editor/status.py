"""How the scheduler stands: the rule, the arming record and the queue's heads, held against each other."""

from datetime import datetime

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.instants import NEVER
from duebell_shared.rule import RuleState, expression_at

__all__ = ["SchedulerStatus", "read_status"]


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the scheduler stands at one moment. Times are UTC.

    table, rule  where it lives
    expression   the rule's cron expression, as EventBridge has it; empty if it could not be read
    enabled      whether the rule rings at all
    rings_at     the minute it rings at; None when it is parked
    next_due     when the earliest task in the queue shall be looked at; None when none waits
    armed        whether the rule is confirmed to be where the queue needs it
    lanes        partitions of the queue
    running      how many of these a run holds at this moment
    problems     what is wrong, in words, each with the way out; empty when all is well
    """

    table: str
    rule: str
    expression: str
    enabled: bool
    rings_at: datetime | None
    next_due: datetime | None
    armed: bool
    lanes: int
    running: int
    problems: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def read_status(backend: Backend) -> SchedulerStatus:
    """Look at the record, the rule and each lane's head. Raises NotDeployed, AwsError for the table."""
    record = backend.armer.read()
    now = backend.clock()
    next_due = min(backend.store.head(lane) for lane in range(len(record.lanes)))
    problems = []
    rule: RuleState | None = None
    try:
        rule = backend.rule.read()
        if not backend.rule.count_targets():
            problems.append(
                f"rule {backend.rule.name!r} has no target, so it wakes nobody: run `duebell deploy`"
            )
    except (NotDeployed, AwsRefused) as error:
        problems.append(str(error))
    is_settled = record.is_settled(now)
    if not is_settled and record.target != NEVER:
        problems.append("the rule is not confirmed to be where the queue needs it: call ensure_armed()")
    if rule and not rule.is_enabled:
        problems.append(f"rule {backend.rule.name!r} is disabled, so nothing runs: enable it in EventBridge")
    if rule and is_settled and rule.expression != expression_at(record.rings_at):
        problems.append(
            f"the rule is at {rule.expression} and should be at {expression_at(record.rings_at)}: "
            f"something else changed it; call ensure_armed()"
        )
    return SchedulerStatus(
        table=backend.settings.table,
        rule=backend.rule.name,
        expression=rule.expression if rule else "",
        enabled=rule is not None and rule.is_enabled,
        rings_at=rule.minute if rule else None,
        next_due=None if next_due == NEVER else next_due,
        armed=is_settled,
        lanes=len(record.lanes),
        running=sum(not lane.is_free(now) for lane in record.lanes),
        problems=tuple(problems),
    )
