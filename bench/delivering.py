"""What deliveries in batches gain: due tasks sent to a queue of SQS, beside one call for each."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.queues import bare_client, fill, item_of
from bench.timing import Ratio
from duebell_editor import Editor, Settings
from duebell_shared.delivery import DeliveryTarget
from duebell_worker import Worker

__all__ = ["LIMIT", "TASKS", "Delivering", "measure"]

#: How many times as fast as one by one.
LIMIT = 5.0

TASKS = 10_000

_ROUNDS = 3

#: So many tasks stand for all of them where each takes as long as any other.
_ONE_BY_ONE = 1_000

_THREADS = 16
_PAST = datetime(2026, 1, 1, tzinfo=UTC)


class Delivering(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks a second were done in each round, of so many that were due.

    in_batches  by a delivery
    by_threads  by an action that sends a message, on 16 threads
    one_by_one  by the same action, one task after the other
    calls       calls to SQS of each round of deliveries
    """

    tasks: int
    in_batches: list[float]
    by_threads: list[float]
    one_by_one: list[float]
    calls: list[int]

    @property
    def gain(self) -> Ratio:
        """How many times as fast as one by one."""
        return Ratio.of(self.in_batches, self.one_by_one)

    @property
    def over_threads(self) -> Ratio:
        """How many times as fast as the action on threads."""
        return Ratio.of(self.in_batches, self.by_threads)


def measure(session: boto3.Session, *, tasks: int = TASKS, rounds: int = _ROUNDS) -> Delivering:
    """Each round drains queues that were filled anew."""
    made = Delivering(tasks=tasks, in_batches=[], by_threads=[], one_by_one=[], calls=[])
    ways: list[tuple[list[float], int, Callable[[boto3.Session, str, str], int]]] = [
        (made.in_batches, tasks, _in_batches),
        (made.by_threads, tasks, _by_threads),
        (made.one_by_one, min(tasks, _ONE_BY_ONE), _one_by_one),
    ]
    calls = 0

    def count(**_: object) -> None:
        nonlocal calls
        calls += 1

    session.events.register("before-call.sqs.SendMessageBatch", count)
    for number in range(rounds):
        for turn in range(len(ways)):
            rates, due, drain = ways[(number + turn) % len(ways)]
            url, arn = _prepare(session, due)
            calls = 0
            begin = time.perf_counter()
            done = drain(session, arn, url)
            rates.append(due / (time.perf_counter() - begin))
            arrived = _arrived(session, url)
            if done != due or arrived != due:
                raise RuntimeError(f"{done} of {due} are done, and {arrived} arrived")
            if rates is made.in_batches:
                made.calls.append(calls)
            session.client("dynamodb").delete_table(TableName=_NAME)
            session.client("sqs").delete_queue(QueueUrl=url)
    return made


_NAME = "delivering"


def _prepare(session: boto3.Session, tasks: int) -> tuple[str, str]:
    """Make due tasks and a queue; return its URL and its ARN."""
    create_table(session, _NAME)
    create_rule(session, _NAME)
    Editor(Settings(table=_NAME, rule=_NAME), session=session).ensure_armed()
    items = (item_of(f"task-{number}", _PAST + timedelta(milliseconds=number)) for number in range(tasks))
    fill(bare_client(session), [_NAME], items)
    sqs = session.client("sqs")
    url = sqs.create_queue(QueueName=_NAME)["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def _arrived(session: boto3.Session, url: str) -> int:
    told = session.client("sqs").get_queue_attributes(
        QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"]
    )
    return int(told["Attributes"]["ApproximateNumberOfMessages"])


def _worker(session: boto3.Session, threads: int) -> Worker:
    return Worker(Settings(table=_NAME, rule=_NAME), session=session, concurrency=threads)


def _in_batches(session: boto3.Session, arn: str, _: str) -> int:
    worker = _worker(session, _THREADS)
    worker.deliver("act", to=DeliveryTarget.parse(arn).to)
    return worker.run().done


def _by_threads(session: boto3.Session, _: str, url: str) -> int:
    return _by_an_action(session, url, _THREADS)


def _one_by_one(session: boto3.Session, _: str, url: str) -> int:
    return _by_an_action(session, url, 1)


def _by_an_action(session: boto3.Session, url: str, threads: int) -> int:
    sqs = session.client("sqs")
    worker = _worker(session, threads)

    @worker.action("act")
    def act(payload: object) -> None:
        sqs.send_message(QueueUrl=url, MessageBody=msgspec.json.encode(payload).decode())

    return worker.run().done
