"""Deliveries on the embedded stack: given at a deployment, and what is sent really arrives."""

import hashlib
import hmac
import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from duebell import Status
from tests.e2e.deployer import Deployer
from tests.e2e.support import duebell, local_command, wait_for
from tests.serving import listening

pytestmark = pytest.mark.e2e

HERE = "us-east-1:000000000000"
ROLE = "arn:aws:iam::000000000000:role/each"
MACHINE = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})
FUNCTION = """
import boto3, json
def handler(event, context):
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="{name}")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(event))
"""


def queue(session: boto3.Session, name: str) -> str:
    """A queue of this name; its ARN."""
    sqs: Any = session.client("sqs")
    sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {})
    return f"arn:aws:sqs:{HERE}:{name}"


def one_in(session: boto3.Session, arn: str) -> Any:
    """The one message in a queue, once it is there; it is taken out."""
    sqs = session.client("sqs")
    url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
    given: Any = {"QueueUrl": url, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"]}
    [message] = wait_for(lambda: sqs.receive_message(**given, AttributeNames=["All"]).get("Messages"))
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return message


def test_each_kind_of_target_gets_what_is_due(deployer: Deployer) -> None:
    session = deployer.session
    makers = {"topic": to_topic, "bus": to_bus, "function": to_function}
    outs = {name: queue(session, f"from-{name}") for name in makers} | {"queue": queue(session, "each.fifo")}
    targets = {name: make(session, outs[name]) for name, make in makers.items()} | {"queue": outs["queue"]}
    states = session.client("stepfunctions")
    machine = states.create_state_machine(name="each", definition=MACHINE, roleArn=ROLE)
    targets["states"] = machine["stateMachineArn"]
    with listening() as (address, heard):
        deliver = {name: {"to": arn} for name, arn in targets.items()}
        key = session.client("secretsmanager").create_secret(Name="signing", SecretString="key")["ARN"]
        deliver["https"] = {"to": address, "secret": key}
        editor = deployer.deploy(actions="", deliver=deliver)
        for name in deliver:
            editor.add(name, due=timedelta(0), id=f"task-{name}", payload={"for": name})
        wait_for(lambda: all(editor.get(f"task-{name}").status.is_finished for name in deliver))
        for name in deliver:
            task = editor.get(f"task-{name}")
            assert task.status is Status.DONE, f"{name}: {task.failure}"
        # Then each has it: queues at the end of most, the state machine, and the address with its signature
        for name, arn in outs.items():
            message = one_in(session, arn)
            body = json.loads(message["Body"])
            assert (body["detail"]["payload"] if name == "bus" else body) == {"for": name}
            assert message["Attributes"].get("MessageGroupId") == ("task-queue" if name == "queue" else None)
        [execution] = states.list_executions(stateMachineArn=targets["states"])["executions"]
        given = states.describe_execution(executionArn=execution["executionArn"])["input"]
        assert json.loads(given) == {"for": "states"}
        [(body, headers)] = heard
        assert json.loads(body) == {"for": "https"}
        time, _, signature = headers["Duebell-Signature"].removeprefix("t=").partition(",v1=")
        signed_text = f"{time}.{headers['Idempotency-Key']}.".encode() + body
        assert signature == hmac.new(b"key", signed_text, hashlib.sha256).hexdigest()
    # All of them are there, and so the doctor says nothing
    assert editor.doctor().status.healthy


def test_duebell_local_keeps_a_delivery_that_it_was_given(tmp_path: Path) -> None:
    arn = f"arn:aws:sqs:{HERE}:local"
    state, file = tmp_path / "state", tmp_path / "deliveries.json"
    file.write_text(json.dumps({"remind": {"to": arn, "form": "envelope"}}))
    with local_command(state, "--deliver", f"@{file}") as command:
        assert f"delivery remind to {arn}" in command.printed
        assert "every task will fail" not in command.printed
        queue(command.session, "local")
    # Started again without the option, it has it still
    with local_command(state) as command:
        assert f"delivery remind to {arn}" in command.printed
        added = duebell("add", "remind", "--in", "1s", "--id", "a", environment=command.environment)
        assert added.returncode == 0, added.stderr
        envelope = json.loads(one_in(command.session, arn)["Body"])
        assert (envelope["id"], envelope["action"]) == ("a", "remind")
    with local_command(state, "--deliver", "none") as command:
        assert "delivery remind" not in command.printed


def to_topic(session: boto3.Session, out: str) -> str:
    sns = session.client("sns")
    topic = str(sns.create_topic(Name="each")["TopicArn"])
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=out, Attributes={"RawMessageDelivery": "true"})
    return topic


def to_bus(session: boto3.Session, out: str) -> str:
    events = session.client("events")
    pattern = json.dumps({"source": ["duebell"], "detail-type": ["duebell.due"]})
    bus = str(events.create_event_bus(Name="each")["EventBusArn"])
    events.put_rule(Name="each", EventBusName="each", EventPattern=pattern)
    events.put_targets(Rule="each", EventBusName="each", Targets=[{"Id": "queue", "Arn": out}])
    return bus


def to_function(session: boto3.Session, out: str) -> str:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("made.py", FUNCTION.format(name=out.rpartition(":")[2]))
    made: Any = session.client("lambda").create_function(
        FunctionName="each",
        Runtime="python3.13",
        Role=ROLE,
        Handler="made.handler",
        Code={"ZipFile": data.getvalue()},
    )
    return str(made["FunctionArn"])
