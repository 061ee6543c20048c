"""Deliveries on the embedded stack: given at a deployment, and what is sent really arrives."""

import hashlib
import hmac
import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from duebell import Editor, Status
from tests.e2e.deployer import Deployer
from tests.e2e.support import duebell, local_command, wait_for
from tests.serving import listening

pytestmark = pytest.mark.e2e

HERE = "us-east-1:000000000000"


def queue(session: boto3.Session, name: str) -> str:
    """A queue of this name; its ARN."""
    sqs: Any = session.client("sqs")
    sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {})
    return f"arn:aws:sqs:{HERE}:{name}"


def received(session: boto3.Session, arn: str) -> list[Any]:
    """The messages in a queue, taken out."""
    sqs = session.client("sqs")
    url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    )
    for one in answer.get("Messages", []):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return answer.get("Messages", [])


def one_in(session: boto3.Session, arn: str) -> Any:
    """The one message in a queue, once it is there."""
    [message] = wait_for(lambda: received(session, arn))
    return message


def test_each_kind_of_target_gets_what_is_due(deployer: Deployer, tmp_path: Path) -> None:
    session = deployer.session
    kinds = [to_fifo_queue, to_topic, to_bus, to_function, to_state_machine]
    targets = {make.__name__.removeprefix("to_"): make(session) for make in kinds}
    with listening() as (address, heard):
        deliver = {name: {"to": arn} for name, (arn, _) in targets.items()}
        key = session.client("secretsmanager").create_secret(Name="signing", SecretString="key")["ARN"]
        signed = {"to": address, "secret": key}
        editor = deployer.deploy(actions="", deliver={**deliver, "https": signed})
        for name in (*targets, "https"):
            editor.add(name, due=timedelta(0), id=f"task-{name}", payload={"for": name})
        ended(editor, *(f"task-{name}" for name in (*targets, "https")))
        for name, (_, got) in targets.items():
            assert wait_for(got)["for"] == name, name
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


def ended(editor: Editor, *ids: str) -> None:
    """Wait until these tasks have ended; all must be done."""
    wait_for(lambda: all(editor.get(id).status.is_finished for id in ids))
    for id in ids:
        task = editor.get(id)
        assert task.status is Status.DONE, f"{id}: {task.failure}"


Made = tuple[str, Callable[[], Any]]


def to_fifo_queue(session: boto3.Session) -> Made:
    arn = queue(session, "each.fifo")

    def got() -> Any:
        [message] = received(session, arn) or [None]
        if message:
            assert message["Attributes"]["MessageGroupId"] == "task-fifo_queue"
        return message and json.loads(message["Body"])

    return arn, got


def to_topic(session: boto3.Session) -> Made:
    sns, arn = session.client("sns"), queue(session, "from-topic")
    topic = sns.create_topic(Name="each")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    return topic, lambda: next((json.loads(one["Body"]) for one in received(session, arn)), None)


def to_bus(session: boto3.Session) -> Made:
    events, arn = session.client("events"), queue(session, "from-bus")
    bus = events.create_event_bus(Name="each")["EventBusArn"]
    pattern = json.dumps({"source": ["duebell"], "detail-type": ["duebell.due"]})
    events.put_rule(Name="each", EventBusName="each", EventPattern=pattern)
    events.put_targets(Rule="each", EventBusName="each", Targets=[{"Id": "queue", "Arn": arn}])
    return bus, lambda: next(
        (json.loads(one["Body"])["detail"]["payload"] for one in received(session, arn)), None
    )


def to_function(session: boto3.Session) -> Made:
    arn = queue(session, "from-function")
    code = (
        "import boto3, json\n"
        "def handler(event, context):\n"
        "    sqs = boto3.client('sqs')\n"
        "    url = sqs.get_queue_url(QueueName='from-function')['QueueUrl']\n"
        "    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(event))\n"
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("made.py", code)
    made = session.client("lambda").create_function(
        FunctionName="each",
        Runtime="python3.13",
        Role=f"arn:aws:iam::{HERE.partition(':')[2]}:role/each",
        Handler="made.handler",
        Code={"ZipFile": data.getvalue()},
    )
    return made["FunctionArn"], lambda: next(
        (json.loads(one["Body"]) for one in received(session, arn)), None
    )


def to_state_machine(session: boto3.Session) -> Made:
    states = session.client("stepfunctions")
    arn = states.create_state_machine(
        name="each",
        definition=json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
        roleArn=f"arn:aws:iam::{HERE.partition(':')[2]}:role/each",
    )["stateMachineArn"]

    def got() -> Any:
        executions = states.list_executions(stateMachineArn=arn)["executions"]
        if not executions:
            return None
        [execution] = executions
        return json.loads(states.describe_execution(executionArn=execution["executionArn"])["input"])

    return arn, got
