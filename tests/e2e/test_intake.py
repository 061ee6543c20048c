"""The intake queue on the embedded stack: what any SDK sends becomes a task, and fires."""

import json

import pytest

from tests.e2e.deployer import Deployer
from tests.e2e.test_deliveries import one_in, queue

pytestmark = pytest.mark.e2e


def sent(deployer: Deployer, name: str, body: object) -> str:
    """Send a message to a queue of this name; its id."""
    sqs = deployer.session.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))["MessageId"]


def test_a_message_waits_in_duebell_and_comes_out_of_another_queue(deployer: Deployer) -> None:
    # Given a queue with unlimited delay: intake, and a delivery to another queue
    out = queue(deployer.session, "after-the-delay")
    deployer.deploy(actions="", deliver={"remind": {"to": out}}, Intake="yes")
    intake = f"{deployer.name}-intake"
    # When one message adds a task, and one in the same list cannot be right
    good = {"action": "remind", "in": 1, "payload": {"user": 7}, "id": "a"}
    id = sent(deployer, intake, [good, {"action": "remind", "dueDate": "tomorrow"}])
    # Then its payload arrives
    assert json.loads(one_in(deployer.session, out)["Body"]) == {"user": 7}
    # And the wrong one alone is among the dead letters, with the reason
    dead = one_in(deployer.session, f"{out.rpartition(':')[0]}:{intake}-dead-letters")
    told = {name: one["StringValue"] for name, one in dead["MessageAttributes"].items()}
    assert json.loads(dead["Body"]) == {"action": "remind", "dueDate": "tomorrow"}
    assert told["duebell-field"] == "dueDate"
    assert (told["duebell-message"], told["duebell-place"]) == (id, "1")
