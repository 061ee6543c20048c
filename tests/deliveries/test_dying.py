"""A process dies at each call of a run with deliveries: nothing is lost, and little is sent twice."""

from collections import Counter
from datetime import timedelta

import boto3
import pytest

from duebell import Editor, Status, Worker
from duebell_shared.bell.expression import SENTINEL
from tests.crash.dying import Lambda, Moment, Processes
from tests.quick_aws import quick_aws
from tests.support import REGION, Clock

pytestmark = pytest.mark.slow

#: More calls than the run makes; the test sees to it.
_MOST_CALLS = 60

_TASKS = 12


def _messages(url: str) -> Counter[str]:
    """How often each task's message is in the queue."""
    sqs = boto3.client("sqs", region_name=REGION)
    found: Counter[str] = Counter()
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    ).get("Messages"):
        found.update(one["MessageAttributes"]["duebell-id"]["StringValue"] for one in messages)
    return found


def _play(number: int, moment: Moment, attempts: int) -> bool:
    """Let the first run die at its n-th call, and check what comes of it; whether it ended well."""
    processes, clock = Processes(), Clock()
    processes.create_stack()
    url = boto3.client("sqs", region_name=REGION).create_queue(QueueName="orders")["QueueUrl"]
    editor = Editor(backend=processes.connect(clock))
    for task in range(_TASKS):
        editor.add("remind", due=timedelta(minutes=30), id=f"task-{task}")

    def actions(worker: Worker) -> None:
        worker.deliver("remind", to=f"arn:aws:sqs:{REGION}:123456789012:orders", attempts=attempts)

    lambda_ = Lambda(processes, clock, actions)
    clock.advance(timedelta(minutes=30, seconds=7))
    ended = lambda_.invoke(processes.connect(clock, dies_at=number, moment=moment))
    if not ended:
        lambda_.retry()
    lambda_.let_it_ring()

    processes.connect(clock)
    found = _messages(url)
    tasks = [editor.get(f"task-{task}") for task in range(_TASKS)]
    assert processes.expression() == SENTINEL
    if attempts > 1:
        assert all(one.status is Status.DONE for one in tasks)
        assert all(found[one.id] for one in tasks), "a message is lost"
    else:  # an only attempt that had begun is not made again, and its task has failed
        assert all(one.status in {Status.DONE, Status.FAILED} for one in tasks)
        assert all(found[one.id] == 1 for one in tasks if one.status is Status.DONE)
        assert all(found[one.id] <= 1 for one in tasks)
    # What is sent twice was accepted just before the process died, and the outcome was not recorded
    assert max(found.values(), default=0) <= (1 if ended else 2)
    assert sum(count == 2 for count in found.values()) <= 10
    return ended


@pytest.mark.parametrize(("moment", "attempts"), [(Moment.BEFORE, 1), (Moment.AFTER, 5)])
def test_nothing_is_lost_when_a_process_dies_at_any_call(moment: Moment, attempts: int) -> None:
    for number in range(1, _MOST_CALLS):
        with quick_aws():
            if _play(number, moment, attempts):
                assert number > 5
                return
    raise AssertionError("a run makes more calls than are played here")
