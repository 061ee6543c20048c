"""The permissions of the worker for its deliveries, held against every call that it makes to send them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from duebell import Editor, Status, Worker
from duebell_infra.deploy.deliveries import permitted
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from tests.infra.policies import ACCOUNT, Guarded, granted, statements_of, worker_document
from tests.infra.test_deliveries import PERMISSIONS
from tests.support import REGION, Clock

pytestmark = pytest.mark.moto

#: The conditions of the template by the parameters that they are about.
CONDITIONS = {parameter: condition for condition, (parameter, _, _) in PERMISSIONS.items()}


def made(session: boto3.Session) -> dict[str, dict[str, Any]]:
    """Deliveries to targets of every kind, which are there."""
    role = session.client("iam").create_role(RoleName="made", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    sqs: Any = session.client("sqs")
    sqs.create_queue(QueueName="made")
    sqs.create_queue(QueueName="made.fifo", Attributes={"FifoQueue": "true"})
    machine = session.client("stepfunctions").create_state_machine(
        name="made",
        definition=json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
        roleArn=role,
    )
    function = session.client("lambda").create_function(
        FunctionName="made",
        Runtime="python3.13",
        Role=role,
        Handler="made.handler",
        Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
    )
    secret = session.client("secretsmanager").create_secret(Name="signing", SecretString="key")
    session.client("ssm").put_parameter(Name="signing", Value="key", Type="SecureString")
    ecs: Any = session.client("ecs")
    app = {"name": "app", "image": "app", "memory": 128}
    task = ecs.register_task_definition(family="made", containerDefinitions=[app])["taskDefinition"]
    run = {"cluster": "made", "container": "app", "launch_type": "EC2", "roles": [role]}
    return {
        "task": {"to": task["taskDefinitionArn"], "run": run},
        "queue": {"to": f"arn:aws:sqs:{REGION}:{ACCOUNT}:made"},
        "fifo": {"to": f"arn:aws:sqs:{REGION}:{ACCOUNT}:made.fifo"},
        "topic": {"to": session.client("sns").create_topic(Name="made")["TopicArn"]},
        "bus": {"to": session.client("events").create_event_bus(Name="made")["EventBusArn"]},
        "function": {"to": function["FunctionArn"]},
        "machine": {"to": machine["stateMachineArn"]},
        "by-secret": {"secret": secret["ARN"]},
        "by-parameter": {"secret": f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/signing"},
    }


@pytest.fixture
def address() -> Iterator[str]:
    """An address that takes whatever is sent to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_worker_may_deliver_where_it_shall_and_nowhere_else(
    session: boto3.Session, editor: Editor, template: Any, address: str, clock: Clock
) -> None:
    role = worker_document(template["Resources"])
    deliveries = {name: {"to": address, **fields} for name, fields in made(session).items()}

    def invoked(**_: object) -> Any:
        return AWSResponse("", 202, HTTPHeaders(), None), {"StatusCode": 202}  # moto would want machines

    def run(guarded: Guarded) -> dict[str, Status]:
        for call in ("lambda.Invoke", "ecs.RunTask"):
            guarded.session.events.register(f"before-call.{call}", invoked)
        backend = Backend.connect(Settings(), guarded.session, clock=clock, sleep=clock.sleep)
        worker = Worker(backend=backend)
        for name, fields in deliveries.items():
            worker.deliver(name, attempts=1, **fields)
            editor.add(name, due=timedelta(0), id=name, if_exists="replace")
        clock.advance(timedelta(minutes=1))
        worker.run()
        return {name: editor.get(name).status for name in deliveries}

    # Given the statements for these deliveries, they are all used, and they suffice
    worker = Worker()
    for name, fields in deliveries.items():
        worker.deliver(name, **fields)
    lists = permitted(worker.deliveries, before={})
    given = {CONDITIONS[one]: {one: text.split(",")} for one, text in lists.items()}
    allowed = statements_of(role, given)
    guarded = Guarded(allowed)
    assert set(run(guarded).values()) == {Status.DONE}
    added = granted(allowed) - granted(statements_of(role))
    used = {one for one in added if one[0] != "iam:PassRole"}  # no call, but a part of RunTask
    assert used <= guarded.made
    assert len(used) == len(deliveries)
    del given["PassesRoles"]
    # And without one of them, its tasks fail, and say what is missing, and the others are done
    for condition in [*given][:2]:
        less = Guarded(statements_of(role, {one: lists for one, lists in given.items() if one != condition}))
        _, action, _ = PERMISSIONS[condition]
        [missing] = {name for name, status in run(less).items() if status is not Status.DONE} - {"fifo"}
        failure = editor.get(missing).failure
        assert failure
        assert action in failure.message
        assert "arn:aws:" in failure.message
