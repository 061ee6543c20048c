"""EventBridge Scheduler: a schedule for each task, deleted by the service when it has run."""

from typing import Any

import msgspec

from .design import Capabilities, Design, Platform, Source, Task, encode, passing_over
from .expressions import at_the_second, rate
from .tables import ARN_OF_ROLE

__all__ = ["EventBridgeScheduler"]


class EventBridgeScheduler(Design):
    """UpdateSchedule sets back what it is not given, so a move sends all of it."""

    name = "eventbridge-scheduler"
    title = "EventBridge Scheduler"
    sources = (
        Source(
            "Schedule types in EventBridge Scheduler",
            "https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html",
        ),
        Source(
            "Deleting a schedule: deletion after schedule completion",
            "https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html",
        ),
    )
    capabilities = Capabilities(
        move="UpdateSchedule, with every field again",
        cancel="DeleteSchedule",
        recurring="rate and cron expressions in time zones",
        listing="by group, state and the beginning of the name, 100 at a time; not by time",
        fails="called again twice by Lambda, then a dead-letter queue if there is one; the schedule is gone",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "none",
            1_000_000: "none",
            100_000_000: "10 million schedules; AWS raises it on request",
        },
    )

    def deploy(self) -> None:
        self.platform.function(f"{self.name}-executor", execute)

    def add(self, task: Task) -> None:
        scheduler = self.platform.client("scheduler")
        scheduler.create_schedule(
            ClientToken=f"{task.id}-{int(task.due.timestamp())}", **self._schedule(task)
        )

    def move(self, task: Task) -> None:
        self.platform.client("scheduler").update_schedule(**self._schedule(task))

    def cancel(self, id: str) -> None:
        self.platform.client("scheduler").delete_schedule(Name=f"{self.name}-{id}")

    def destroy(self) -> None:
        scheduler = self.platform.client("scheduler")
        while there := scheduler.list_schedules(NamePrefix=f"{self.name}-")["Schedules"]:
            for schedule in there:
                with passing_over("ResourceNotFoundException"):
                    scheduler.delete_schedule(Name=schedule["Name"])

    def _schedule(self, task: Task) -> dict[str, Any]:
        found = self.platform.client("lambda").get_function(FunctionName=f"{self.name}-executor")
        when: dict[str, Any] = {
            "ScheduleExpression": at_the_second(task.due),
            "ActionAfterCompletion": "DELETE",
        }
        if task.every:
            when = {"ScheduleExpression": rate(task.every), "StartDate": task.due}
        return {
            "Name": f"{self.name}-{task.id}",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {
                "Arn": found["Configuration"]["FunctionArn"],
                "RoleArn": ARN_OF_ROLE,
                "Input": encode(task),
            },
            **when,
        }


def execute(event: Any, platform: Platform) -> None:
    """Act; `event` is the task, as its schedule has it."""
    task = msgspec.convert(event, type=Task)
    platform.act(task.id, task.payload)
