"""Doctor and status look at what leads to the worker, at queues, delivery targets and unknown actions."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from duebell import AwsRefused, Editor, Problem, ProblemKind, Settings, Worker
from duebell_shared.aws.alarms import Alarms
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.bell.wiring import DESCRIPTION, STATEMENT, put_back
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.worker_record import WorkerRecord
from tests.support import (
    NOON,
    REGION,
    SCHEDULED,
    Calls,
    Clock,
    create_function,
    create_schedule,
    let_pass_its_role,
    let_ring,
)

pytestmark = [pytest.mark.moto, pytest.mark.usefixtures("whole_answers")]

HOUR = timedelta(hours=1)
NAME = "duebell-intake"
HERE = f"{REGION}:123456789012"

Connect = Callable[..., Editor]

#: AWS refuses a call, or does not answer it.
EACH_FAILURE = pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "Get"),
        EndpointConnectionError(endpoint_url="https://nowhere"),
    ],
    ids=["refused", "unanswered"],
)


@pytest.fixture
def connect(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Makes an editor of a stack that has a function and an intake, unless the settings say otherwise."""
    monkeypatch.setattr(Alarms, "silence", lambda _: None)

    def connect(**settings: Any) -> Editor:
        given = Settings(**{"intake": NAME, "function": "duebell", **settings})
        return Editor(backend=Backend.connect(given, session, clock=clock, sleep=clock.sleep))

    return connect


def delete_target(session: boto3.Session) -> None:
    session.client("events").remove_targets(Rule="duebell", Ids=["worker"])


def delete_permission(session: boto3.Session) -> None:
    session.client("lambda").remove_permission(FunctionName="duebell", StatementId="stack")


def delete_rule(session: boto3.Session) -> None:
    delete_target(session)
    session.client("events").delete_rule(Name="duebell")


def delete_all(session: boto3.Session) -> None:
    delete_permission(session)
    delete_rule(session)


def test_no_rule_is_made_where_there_is_no_function(session: boto3.Session, connect: Connect) -> None:
    # Given a name that is wrong
    with pytest.raises(AwsRefused, match=r"cannot be put back: .*`duebell deploy`"):
        connect(rule="other", function=None, intake=None).doctor(fix=True)
    assert [one["Name"] for one in session.client("events").list_rules()["Rules"]] == ["duebell"]


def test_a_deleted_schedule_comes_back_with_its_role_and_armed(
    session: boto3.Session, connect: Connect
) -> None:
    # Given a queue that a schedule wakes the worker for, which somebody deletes
    create_function(session)
    let_ring(session)
    create_schedule(session)
    let_pass_its_role(session)
    editor = connect(bell=BellKind.SCHEDULE, intake=None)
    editor.add("act", due=NOON + HOUR)
    schedules = session.client("scheduler")
    schedules.delete_schedule(Name="duebell")
    [problem] = editor.doctor().status.problems
    assert (problem.kind, problem.mendable) == (ProblemKind.RULE, True)
    # When the doctor repairs it
    diagnosis = editor.doctor(fix=True)
    # Then it is as the stack made it, and rings for the task
    assert {one.kind for one in diagnosis.mended} == {ProblemKind.RULE}
    status = diagnosis.status
    assert (status.healthy, status.armed, status.rings_at) == (True, True, NOON + HOUR)
    assert schedules.get_schedule(Name="duebell")["Target"] == SCHEDULED
    assert editor.doctor(fix=True).mended == ()


def test_a_bell_is_put_back_as_the_templates_make_it(session: boto3.Session) -> None:
    worker, asked = create_function(session), dict[str, Any]()
    emitter: Any = session.events
    emitter.register("provide-client-params", lambda params, model, **_: asked.update({model.name: params}))
    with pytest.raises(LookupError, match="the role made may pass no role to a schedule"):
        put_back(session.client, BellKind.SCHEDULE, "new", "duebell")
    let_pass_its_role(session)
    parts = ["the rule", "its target", "its permission to invoke the worker"]
    for rule, schedule in ((parts, ["the schedule"]), ([], [])):
        assert put_back(session.client, BellKind.RULE, "new", "duebell") == rule
        assert put_back(session.client, BellKind.SCHEDULE, "new", "duebell") == schedule
    bell = {"Name": "new", "State": "ENABLED", "Description": DESCRIPTION}
    target = {**SCHEDULED, "Arn": worker, "DeadLetterConfig": {"Arn": f"arn:aws:sqs:{HERE}:new-lost-rings"}}
    in_utc = {"ScheduleExpressionTimezone": "UTC", "FlexibleTimeWindow": {"Mode": "OFF"}}
    permission = {"Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"}
    assert asked["PutRule"] == {**bell, "ScheduleExpression": SENTINEL}
    asked["CreateSchedule"].pop("ClientToken")
    assert asked["CreateSchedule"] == {**bell, **in_utc, "ScheduleExpression": FAR_SENTINEL, "Target": target}
    del target["RoleArn"]
    assert asked["PutTargets"] == {"Rule": "new", "Targets": [{"Id": "worker", **target}]}
    source = {"SourceArn": f"arn:aws:events:{HERE}:rule/new", "StatementId": STATEMENT}
    assert asked["AddPermission"] == {**permission, **source, "FunctionName": worker}


