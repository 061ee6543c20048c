"""The gain of deliveries in batches: due tasks sent to a queue of SQS, beside one call for each."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.queues import bare_client, fill, item_of
from bench.stub import QUEUE, stub
from bench.timing import Ratio
from duebell import Editor, Settings, Worker
from duebell_editor.simulation.cost import CALL_SECONDS
from duebell_infra.local.ministack import embedded_session
from duebell_shared.deliveries.delivery import target_of

__all__ = ["LIMIT", "TASKS", "Delivering", "Rates", "measure"]

#: The speed in multiples of one by one, where a call takes the time that it takes on AWS.
LIMIT = 5.0

TASKS = 10_000


_ROUNDS = 3

#: So many tasks stand for all of them where each takes as long as any other.
_ONE_BY_ONE = 500

_THREADS = 16
_PAST = datetime(2026, 1, 1, tzinfo=UTC)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks done in a second, for each round.

    in_batches  by a delivery
    by_threads  by an action that sends a message, on 16 threads
    one_by_one  by the same action, one task after the other
    calls       calls to SQS of each round of deliveries
    """

    in_batches: list[float] = []
    by_threads: list[float] = []
    one_by_one: list[float] = []
    calls: list[int] = []

    @property
    def gain(self) -> Ratio:
        """The speed in multiples of one by one."""
        return Ratio.of(self.in_batches, self.one_by_one)

    @property
    def over_threads(self) -> Ratio:
        """The speed in multiples of the action on threads."""
        return Ratio.of(self.in_batches, self.by_threads)


class Delivering(msgspec.Struct, frozen=True, kw_only=True):
    """The rates at which so many due tasks were done.

    remote    by an AWS whose calls take CALL_SECONDS, and whose processor is none of this machine's
    emulated  by the embedded AWS
    """

    tasks: int
    remote: Rates
    emulated: Rates


class _Queues(NamedTuple):
    """A queue of due tasks, and the queue of SQS that their messages go to."""

    session: boto3.Session
    name: str
    url: str
    arn: str

    def worker(self, threads: int) -> Worker:
        """A worker for the tasks."""
        return Worker(Settings(table=self.name, rule=self.name), session=self.session, concurrency=threads)

    def arrived(self) -> int:
        """Count the messages."""
        told = self.session.client("sqs").get_queue_attributes(
            QueueUrl=self.url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(told["Attributes"]["ApproximateNumberOfMessages"])


_Prepare = Callable[[int], AbstractContextManager[_Queues]]


def measure(session: boto3.Session, *, tasks: int = TASKS, rounds: int = _ROUNDS) -> Delivering:
    """Each round drains queues that were filled anew."""
    return Delivering(
        tasks=tasks,
        remote=_rates(_remote, tasks, rounds),
        emulated=_rates(partial(_emulated, session), tasks, rounds),
    )


def _rates(prepare: _Prepare, tasks: int, rounds: int) -> Rates:
    rates = Rates()
    ways: list[tuple[list[float], int, Callable[[_Queues], int]]] = [
        (rates.in_batches, tasks, _in_batches),
        (rates.by_threads, tasks, partial(_by_an_action, threads=_THREADS)),
        (rates.one_by_one, min(tasks, _ONE_BY_ONE), partial(_by_an_action, threads=1)),
    ]
    calls = 0

    def count(**_: object) -> None:
        nonlocal calls
        calls += 1

    for number in range(rounds):
        for turn in range(len(ways)):
            measured, due, drain = ways[(number + turn) % len(ways)]
            with prepare(due) as queues:
                calls = 0
                queues.session.events.register("before-call.sqs.SendMessageBatch", count, unique_id="count")
                begin = time.perf_counter()
                done = drain(queues)
                measured.append(due / (time.perf_counter() - begin))
                queues.session.events.unregister("before-call.sqs.SendMessageBatch", unique_id="count")
                arrived = queues.arrived()
            if done != due or arrived != due:
                raise RuntimeError(f"{done} of {due} are done, and {arrived} arrived")
            if measured is rates.in_batches:
                rates.calls.append(calls)
    return rates


@contextmanager
def _remote(tasks: int) -> Iterator[_Queues]:
    """Queues of a stub, each of whose calls takes as long as one to AWS."""
    with stub(tasks, call_s=CALL_SECONDS) as endpoint:
        session = embedded_session(endpoint, "stub")
        yield _queues(session, f"{endpoint}/000000000000/{QUEUE}", QUEUE)


@contextmanager
def _emulated(session: boto3.Session, tasks: int) -> Iterator[_Queues]:
    """Queues on the embedded AWS."""
    name = "delivering"
    create_table(session, name)
    create_rule(session, name)
    Editor(Settings(table=name, rule=name), session=session).ensure_armed()
    items = (item_of(f"task-{number}", _PAST + timedelta(milliseconds=number)) for number in range(tasks))
    fill(bare_client(session), [name], items)
    url = session.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    yield _queues(session, url, name)
    session.client("dynamodb").delete_table(TableName=name)
    session.client("sqs").delete_queue(QueueUrl=url)


def _queues(session: boto3.Session, url: str, name: str) -> _Queues:
    told = session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return _Queues(session, name, url, told["Attributes"]["QueueArn"])


def _in_batches(queues: _Queues) -> int:
    worker = queues.worker(_THREADS)
    worker.deliver("act", to=target_of(queues.arn).to)
    return worker.run().done


def _by_an_action(queues: _Queues, *, threads: int) -> int:
    sqs = queues.session.client("sqs")
    worker = queues.worker(threads)

    @worker.action("act")
    def act(payload: object) -> None:
        sqs.send_message(QueueUrl=queues.url, MessageBody=msgspec.json.encode(payload).decode())

    return worker.run().done
