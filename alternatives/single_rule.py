"""The published single-rule scheduler with its faults as they are: a table, a rule for its earliest task.

It is a proof of concept, and says so. To add: read the whole table, set the rule if no task is earlier, put
the task. To run: read the whole table, act for what is due in its order, set the rule to the first that is
not. Nothing stands between two callers, nothing sets the rule again when one is lost, and a cron expression
has no seconds, so the rule may ring before the task is due, and never again in that minute.
"""

import logging
from datetime import datetime
from typing import Any

from .design import Capabilities, Design, Platform, Refused, Source, Task
from .expressions import cron_at
from .rule_per_task import delete_rule
from .tables import all_items, create_table, delete_table, item_of, task_in

__all__ = ["NEVER", "SingleRule"]

_LOG = logging.getLogger("alternatives")

#: A minute that is over.
NEVER = "cron(0 0 1 1 ? 1970)"


class SingleRule(Design):
    """Its template has the rule's expression, so deploying it again sets the rule back."""

    name = "single-rule"
    title = "A single rule, as published"
    sources = (
        Source(
            "Schedule AWS Lambda Invocations: How to Build Slow Schedulers (2020)",
            "https://www.inovex.de/de/blog/schedule-aws-lambda-invocations-how-slow-schedulers/",
        ),
        Source("Its proof of concept", "https://github.com/inovex/cloudwatch-scheduler"),
    )
    capabilities = Capabilities(
        move="add it again; the rule stays where it is until it rings",
        cancel="delete the item; the rule rings for nothing",
        recurring="",
        listing="a scan of the table",
        fails="stays in the table and is tried with each ring; no add sets the rule any more",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "none, but each add reads all of it",
            1_000_000: "each add reads the whole table: 100 MB and $1.53 for a thousand of them",
            100_000_000: "each add reads the whole table: 10 GB; a run ends before it has read it",
        },
    )

    def deploy(self) -> None:
        create_table(self.platform, self.name)
        arn = self.platform.function(f"{self.name}-executor", execute)
        _set_rule(self.platform, NEVER)
        target = {"Id": "executor", "Arn": arn}
        self.platform.client("events").put_targets(Rule=self.name, Targets=[target])

    def add(self, task: Task) -> None:
        if task.every:
            raise Refused(
                f"the task {task.id} recurs, and this queue's tasks run once: add it after each time"
            )
        there = [task_in(item).due for item in all_items(self.platform, self.name)]
        if all(_seconds(due) >= _seconds(task.due) for due in there):
            _set_rule(self.platform, cron_at(task.due))
        self.platform.client("dynamodb").put_item(TableName=self.name, Item=item_of(task))

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("dynamodb").delete_item(TableName=self.name, Key={"id": {"S": id}})

    def destroy(self) -> None:
        delete_rule(self.platform, self.name)
        delete_table(self.platform, self.name)


def execute(_: Any, platform: Platform) -> None:
    """Act for what is due, the earliest first, and set the rule to what comes next, or to never."""
    now = platform.now()
    tasks = [task_in(item) for item in all_items(platform, SingleRule.name)]
    for task in sorted(tasks, key=lambda task: task.due):
        if _seconds(task.due) > _seconds(now):
            _set_rule(platform, cron_at(task.due))
            return
        try:
            platform.act(task.id, task.payload)
        except Exception as error:  # noqa: BLE001 (it logs this and goes on)
            _LOG.warning("the task %s failed: %r", task.id, error)
            continue
        SingleRule(platform).cancel(task.id)
    _set_rule(platform, NEVER)


def _set_rule(platform: Platform, expression: str) -> None:
    platform.client("events").put_rule(Name=SingleRule.name, ScheduleExpression=expression)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
