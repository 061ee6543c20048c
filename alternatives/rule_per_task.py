"""A table whose stream makes an EventBridge rule for each task, an SNS topic, and a function behind it."""

from typing import Any

from .design import Capabilities, Design, Platform, Refused, Source, Task, decode, passing_over
from .expressions import at_the_minute, rate
from .tables import create_table, delete_table, item_of, stream_to

__all__ = ["RulePerTask", "delete_rule"]

_PREFIX = "rule-per-task-"


class RulePerTask(Design):
    """A rule's one target is the topic: a function would need a permission for each rule.

    The final function deletes the row of a task that runs once, and the stream then deletes its rule: AWS
    keeps a rule that has rung for the last time, and counts it.
    """

    name = "rule-per-task"
    title = "A rule per task"
    sources = (
        Source(
            "How to Build a Robust Dynamic Scheduled Task (Cron) Service in AWS Using SNS, Cloudwatch, "
            "Lambda, and DynamoDB?",
            "https://kapil-jain-ip.medium.com/build-dynamic-scheduled-task-cron-service-aws-serverless-ecac93f0d927",
        ),
    )
    capabilities = Capabilities(
        move="update the row; the stream sets the rule",
        cancel="delete the row; the stream deletes the rule",
        recurring="rate and cron expressions, in UTC",
        listing="the table, by an index of one's own; rules by the beginning of their names",
        fails="called again twice, then dropped",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "300 rules a bus: what is added beyond them stands in the table and is never rung",
            1_000_000: "300 rules a bus",
            100_000_000: "300 rules a bus",
        },
    )

    def deploy(self) -> None:
        create_table(self.platform, self.name, stream=True)
        topic = self.platform.client("sns").create_topic(Name=self.name)["TopicArn"]
        final = self.platform.function(f"{self.name}-executor", execute)
        self.platform.client("sns").subscribe(TopicArn=topic, Protocol="lambda", Endpoint=final)
        stream_to(self.platform, self.name, self.platform.function(f"{self.name}-maker", make_rules))

    def add(self, task: Task) -> None:
        expression = rate(task.every) if task.every else at_the_minute(task.due)
        item = item_of(task, expression={"S": expression})
        self.platform.client("dynamodb").put_item(TableName=self.name, Item=item)

    def move(self, task: Task) -> None:
        if task.every:
            raise Refused(f"the task {task.id} recurs: a rate has no due date to move; cancel it and add it")
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("dynamodb").delete_item(TableName=self.name, Key={"id": {"S": id}})

    def destroy(self) -> None:
        events, sns = self.platform.client("events"), self.platform.client("sns")
        for rule in events.list_rules(NamePrefix=_PREFIX)["Rules"]:
            delete_rule(self.platform, rule["Name"])
        for topic in sns.list_topics()["Topics"]:
            if topic["TopicArn"].endswith(f":{self.name}"):
                sns.delete_topic(TopicArn=topic["TopicArn"])
        delete_table(self.platform, self.name)


def make_rules(event: Any, platform: Platform) -> None:
    """Set the rule of each row that was put, and delete that of each row that was deleted."""
    for record in event["Records"]:
        name = f"{_PREFIX}{record['dynamodb']['Keys']['id']['S']}"
        if record["eventName"] == "REMOVE":
            delete_rule(platform, name)
            continue
        item = record["dynamodb"]["NewImage"]
        topic = platform.client("sns").create_topic(Name=RulePerTask.name)["TopicArn"]
        events = platform.client("events")
        events.put_rule(Name=name, ScheduleExpression=item["expression"]["S"])
        target = {"Id": "topic", "Arn": topic, "Input": item["task"]["S"]}
        events.put_targets(Rule=name, Targets=[target])


def execute(event: Any, platform: Platform) -> None:
    """Act for the task in each message."""
    for record in event["Records"]:
        task = decode(record["Sns"]["Message"])
        platform.act(task.id, task.payload)
        if not task.every:
            RulePerTask(platform).cancel(task.id)


def delete_rule(platform: Platform, name: str) -> None:
    """Delete a rule with its targets, if it is there."""
    events = platform.client("events")
    with passing_over("ResourceNotFoundException"):
        targets = events.list_targets_by_rule(Rule=name)["Targets"]
        if targets:
            events.remove_targets(Rule=name, Ids=[target["Id"] for target in targets])
        events.delete_rule(Name=name)
