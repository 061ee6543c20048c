"""The time of a run over many due tasks: ours, the floor on the same threads, the article's worker."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.article import Article
from bench.queues import LANES, bare_client, fill, item_of
from bench.timing import Ratio
from duebell import Editor, Settings, Worker
from duebell_shared.instants import render

__all__ = [
    "ARTICLE_ACTION",
    "ARTICLE_LIMIT",
    "ARTICLE_TASKS",
    "FLOOR_LIMIT",
    "FLOOR_TASKS",
    "Draining",
    "measure",
]

#: Our rate in multiples of the floor's, at this many tasks whose action does nothing.
FLOOR_LIMIT, FLOOR_TASKS = 0.8, 10_000

#: Our rate in multiples of the article's, at this many tasks whose action takes as long as a short call
#: elsewhere.
ARTICLE_LIMIT, ARTICLE_TASKS, ARTICLE_ACTION = 3.0, 1_000, 0.02

#: The queues to drain: the number of tasks, the seconds that each action waits, the rounds, and True if the
#: article's worker drains it too; that takes long.
_CASES = ((1_000, 0.0, 7, True), (1_000, ARTICLE_ACTION, 5, True), (10_000, 0.0, 4, False))

_THREADS = 16
_PAST = datetime(2026, 1, 1, tzinfo=UTC)

#: The changes and conditions of a claim, and those of an outcome.
_CLAIM = (
    "SET #status = :running, attempt = attempt + :one, rev = rev + :one, started_at = :now, #run = :run, "
    "lateness_ms = :late"
)
_AS_QUEUED = "#status = :scheduled AND queued = :queued"
_OUTCOME = "SET #status = :done, rev = :rev, finished_at = :now, expires_at = :expires REMOVE queued"
_AS_CLAIMED = "rev = :claimed"


class Draining(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that each did in a second, by rounds, of this number of due tasks.

    action_s  how long each task's action waits, in seconds
    """

    tasks: int
    action_s: float
    ours: list[float]
    floor: list[float]
    article: list[float]

    @property
    def over_floor(self) -> Ratio:
        """Our rate, in multiples of the floor's."""
        return Ratio.of(self.ours, self.floor)

    @property
    def over_article(self) -> Ratio | None:
        """Our rate, in multiples of the article's worker's."""
        return Ratio.of(self.ours, self.article) if self.article else None


def measure(session: boto3.Session) -> list[Draining]:
    """Measure each case, in queues that are filled anew for each round and each worker."""
    return [_measure(session, *case) for case in _CASES]


def _measure(
    session: boto3.Session, tasks: int, action_s: float, rounds: int, with_article: bool
) -> Draining:
    drained = Draining(tasks=tasks, action_s=action_s, ours=[], floor=[], article=[])
    turns = [("ours", _ours, drained.ours), ("floor", _floor, drained.floor)]
    if with_article:
        turns.append(("article", _article, drained.article))
    for number in range(rounds):
        first = number % len(turns)
        for what, drain, rates in turns[first:] + turns[:first]:
            table = f"drain-{what}"
            _prepare(session, table, tasks)
            begin = time.perf_counter()
            done = drain(session, table, lambda: time.sleep(action_s) if action_s else None)
            rates.append(tasks / (time.perf_counter() - begin))
            if done != tasks:
                raise RuntimeError(f"{what}: {done} of {tasks} are done")
            session.client("dynamodb").delete_table(TableName=table)
    return drained


def _prepare(session: boto3.Session, table: str, tasks: int) -> None:
    create_table(session, table)
    create_rule(session, table)
    Editor(Settings(table=table, rule=table), session=session).ensure_armed()
    items = (item_of(f"task-{number}", _PAST + timedelta(milliseconds=number)) for number in range(tasks))
    fill(bare_client(session), [table], items)


def _ours(session: boto3.Session, table: str, action: Callable[[], None]) -> int:
    worker = Worker(Settings(table=table, rule=table), session=session, concurrency=_THREADS)
    worker.action("act")(action)
    return worker.run().done


def _floor(session: boto3.Session, table: str, action: Callable[[], None]) -> int:
    """A query of each lane's keys, and two conditional updates for each task, on as many threads as ours.

    The first brings the task, as a claim must; they set what ours set, under conditions like ours.
    """
    client = bare_client(session)

    def do(key: dict[str, Any]) -> None:
        now = render(datetime.now(UTC))
        claimed = client.update_item(
            TableName=table,
            Key={"lane": key["lane"], "id": key["id"]},
            UpdateExpression=_CLAIM,
            ConditionExpression=_AS_QUEUED,
            ExpressionAttributeNames={"#status": "status", "#run": "run"},
            ExpressionAttributeValues={
                ":scheduled": {"S": "scheduled"},
                ":queued": key["queued"],
                ":running": {"S": "running"},
                ":one": {"N": "1"},
                ":now": {"S": now},
                ":run": {"S": "run"},
                ":late": {"N": "1000"},
            },
            ReturnValues="ALL_NEW",
        )["Attributes"]
        action()
        client.update_item(
            TableName=table,
            Key={"lane": key["lane"], "id": key["id"]},
            UpdateExpression=_OUTCOME,
            ConditionExpression=_AS_CLAIMED,
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":done": {"S": "done"},
                ":claimed": claimed["rev"],
                ":rev": {"N": str(int(claimed["rev"]["N"]) + 1)},
                ":now": {"S": render(datetime.now(UTC))},
                ":expires": {"N": "1800000000"},
            },
        )

    keys: list[dict[str, Any]] = []
    for lane in range(LANES):
        pages = client.get_paginator("query").paginate(
            TableName=table,
            IndexName="due-index",
            KeyConditionExpression="lane = :lane AND queued <= :now",
            ExpressionAttributeValues={":lane": {"S": str(lane)}, ":now": {"S": render(datetime.now(UTC))}},
            ConsistentRead=True,
        )
        keys += [item for page in pages for item in page["Items"]]
    with ThreadPoolExecutor(_THREADS) as pool:
        return sum(1 for _ in pool.map(do, keys))


def _article(session: boto3.Session, table: str, action: Callable[[], None]) -> int:
    article = Article(bare_client(session), session.client("events"), table, table)
    return article.run(datetime.now(UTC), lambda _: action())
