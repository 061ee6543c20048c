"""A rule with a date for each task, set directly; cleaned up after it has rung, or not."""

from typing import Any

import msgspec

from .design import Capabilities, Design, Platform, Refused, Source, Task, encode, passing_over
from .expressions import at_the_minute
from .rule_per_task import delete_rule

__all__ = ["OneTimeRules", "OneTimeRulesLeft"]

_SOURCES = (
    Source(
        "Serverless dynamic scheduler (2023), EventBridge rules",
        "https://daaru.medium.com/serverless-dynamic-scheduler-781202a6ec46",
    ),
    Source("aws-lambda-scheduler", "https://github.com/oguzhan-yilmaz/aws-lambda-scheduler"),
)


class OneTimeRules(Design):
    """The function deletes its rule when it has acted."""

    name = "one-time-rules"
    title = "One-time rules"
    sources = _SOURCES
    capabilities = Capabilities(
        move="set the rule anew",
        cancel="delete the rule",
        recurring="",
        listing="rules by the beginning of their names",
        fails="called again twice, then dropped",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "300 rules a bus: PutRule refuses more",
            1_000_000: "300 rules a bus",
            100_000_000: "300 rules a bus",
        },
    )
    _clean_up = True

    def deploy(self) -> None:
        name = f"{self.name}-executor"
        self.platform.function(name, execute_and_clean_up if self._clean_up else execute)
        # One for all rules: with one for each, the function's policy is full at some fifty of them.
        with passing_over("ResourceConflictException"):
            self.platform.client("lambda").add_permission(
                FunctionName=name,
                StatementId="rules",
                Action="lambda:InvokeFunction",
                Principal="events.amazonaws.com",
                SourceArn=f"arn:aws:events:us-east-1:000000000000:rule/{self.name}-*",
            )

    def add(self, task: Task) -> None:
        if task.every:
            raise Refused(f"the task {task.id} recurs, and these rules ring once: give it a rule with a rate")
        events = self.platform.client("events")
        name = f"{self.name}-{task.id}"
        events.put_rule(Name=name, ScheduleExpression=at_the_minute(task.due))
        arn = self.platform.client("lambda").get_function(FunctionName=f"{self.name}-executor")
        target = {"Id": "executor", "Arn": arn["Configuration"]["FunctionArn"], "Input": encode(task)}
        events.put_targets(Rule=name, Targets=[target])

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        delete_rule(self.platform, f"{self.name}-{id}")

    def destroy(self) -> None:
        for rule in self.platform.client("events").list_rules(NamePrefix=f"{self.name}-")["Rules"]:
            delete_rule(self.platform, rule["Name"])


class OneTimeRulesLeft(OneTimeRules):
    """Nobody deletes the rules, and the quota counts all that ever rang."""

    name = "rules-left"
    title = "One-time rules, never deleted"
    capabilities = Capabilities(
        move="set the rule anew",
        cancel="delete the rule",
        recurring="",
        listing="rules by the beginning of their names, those that have rung among them",
        fails="called again twice, then dropped",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "300 rules a bus, for ever: the 301st task is refused",
            1_000_000: "300 rules a bus, for ever",
            100_000_000: "300 rules a bus, for ever",
        },
    )
    _clean_up = False


def execute(event: Any, platform: Platform) -> None:
    """Act; `event` is the task, as its rule has it."""
    task = _task_in(event)
    platform.act(task.id, task.payload)


def execute_and_clean_up(event: Any, platform: Platform) -> None:
    """Act, and delete the rule."""
    execute(event, platform)
    delete_rule(platform, f"{OneTimeRules.name}-{_task_in(event).id}")


def _task_in(event: Any) -> Task:
    return msgspec.convert(event, type=Task)
