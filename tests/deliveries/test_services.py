"""Deliveries to each service of AWS, in moto: what arrives, and in how many calls."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell import Editor, InvalidSettings, Worker
from duebell_shared.instants import render
from duebell_shared.tasks.status import Status
from tests.support import NOON, REGION, Calls, Clock

HOUR = timedelta(hours=1)


def make_queue(name: str = "orders", region: str = REGION, **attributes: str) -> tuple[Any, str, str]:
    """A client, and the URL and the ARN of a new queue."""
    sqs: Any = boto3.client("sqs", region_name=region)
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return sqs, url, arn


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    """Every message of the queue."""
    found: list[dict[str, Any]] = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    ).get("Messages"):
        found += messages
    return found


def run_at(worker: Worker, clock: Clock, after: timedelta = HOUR) -> Any:
    clock.advance(after)
    return worker.run()


def test_a_queue_gets_the_payload_unchanged_and_what_is_known_in_attributes(
    worker: Worker, editor: Editor, clock: Clock
) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("remind", to=arn)
    payload = {"user": 7, "big": 12345678901234567890, "text": "ä\u2028"}
    editor.add("remind", due=HOUR, id="reminder-7", payload=payload)
    stored = editor.get("reminder-7").payload_json

    report = run_at(worker, clock)

    [message] = received(sqs, url)
    assert (report.done, message["Body"]) == (1, stored)
    told = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    due = render(NOON + HOUR)
    assert told == {
        "duebell-id": "reminder-7",
        "duebell-action": "remind",
        "duebell-due": due,
        "duebell-attempt": "1",
    }
    assert editor.get("reminder-7").status is Status.DONE


def test_an_envelope_tells_what_is_known_of_the_task(worker: Worker, editor: Editor, clock: Clock) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("remind", to=arn, form="envelope")
    editor.add("remind", due=HOUR, id="reminder-7", payload=[1.0, None])
    run_at(worker, clock)
    [message] = received(sqs, url)
    assert json.loads(message["Body"]) == {
        "id": "reminder-7",
        "action": "remind",
        "due": render(NOON + HOUR),
        "attempt": 1,
        "recurring": False,
        "missed_runs": 0,
        "payload": [1.0, None],
    }
    assert '"payload":[1.0,null]' in message["Body"]


def test_ten_messages_go_in_one_call(worker: Worker, editor: Editor, clock: Clock, calls: Calls) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("remind", to=arn)
    worker.deliver("warn", to=arn)
    for number in range(25):
        editor.add("remind" if number % 2 else "warn", due=HOUR, id=f"task-{number}")
    report = run_at(worker, clock)
    ids = {one["MessageAttributes"]["duebell-id"]["StringValue"] for one in received(sqs, url)}
    assert (report.done, len(ids)) == (25, 25)
    assert calls["SendMessageBatch"] == 3


def test_tasks_with_threads_are_each_sent_once(
    threaded: Worker, editor: Editor, clock: Clock, calls: Calls
) -> None:
    sqs, url, arn = make_queue()
    threaded.deliver("remind", to=arn)
    for number in range(150):
        editor.add("remind", due=HOUR, id=f"task-{number}")
    assert run_at(threaded, clock).done == 150
    assert len(received(sqs, url)) == 150
    assert calls["SendMessageBatch"] <= 40


def test_a_fifo_queue_drops_what_is_sent_twice(worker: Worker, editor: Editor, clock: Clock) -> None:
    sqs, url, arn = make_queue("orders.fifo", FifoQueue="true")
    worker.deliver("remind", to=arn)
    task = editor.add("remind", due=HOUR, id="täsk 1")
    run_at(worker, clock)
    # The attempt is made again, as if its outcome had been lost
    again = worker._actions["remind"].delivery
    assert again
    assert worker._deliver
    assert worker._deliver([(again, task)]) == [None]
    [message] = received(sqs, url)
    assert re.fullmatch("t-sk-1-[0-9a-f]{16}", message["Attributes"]["MessageGroupId"])
    # And a task that takes its place, due at the same time, is a message of its own
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    other = editor.add("remind", due=task.due, id="täsk 1", if_exists="replace")
    assert worker._deliver([(again, other)]) == [None]
    [second] = received(sqs, url)
    key = "MessageDeduplicationId"
    assert second["Attributes"][key] != message["Attributes"][key]


def test_the_client_is_one_of_the_targets_region(
    worker: Worker, editor: Editor, clock: Clock, calls: Calls
) -> None:
    sqs, url, arn = make_queue("far", region="us-west-2")
    worker.deliver("remind", to=arn)
    editor.add("remind", due=HOUR)
    assert run_at(worker, clock).done == 1
    assert len(received(sqs, url)) == 1


def test_a_topic_gets_messages_in_batches(worker: Worker, editor: Editor, clock: Clock, calls: Calls) -> None:
    sns = boto3.client("sns", region_name=REGION)
    topic = sns.create_topic(Name="news")["TopicArn"]
    sqs, url, arn = make_queue()
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    worker.deliver("tell", to=topic)
    for number in range(12):
        editor.add("tell", due=HOUR, id=f"task-{number}", payload={"number": number})
    assert run_at(worker, clock).done == 12
    messages = received(sqs, url)
    assert sorted(json.loads(one["Body"])["number"] for one in messages) == list(range(12))
    assert messages[0]["MessageAttributes"]["duebell-action"]["StringValue"] == "tell"
    assert calls["PublishBatch"] == 2


def test_a_bus_gets_envelopes(worker: Worker, editor: Editor, clock: Clock, calls: Calls) -> None:
    events = boto3.client("events", region_name=REGION)
    sqs, url, arn = make_queue()
    bus = events.create_event_bus(Name="shop")["EventBusArn"]
    events.put_rule(Name="all", EventBusName="shop", EventPattern='{"source": ["duebell"]}')
    events.put_targets(Rule="all", EventBusName="shop", Targets=[{"Id": "queue", "Arn": arn}])
    worker.deliver("expire", to=bus)
    worker.deliver("renew", to=bus, detail_type="trial.renewed", form="payload")
    editor.add("expire", due=HOUR, id="trial-1", payload={"plan": "pro"})
    editor.add("renew", due=HOUR, id="trial-2", payload={"plan": "free"})
    assert run_at(worker, clock).done == 2
    found = sorted(
        (json.loads(one["Body"]) for one in received(sqs, url)), key=lambda one: one["detail-type"]
    )
    assert [(one["detail-type"], one["source"]) for one in found] == [
        ("duebell.due", "duebell"),
        ("trial.renewed", "duebell"),
    ]
    assert found[0]["detail"]["id"] == "trial-1"
    assert found[0]["detail"]["payload"] == {"plan": "pro"}
    assert found[1]["detail"] == {"plan": "free"}
    assert calls["PutEvents"] == 1


def test_a_state_machine_starts_once_for_an_occurrence(worker: Worker, editor: Editor, clock: Clock) -> None:
    machines = boto3.client("stepfunctions", region_name=REGION)
    arn = machines.create_state_machine(
        name="reminding",
        definition='{"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}',
        roleArn="arn:aws:iam::123456789012:role/service-role/any",
    )["stateMachineArn"]
    worker.deliver("remind", to=arn, form="envelope")
    task = editor.add("remind", due=HOUR, id=f"reminder 7{'x' * 90}", payload={"user": 7})
    assert run_at(worker, clock).done == 1
    [execution] = machines.list_executions(stateMachineArn=arn)["executions"]
    assert re.fullmatch(r"reminder-7x{33}-20261121T130000000Z-[0-9a-f]{16}", execution["name"])
    started = machines.describe_execution(executionArn=execution["executionArn"])
    assert json.loads(started["input"])["payload"] == {"user": 7}
    # An attempt whose answer was lost is made again, with another number in its envelope
    delivery = worker.deliveries[0]
    assert worker._deliver
    assert worker._deliver([(delivery, task)]) == [None]
    assert len(machines.list_executions(stateMachineArn=arn)["executions"]) == 1


def test_a_function_is_invoked_asynchronously_with_the_payload(
    worker: Worker, editor: Editor, clock: Clock, session: boto3.Session
) -> None:
    """By a stub: moto would run the function in a container."""
    asked: list[dict[str, Any]] = []

    def answer(model: Any, params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]]:
        asked.append(params)
        response = type("Response", (), {"status_code": 202, "headers": {}})()
        return response, {"StatusCode": 202, "ResponseMetadata": {"HTTPStatusCode": 202}}

    emitter: Any = session.events
    emitter.register("before-call.lambda.Invoke", answer)
    arn = f"arn:aws:lambda:{REGION}:123456789012:function:remind:live"
    worker.deliver("remind", to=arn)
    editor.add("remind", due=HOUR, payload={"user": 7})
    assert run_at(worker, clock).done == 1
    [call] = asked
    assert call["headers"]["X-Amz-Invocation-Type"] == "Event"
    assert call["url_path"].endswith("function%3Aremind%3Alive/invocations")
    assert json.loads(call["body"]) == {"user": 7}


TASK_DEFINITION = f"arn:aws:ecs:{REGION}:123456789012:task-definition/report"
ROLES = ["arn:aws:iam::123456789012:role/report", "arn:aws:iam::123456789012:role/service/start"]
RUN = {"cluster": "main", "container": "app", "subnets": ["subnet-1"], "roles": ROLES}


@pytest.fixture
def ecs(session: boto3.Session) -> Iterator[list[dict[str, Any]]]:
    """The requests for runs, which are answered by the words in a payload: moto knows no tokens."""
    asked: list[dict[str, Any]] = []

    def answer(model: Any, params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]]:
        asked.append(request := json.loads(params["body"]))
        [container] = request["overrides"]["containerOverrides"]
        told: dict[str, Any] = {"tasks": [{}], "failures": []}
        status = 200
        if "no room" in container["environment"][0]["value"]:
            told = {"failures": [{"reason": "RESOURCE:CPU", "detail": "no room"}]}
        elif [one["clientToken"] for one in asked].count(request["clientToken"]) > 1:
            status, told = 400, {"Error": {"Code": "ConflictException", "Message": "other parameters"}}
        response = type("Response", (), {"status_code": status, "headers": {}})()
        return response, {**told, "ResponseMetadata": {"HTTPStatusCode": status}}

    emitter: Any = session.events
    emitter.register("before-call.ecs.RunTask", answer)
    yield asked
    emitter.unregister("before-call.ecs.RunTask", answer)


def test_an_ecs_task_is_run_once_for_an_occurrence_with_the_payload_in_its_environment(
    worker: Worker, editor: Editor, clock: Clock, ecs: list[dict[str, Any]]
) -> None:
    worker.deliver("report", to=f"{TASK_DEFINITION}:3", run={**RUN, "overrides": {"cpu": "512"}})
    task = editor.add("report", due=HOUR, id="report-7", payload={"user": 7})
    assert run_at(worker, clock).done == 1
    [request] = ecs
    told = {"PAYLOAD": '{"user":7}', "ID": "report-7", "ACTION": "report", "DUE": render(NOON + HOUR)}
    environment = [{"name": f"DUEBELL_{name}", "value": value} for name, value in told.items()]
    network = {"subnets": ["subnet-1"], "securityGroups": [], "assignPublicIp": "DISABLED"}
    assert request == {
        "taskDefinition": "report:3",
        "cluster": "main",
        "launchType": "FARGATE",
        "clientToken": request["clientToken"],
        "startedBy": "duebell",
        "networkConfiguration": {"awsvpcConfiguration": network},
        "overrides": {
            "cpu": "512",
            "containerOverrides": [{"name": "app", "environment": environment}],
        },
    }
    assert len(request["clientToken"]) == 64
    # An attempt whose answer was lost is made again, by the same token
    assert worker._deliver
    assert worker._deliver([(worker.deliveries[0], task)]) == [None]
    assert ecs[1] == request


def test_an_ecs_task_for_which_there_is_no_room_is_tried_again(
    worker: Worker, editor: Editor, clock: Clock, ecs: list[dict[str, Any]]
) -> None:
    worker.deliver(
        "report", to=TASK_DEFINITION, run={"cluster": "c", "container": "app", "launch_type": "EC2"}
    )
    editor.add("report", due=HOUR, id="r", payload="no room")
    assert run_at(worker, clock).retried == 1
    failure = editor.get("r").failure
    assert failure
    assert "RESOURCE:CPU: no room" in failure.message
    assert "networkConfiguration" not in ecs[0]


@pytest.mark.parametrize(
    ("run", "wrong"),
    [
        (None, "run: is missing: give cluster and container"),
        ({"cluster": "main"}, "run: .*missing required field `container`"),
        ({**RUN, "roles": [*ROLES, ROLES[0]]}, "run: roles must be at most two ARNs"),
        ({**RUN, "roles": ["report"]}, "run: roles must be at most two ARNs"),
        ({**RUN, "zone": "a"}, "run: .*unknown field `zone`"),
    ],
)
def test_how_an_ecs_task_cannot_be_run_is_refused(worker: Worker, run: Any, wrong: str) -> None:
    with pytest.raises(InvalidSettings, match=wrong):
        worker.deliver("report", to=TASK_DEFINITION, run=run)
    with pytest.raises(InvalidSettings, match="run: is for task definitions only"):
        worker.deliver("report", to="https://example.com", run=RUN)
