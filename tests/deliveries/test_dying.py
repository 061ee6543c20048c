"""A process dies at each call of a run with deliveries: nothing is lost, and little is sent twice."""

from collections import Counter
from datetime import timedelta

import boto3
import pytest

from duebell import Status, Worker
from tests.crash.dying import Moment, World, worlds
from tests.support import REGION

pytestmark = pytest.mark.slow

_TASKS = 12


def _messages(url: str) -> Counter[str]:
    """The number of messages in the queue, for each task."""
    sqs = boto3.client("sqs", region_name=REGION)
    found: Counter[str] = Counter()
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    ).get("Messages"):
        found.update(one["MessageAttributes"]["duebell-id"]["StringValue"] for one in messages)
    return found


class Delivering(World):
    """A world with tasks that a run sends to a queue, and their number of attempts."""

    attempts = 5

    def actions(self, worker: Worker) -> None:
        worker.deliver("remind", to=f"arn:aws:sqs:{REGION}:123456789012:orders", attempts=self.attempts)


class DeliveringOnce(Delivering):
    attempts = 1


@pytest.mark.parametrize(("moment", "kind"), [(Moment.BEFORE, DeliveringOnce), (Moment.AFTER, Delivering)])
def test_nothing_is_lost_when_a_process_dies_at_any_call(moment: Moment, kind: type[Delivering]) -> None:
    with worlds() as each_call:
        for now in each_call(kind):
            if now.moment is moment:
                play(now)
        assert now.number > 5


def play(now: Delivering) -> None:
    url = boto3.client("sqs", region_name=REGION).create_queue(QueueName="orders")["QueueUrl"]
    for task in range(_TASKS):
        now.editor.add("remind", due=timedelta(minutes=30), id=f"task-{task}")
    now.runs(timedelta(minutes=30))

    found = _messages(url)
    tasks = [now.editor.get(f"task-{task}") for task in range(_TASKS)]
    if now.attempts > 1:
        assert all(one.status is Status.DONE for one in tasks)
        assert all(found[one.id] for one in tasks), "a message is lost"
    else:  # an only attempt that had begun is not made again, and its task has failed
        assert all(one.status in {Status.DONE, Status.FAILED} for one in tasks)
        assert all(found[one.id] == 1 for one in tasks if one.status is Status.DONE)
        assert all(found[one.id] <= 1 for one in tasks)
    # A second copy is right only if the process died after the send, and before it recorded the outcome
    assert max(found.values(), default=0) <= (1 if now.lived else 2)
    assert sum(count == 2 for count in found.values()) <= 10
