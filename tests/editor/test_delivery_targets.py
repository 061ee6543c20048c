"""The doctor looks at the targets of deliveries: there, missing, or not to be looked at."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from duebell import Editor
from duebell_editor.status.health import ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.deliveries.delivery import target_of
from duebell_shared.instants import utc_now
from duebell_shared.tasks.worker_record import ActionDescription, WorkerDescription, WorkerRecord
from tests.support import REGION, create_function

pytestmark = pytest.mark.moto

HERE = f"{REGION}:123456789012"


STATES = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})
ROLE = "arn:aws:iam::123456789012:role/made"
APP: Any = [{"name": "app", "image": "app", "memory": 128}]


def make(session: boto3.Session, kind: str) -> str:
    """A target of this kind; its ARN."""
    if kind == "queue":
        session.client("sqs").create_queue(QueueName="made")
        return f"arn:aws:sqs:{HERE}:made"
    if kind == "topic":
        return str(session.client("sns").create_topic(Name="made")["TopicArn"])
    if kind == "bus":
        return str(session.client("events").create_event_bus(Name="made")["EventBusArn"])
    if kind == "state machine":
        states = session.client("stepfunctions")
        machine = states.create_state_machine(name="made", definition=STATES, roleArn=ROLE)
        return str(machine["stateMachineArn"])
    if kind == "task definition":
        made = session.client("ecs").register_task_definition(family="made", containerDefinitions=APP)
        return str(made["taskDefinition"]["taskDefinitionArn"])
    return create_function(session, "made")


def deliver(backend: Backend, **targets: str) -> None:
    """Have the worker make itself known with these deliveries."""
    worker = WorkerDescription(
        version="1",
        duebell="1",
        python="3.13",
        tzdata="2026f",
        started_at=utc_now(),
        actions=tuple(
            ActionDescription(name=name, attempts=5, schema={}, kind=str(target_of(to).kind), to=to)
            for name, to in targets.items()
        ),
    )
    record = backend.store.read(WorkerRecord)
    assert backend.store.swap(record, (record or WorkerRecord()).started(worker, ()))


@pytest.mark.parametrize("kind", ["queue", "topic", "bus", "function", "state machine", "task definition"])
def test_a_target_is_there_or_it_is_a_problem(
    editor: Editor, backend: Backend, session: boto3.Session, kind: str
) -> None:
    arn = make(session, kind)
    assert str(target_of(arn).kind) == kind.removeprefix("fifo ")
    deliver(backend, remind=arn)
    assert editor.doctor().status.healthy
    # One that was never made, or is gone
    missing = arn.replace("made", "gone")
    deliver(backend, remind=arn, end=missing)
    diagnosis = editor.doctor()
    [problem] = diagnosis.status.problems
    assert problem.kind is ProblemKind.DELIVERY
    assert problem.what.startswith(f"the delivery 'end' goes to {missing}, and there is no such {kind}")
    assert "duebell deploy --deliver" in problem.way_out
    # And that the rule is set does not mend it
    assert editor.doctor(fix=True).status.problems == (problem,)
    # The status, which is asked for often, does not look
    assert editor.status().healthy


@pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "Get"),
        EndpointConnectionError(endpoint_url="https://nowhere"),
    ],
    ids=["refused", "unanswered"],
)
def test_a_target_that_may_not_be_looked_at_is_unknown_and_no_problem(
    editor: Editor, backend: Backend, session: boto3.Session, failure: Exception
) -> None:
    def refuse(**_: Any) -> None:
        raise failure

    session.events.register("before-call.sqs.GetQueueAttributes", refuse)
    deliver(backend, remind=make(session, "queue"))
    diagnosis = editor.doctor()
    assert diagnosis.status.healthy
    unknown = next(one for one in diagnosis.advice if one.kind is ProblemKind.UNSEEN)
    assert "it is not known whether the target of the delivery 'remind' exists" in unknown.what
    assert ("(AccessDenied)" in unknown.what) is isinstance(failure, ClientError)


def test_a_target_is_looked_at_in_its_own_region(
    editor: Editor, backend: Backend, session: boto3.Session
) -> None:
    other = "us-west-2"
    session.client("sqs", region_name=other).create_queue(QueueName="made")
    deliver(backend, remind=f"arn:aws:sqs:{other}:123456789012:made")
    assert editor.doctor().status.healthy


def test_to_an_address_nothing_is_sent(editor: Editor, backend: Backend) -> None:
    deliver(backend, tell="https://nowhere.example.com")
    diagnosis = editor.doctor()
    assert diagnosis.status.healthy
    assert not [one for one in diagnosis.advice if "delivery" in one.what]