@pytest.fixture
def queues(session: boto3.Session) -> Any:
    sqs: Any = boto3.client("sqs", region_name=REGION)
    for name in (NAME, f"{NAME}-dead-letters"):
        sqs.create_queue(QueueName=name)
    return sqs


def send(queues: Any, name: str, count: int) -> None:
    url = queues.get_queue_url(QueueName=name)["QueueUrl"]
    for _ in range(count):
        queues.send_message(QueueUrl=url, MessageBody="{}")


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


@pytest.mark.usefixtures("queues")
def test_an_intake_whose_messages_nobody_takes_is_a_problem(connect: Connect) -> None:
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
    [problem] = connect().status().problems
    assert problem.kind is ProblemKind.INTAKE


@pytest.mark.usefixtures("queues")
@EACH_FAILURE
def test_what_may_not_be_looked_at_is_advice_of_the_doctor(
    connect: Connect, session: boto3.Session, failure: Exception
) -> None:
    def refuse(model: Any, **_: Any) -> None:
        if model.name in {"GetQueueAttributes", "ListEventSourceMappings"}:
            raise failure

    session.events.register("before-call", refuse)
    editor = connect(function=None)
    status = editor.status()
    assert (status.healthy, status.intake_waiting) == (True, None)
    diagnosis = editor.doctor()
    assert diagnosis.status.healthy
    advice = [str(one) for one in diagnosis.advice if one.kind is ProblemKind.UNSEEN]
    assert len(advice) == 3
    assert (
        "it is not known how many rings were lost and runs failed: a call of sqs:GetQueueAttributes"
        in advice[0]
    )
    assert "it is not known how many messages the intake has: a call of sqs:GetQueueAttributes" in advice[1]
    assert "it is not known whether the intake's messages are taken" in advice[2]


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
    worker = Worker(backend=backend)
    of_a_task: Any = {"run": {"cluster": "app", "subnets": ["subnet-1"], "container": "app"}}
    for name, to in targets.items():
        worker.deliver(name, to, **(of_a_task if ":task-definition/" in to else {}))
    worker.register()


@pytest.mark.parametrize("kind", ["queue", "topic", "bus", "function", "state machine", "task definition"])
def test_a_target_is_there_or_it_is_a_problem(
    editor: Editor, backend: Backend, session: boto3.Session, kind: str
) -> None:
    arn = make(session, kind)
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


@EACH_FAILURE
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


def test_a_target_is_read_in_its_own_region(editor: Editor, backend: Backend, session: boto3.Session) -> None:
    other = "us-west-2"
    session.client("sqs", region_name=other).create_queue(QueueName="made")
    deliver(backend, remind=f"arn:aws:sqs:{other}:123456789012:made")
    assert editor.doctor().status.healthy


def test_to_an_address_nothing_is_sent(editor: Editor, backend: Backend) -> None:
    deliver(backend, tell="https://nowhere.example.com")
    diagnosis = editor.doctor()
    assert diagnosis.status.healthy
    assert not [one for one in diagnosis.advice if "delivery" in one.what]


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)
    worker.action("tick")(lambda: None)
    return worker


def found(editor: Editor) -> Problem | None:
    problems = editor.doctor().status.problems
    return next((one for one in problems if one.kind is ProblemKind.UNKNOWN_ACTIONS), None)


def test_waiting_tasks_whose_action_no_worker_has_are_counted(editor: Editor, worker: Worker) -> None:
    # Given tasks that were added before the worker was known
    for id, action in (("b", "gone"), ("a", "gone"), ("c", "sell"), ("d", "tick"), ("e", "duebell.verify")):
        editor.add(action, due=HOUR, id=id)
    editor.add("other", due=HOUR, id="f")
    editor.cancel("f")
    # When the worker makes itself known, then the doctor says which will fail
    assert found(editor) is None
    worker.register()
    problem = found(editor)
    assert problem
    assert problem.what == (
        "tasks that run next and have no action in the worker: 3 of 5: 'gone' (2), 'sell' (1)"
    )
    assert "`duebell update ID --action NAME`" in problem.way_out
    assert not problem.mendable
    # And the status, which reads less, does not
    assert ProblemKind.UNKNOWN_ACTIONS not in {one.kind for one in editor.status().problems}
    # Until a worker has them
    worker.action("gone")(lambda: None)
    worker.action("sell")(lambda: None)
    worker.register()
    assert found(editor) is None


def test_no_word_of_a_worker_that_cannot_start(editor: Editor, worker: Worker, backend: Backend) -> None:
    editor.add("gone", due=HOUR)
    worker.register()
    record = backend.store.read(WorkerRecord)
    assert record
    assert record.worker
    assert found(editor)
    failed = record.failed(record.worker, Failure(type="ImportError", message="no"))
    assert backend.store.swap(record, failed)
    assert found(editor) is None
    worker.register()
    assert found(editor)
