"""Status and doctor look at the intake queue: what waits, the dead letters, and who takes the messages."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from duebell import Editor
from duebell_editor.status.health import ProblemKind
from duebell_shared.aws.alarms import Alarms
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from tests.support import REGION, Calls, Clock, create_function, let_ring

pytestmark = pytest.mark.moto

NAME = "duebell-intake"
HERE = f"{REGION}:123456789012"


@pytest.fixture
def queues(session: boto3.Session) -> Any:
    sqs: Any = boto3.client("sqs", region_name=REGION)
    for name in (NAME, f"{NAME}-dead-letters"):
        sqs.create_queue(QueueName=name)
    return sqs


@pytest.fixture
def mapping(session: boto3.Session, queues: Any) -> str:
    """The mapping by which the worker takes messages; its id. With messages, moto would start Docker."""
    functions = boto3.client("lambda", region_name=REGION)
    create_function(session)
    let_ring(session)
    made = functions.create_event_source_mapping(
        FunctionName="duebell", EventSourceArn=f"arn:aws:sqs:{HERE}:{NAME}"
    )
    return made["UUID"]


Connect = Callable[..., Editor]


@pytest.fixture
def connect(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Connect:
    monkeypatch.setattr(Alarms, "silence", lambda _: None)

    def connect(**settings: Any) -> Editor:
        given = Settings(**{"intake": NAME, "function": "duebell", **settings})
        return Editor(backend=Backend.connect(given, session, clock=clock, sleep=clock.sleep))

    return connect


def send(queues: Any, name: str, count: int) -> None:
    url = queues.get_queue_url(QueueName=name)["QueueUrl"]
    for _ in range(count):
        queues.send_message(QueueUrl=url, MessageBody="{}")


def kinds(problems: Any) -> list[ProblemKind]:
    return [one.kind for one in problems]


def test_without_an_intake_nothing_is_asked(connect: Connect, calls: Calls) -> None:
    status = connect(intake=None).doctor().status
    assert (status.intake_waiting, status.intake_dead_letters, status.healthy) == (None, None, True)
    assert "ListEventSourceMappings" not in calls


def test_what_waits_is_counted_and_dead_letters_are_a_problem(connect: Connect, queues: Any) -> None:
    editor = connect()
    assert editor.status().healthy
    # Given messages that wait, one of which is in work
    send(queues, NAME, 3)
    url = queues.get_queue_url(QueueName=NAME)["QueueUrl"]
    queues.receive_message(QueueUrl=url)
    status = editor.status()
    assert (status.intake_waiting, status.intake_dead_letters, status.healthy) == (3, 0, True)
    # And dead letters
    send(queues, f"{NAME}-dead-letters", 2)
    status = editor.status()
    [problem] = status.problems
    assert (problem.kind, status.intake_dead_letters) == (ProblemKind.INTAKE_DEAD_LETTERS, 2)
    assert str(problem).startswith(
        "2 messages of the intake queue could not be taken: see why with `duebell dead-letters`"
    )


def test_a_mapping_that_takes_nothing_is_a_problem(connect: Connect, mapping: str) -> None:
    functions = boto3.client("lambda", region_name=REGION)
    functions.delete_event_source_mapping(UUID=mapping)
    editor = connect(function=None)
    [problem] = editor.doctor().status.problems
    assert problem.kind is ProblemKind.INTAKE_IDLE
    assert "it has no event source mapping: `duebell deploy --intake`" in str(problem)
    # The status, which is asked often, does not look
    assert editor.status().healthy


@pytest.mark.parametrize(
    ("queue", "field", "what"),
    [
        ("duebell-lost-rings", "lost_rings", "rings did not reach the worker: 2 messages are in the queue"),
        ("duebell-failed-runs", "failed_runs", "runs failed to the last of Lambda's tries: 2 messages are"),
    ],
)
def test_messages_of_every_dead_letter_queue_are_counted(
    connect: Connect, queue: str, field: str, what: str
) -> None:
    sqs: Any = boto3.client("sqs", region_name=REGION)
    sqs.create_queue(QueueName=queue)
    editor = connect(intake=None)
    assert (getattr(editor.status(), field), editor.status().healthy) == (0, True)
    send(sqs, queue, 2)
    for status in (editor.status(), editor.doctor().status):
        [problem] = status.problems
        assert (getattr(status, field), problem.kind) == (2, ProblemKind.DEAD_LETTERS)
        assert problem.what.startswith(what)
        assert f"--redrive {queue.removeprefix('duebell-')}`" in problem.way_out


def test_a_queue_that_is_not_there_is_a_problem(connect: Connect) -> None:
    assert kinds(connect().status().problems) == [ProblemKind.INTAKE]


ERRORS = {
    "refused": ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetQueueAttributes"),
    "unreachable": EndpointConnectionError(endpoint_url="https://sqs"),
}


@pytest.mark.usefixtures("mapping")
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_what_may_not_be_looked_at_is_advice_of_the_doctor(
    connect: Connect, session: boto3.Session, error: Exception
) -> None:
    def refuse(model: Any, **_: Any) -> None:
        if model.name in {"GetQueueAttributes", "ListEventSourceMappings"}:
            raise error

    session.events.register("before-call", refuse)
    editor = connect()
    status = editor.status()
    assert (status.healthy, status.intake_waiting) == (True, None)
    diagnosis = editor.doctor()
    assert diagnosis.status.healthy
    advice = [str(one) for one in diagnosis.advice if one.kind is ProblemKind.UNSEEN]
    assert len(advice) == 3
    assert "it is not known how many rings were lost and runs failed: sqs:GetQueueAttributes" in advice[0]
    assert "it is not known how many messages the intake has: sqs:GetQueueAttributes" in advice[1]
    assert "it is not known whether the intake's messages are taken" in advice[2]
