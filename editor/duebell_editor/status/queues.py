"""The queues as status and doctor see them: what waits in the intake, who takes it, and all dead letters."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.intake_queue import DEAD_LETTERS, IntakeQueue, is_missing
from duebell_shared.backend import Backend
from duebell_shared.quoting import in_brief, quoted

from .health import Problem, ProblemKind, SchedulerStatus

__all__ = ["look_at_queues", "with_queues"]

#: Only a person who asks the doctor waits for these.
_LOOKING = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})

#: SQS measures the age once a minute, and not where a queue has been idle for hours.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-monitoring-using-cloudwatch.html
_MEASURED, _MINUTE = timedelta(minutes=10), timedelta(minutes=1)

#: The states of a mapping that takes no messages, now or soon.
#: https://docs.aws.amazon.com/lambda/latest/api/API_GetEventSourceMapping.html
_IDLE = {"Disabled", "Disabling", "Deleting"}


def with_queues(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """The status with the messages of the intake queue, if there is one, and of all dead-letter queues.

    Where they may not be counted, or SQS does not answer, there are no counts, and the doctor says why.
    """
    sqs, place = backend.sqs, {"region": status.region, "account": status.account}
    if sqs is None or not status.region:
        return status
    for field, name, what in (
        ("lost_rings", f"{status.rule}-lost-rings", "rings did not reach the worker"),
        ("failed_runs", f"{status.rule}-failed-runs", "runs failed to the last of Lambda's tries"),
    ):
        with suppress(ClientError, BotoCoreError):
            count = sqs.count(name, **place)
            status = msgspec.structs.replace(status, **{field: count})
            if count:
                status = status.with_problems(_left_problem(name, count, what))
    if backend.intake is None:
        return status
    try:
        counts = backend.intake.counts(**place)
    except (ClientError, BotoCoreError) as error:
        return status.with_problems(_missing_problem(backend.intake.name)) if is_missing(error) else status
    status = msgspec.structs.replace(
        status, intake_waiting=counts.waiting, intake_dead_letters=counts.dead_letters
    )
    dead = counts.dead_letters
    return status.with_problems(_dead_letters_problem(dead)) if dead else status


def look_at_queues(status: SchedulerStatus, backend: Backend) -> tuple[SchedulerStatus, tuple[Problem, ...]]:
    """The status with the problems that take more reads to find, and with the reads that failed."""
    queue, connect = backend.intake, backend.client
    if connect is None or not status.region:
        return status, ()
    unseen = []
    if status.lost_rings is None or status.failed_runs is None:
        unseen.append(
            _unseen_problem("lost rings or failed runs could not be counted: sqs:GetQueueAttributes")
        )
    if queue is None:
        return status, tuple(unseen)
    if status.intake_waiting is None and not any(one.kind is ProblemKind.INTAKE for one in status.problems):
        unseen.append(_unseen_problem("the intake's messages could not be counted: sqs:GetQueueAttributes"))
    try:
        functions = connect("lambda", config=_LOOKING)
        problem = _mapping_problem(functions, queue, status, backend.settings.function)
        status = status.with_problems(problem) if problem else status
    except (ClientError, BotoCoreError) as error:
        unseen.append(_unseen_problem(f"lambda:ListEventSourceMappings: {in_brief(error)}"))
    if backend.alarms is not None:  # a stack on this machine measures nothing
        status = _with_ages(status, connect("cloudwatch", config=_LOOKING), queue, backend.clock())
    return status, tuple(unseen)


def _with_ages(
    status: SchedulerStatus, cloudwatch: Any, queue: IntakeQueue, now: datetime
) -> SchedulerStatus:
    """The problem of dead letters says since when there are some, where CloudWatch may tell."""

    def dated(problem: Problem) -> Problem:
        if problem.kind is not ProblemKind.INTAKE_DEAD_LETTERS:
            return problem
        return msgspec.structs.replace(problem, at=_oldest(cloudwatch, queue.name + DEAD_LETTERS, now))

    status = msgspec.structs.replace(status, problems=tuple(map(dated, status.problems)))
    since = _oldest(cloudwatch, queue.name, now) if status.intake_waiting else None
    return msgspec.structs.replace(status, intake_since=since)


def _oldest(cloudwatch: Any, queue: str, now: datetime) -> datetime | None:
    """The time at which the oldest message of a queue was sent; None if that is not known."""
    try:
        points = cloudwatch.get_metric_statistics(
            Namespace="AWS/SQS",
            MetricName="ApproximateAgeOfOldestMessage",
            Dimensions=[{"Name": "QueueName", "Value": queue}],
            StartTime=now - _MEASURED,
            EndTime=now,
            Period=_MINUTE // timedelta(seconds=1),
            Statistics=["Maximum"],
        )["Datapoints"]
    except (ClientError, BotoCoreError):
        return None
    latest = max(points, key=lambda point: point["Timestamp"], default=None)
    return now - timedelta(seconds=latest["Maximum"]) if latest and latest["Maximum"] else None


def _mapping_problem(
    functions: Any, queue: IntakeQueue, status: SchedulerStatus, function: str | None
) -> Problem | None:
    """The problem of an event source mapping that takes no messages, or is not there."""
    arn = f"arn:{functions.meta.partition}:sqs:{status.region}:{status.account}:{queue.name}"
    pages = functions.get_paginator("list_event_source_mappings").paginate(EventSourceArn=arn)
    mappings = [one for page in pages for one in page["EventSourceMappings"]]
    own = f":{function}" if function else ""  # without a name, any function that takes them will do
    states = [one["State"] for one in mappings if one["FunctionArn"].endswith(own)]
    if any(state not in _IDLE for state in states):
        return None
    what = f"its event source mapping is {states[0]}" if states else "it has no event source mapping"
    return Problem(
        kind=ProblemKind.INTAKE_IDLE,
        what=f"nobody takes messages from the intake queue {quoted(queue.name)}: {what}",
        way_out="enable it: `aws lambda update-event-source-mapping --uuid UUID --enabled`"
        if states
        else "`duebell deploy --intake` makes it",
    )


def _missing_problem(queue: str) -> Problem:
    return Problem(
        kind=ProblemKind.INTAKE,
        what=f"there is no intake queue {quoted(queue)}, or no dead-letter queue of it",
        way_out="`duebell deploy --intake` makes them; without an intake, take DUEBELL_INTAKE out of the "
        "environment",
    )


def _dead_letters_problem(count: int) -> Problem:
    return Problem(
        kind=ProblemKind.INTAKE_DEAD_LETTERS,
        what=f"{count:,} {'message' if count == 1 else 'messages'} of the intake queue could not be taken",
        way_out="look at them in its dead-letter queue: the attribute duebell-reason says why; send what is "
        "right once more, and delete them",
    )


def _left_problem(queue: str, count: int, what: str) -> Problem:
    messages = "1 message is" if count == 1 else f"{count:,} messages are"
    return Problem(
        kind=ProblemKind.DEAD_LETTERS,
        what=f"{what}: {messages} in the queue {quoted(queue)}",
        way_out="read them there, remove the cause, then purge the queue: "
        f"`aws sqs purge-queue --queue-url $(aws sqs get-queue-url --queue-name {queue} --output text)`",
    )


def _unseen_problem(why: str) -> Problem:
    return Problem(
        kind=ProblemKind.UNSEEN_QUEUE,
        what=f"whether the queues are well is not known: {why}",
        way_out="give whoever runs this the permission",
    )
