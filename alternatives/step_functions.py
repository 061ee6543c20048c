"""Step Functions: an execution for each task, which waits until it is due and then acts."""

import json
from datetime import UTC, timedelta
from typing import Any

import msgspec

from .design import Capabilities, Design, Platform, Refused, Source, Task, encode, passing_over
from .tables import ARN_OF_ROLE

__all__ = ["StepFunctions"]

#: An execution lives for a year: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
_LONGEST = timedelta(days=365)


class StepFunctions(Design):
    """An execution's name is the task's id and its due date: a name cannot be taken again for 90 days."""

    name = "step-functions"
    title = "Step Functions Wait"
    sources = (
        Source(
            "Step Functions as an ad-hoc scheduling mechanism (2019)",
            "https://theburningmonk.com/2019/06/step-functions-as-an-ad-hoc-scheduling-mechanism/",
        ),
    )
    capabilities = Capabilities(
        move="stop the execution and start another; finding it takes a list of all that run",
        cancel="stop the execution, once it is found",
        recurring="",
        listing="executions by status, 1,000 at a time; not by time",
        fails="retried as the state machine says; then the execution is kept as failed for 90 days",
        farthest=_LONGEST,
        idle="nothing",
        limits={
            1_000: "none",
            1_000_000: "a million open executions; AWS raises it on request, to some millions",
            100_000_000: "open executions",
        },
    )

    def deploy(self) -> None:
        arn = self.platform.function(f"{self.name}-executor", execute)
        retry = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60, "MaxAttempts": 2, "BackoffRate": 2.0}
        definition = {
            "StartAt": "Wait",
            "States": {
                "Wait": {"Type": "Wait", "TimestampPath": "$.due", "Next": "Act"},
                "Act": {"Type": "Task", "Resource": arn, "Retry": [retry], "End": True},
            },
        }
        sfn = self.platform.client("stepfunctions")
        # With the same definition it is the same state machine.
        sfn.create_state_machine(name=self.name, definition=json.dumps(definition), roleArn=ARN_OF_ROLE)

    def add(self, task: Task) -> None:
        if task.every:
            raise Refused(f"the task {task.id} recurs, and a workflow's history ends: start it by a schedule")
        if task.due > self.platform.now() + _LONGEST:
            raise Refused(
                f"the task {task.id} is due in more than a year, when its execution ends: add it later"
            )
        whole = task.due.astimezone(UTC).replace(microsecond=0) + timedelta(
            seconds=bool(task.due.microsecond)
        )
        wanted = json.loads(encode(msgspec.structs.replace(task, due=whole)))
        self.platform.client("stepfunctions").start_execution(
            stateMachineArn=self._machine(), name=f"{task.id}.{whole:%Y%m%dT%H%M%S}", input=json.dumps(wanted)
        )

    def move(self, task: Task) -> None:
        self.cancel(task.id)
        self.add(task)

    def cancel(self, id: str) -> None:
        sfn = self.platform.client("stepfunctions")
        for execution in self._running():
            if execution["name"].rpartition(".")[0] == id:
                sfn.stop_execution(executionArn=execution["executionArn"])

    def destroy(self) -> None:
        sfn = self.platform.client("stepfunctions")
        with passing_over("StateMachineDoesNotExist"):
            for execution in self._running():
                sfn.stop_execution(executionArn=execution["executionArn"])
            sfn.delete_state_machine(stateMachineArn=self._machine())

    def _machine(self) -> str:
        return f"arn:aws:states:us-east-1:000000000000:stateMachine:{self.name}"

    def _running(self) -> list[dict[str, Any]]:
        sfn = self.platform.client("stepfunctions")
        found: list[dict[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            page = sfn.list_executions(stateMachineArn=self._machine(), statusFilter="RUNNING", **start)
            found += page["executions"]
            if "nextToken" not in page:
                return found
            start = {"nextToken": page["nextToken"]}


def execute(event: Any, platform: Platform) -> None:
    """Act; `event` is the execution's input, the task."""
    task = msgspec.convert(event, type=Task)
    platform.act(task.id, task.payload)
