"""What a run over many due tasks costs: ours, the floor on the same threads, the article's worker."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import msgspec
from botocore.config import Config
from tests.support import create_rule, create_table

from bench.article import Article
from duebell_editor import Editor, Settings
from duebell_shared.instants import render
from duebell_worker import Worker

__all__ = ["Draining", "measure"]

_THREADS = 16
_PAST = datetime(2026, 1, 1, tzinfo=UTC)


class Draining(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks a second each did, of so many that were due; and adding them."""

    tasks: int
    ours: float
    floor: float
    article: float
    add_many: float
    put_item: float

    @property
    def over_floor(self) -> float:
        """Our rate, in multiples of the floor's."""
        return self.ours / self.floor

    @property
    def over_article(self) -> float:
        """Our rate, in multiples of the article's worker's."""
        return self.ours / self.article

    @property
    def adding(self) -> float:
        """The rate of `add_many`, in multiples of a loop of bare put_item."""
        return self.add_many / self.put_item


def measure(session: boto3.Session, tasks: int, *, article: bool = True) -> Draining:
    """Fill and drain three queues, one after the other."""
    name = f"drain-{tasks}"
    for table in (name, f"{name}-floor", f"{name}-article"):
        create_table(session, table)
        create_rule(session, table)
    editor = Editor(Settings(table=name, rule=name), session=session)
    editor.ensure_armed()
    begin = time.perf_counter()
    editor.add_many({"action": "act", "due": _PAST, "id": f"task-{number}"} for number in range(tasks))
    add_many = tasks / (time.perf_counter() - begin)
    client: Any = session.client("dynamodb", config=Config(max_pool_connections=_THREADS))
    begin = time.perf_counter()
    for number in range(tasks):
        client.put_item(TableName=f"{name}-floor", Item=_item(number))
    put_item = tasks / (time.perf_counter() - begin)
    return Draining(
        tasks=tasks,
        ours=_ours(session, name, tasks),
        floor=_floor(client, f"{name}-floor", tasks),
        article=_article(session, f"{name}-article", tasks) if article else 0.0,
        add_many=add_many,
        put_item=put_item,
    )


def _ours(session: boto3.Session, name: str, tasks: int) -> float:
    worker = Worker(Settings(table=name, rule=name), session=session, concurrency=_THREADS)
    worker.action("act")(lambda: None)
    begin = time.perf_counter()
    report = worker.run()
    taken = time.perf_counter() - begin
    if report.done != tasks:
        raise RuntimeError(f"{report.done} of {tasks} are done")
    return tasks / taken


def _floor(client: Any, table: str, tasks: int) -> float:
    """A query of the keys, and two conditional updates for each, on as many threads."""

    def do(id: str) -> None:
        key = {"lane": {"S": "0"}, "id": {"S": id}}
        for before, after in (("scheduled", "running"), ("running", "done")):
            client.update_item(
                TableName=table,
                Key=key,
                UpdateExpression="SET #s = :a",
                ConditionExpression="#s = :b",
                ExpressionAttributeNames={"#s": "status"},
                ExpressionAttributeValues={":a": {"S": after}, ":b": {"S": before}},
                ReturnValues="ALL_NEW",
            )

    begin = time.perf_counter()
    pages = client.get_paginator("query").paginate(
        TableName=table,
        IndexName="due-index",
        KeyConditionExpression="lane = :l AND queued <= :n",
        ExpressionAttributeValues={":l": {"S": "0"}, ":n": {"S": render(datetime.now(UTC))}},
        ConsistentRead=True,
    )
    with ThreadPoolExecutor(_THREADS) as pool:
        done = sum(1 for _ in pool.map(do, (item["id"]["S"] for page in pages for item in page["Items"])))
    taken = time.perf_counter() - begin
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} are done")
    return tasks / taken


def _article(session: boto3.Session, table: str, tasks: int) -> float:
    dynamodb: Any = session.client("dynamodb")
    for number in range(tasks):
        dynamodb.put_item(TableName=table, Item=_item(number))
    article = Article(dynamodb, session.client("events"), table, table)
    begin = time.perf_counter()
    done = article.run(datetime.now(UTC) + timedelta(days=1), lambda _: None)
    taken = time.perf_counter() - begin
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} are done")
    return tasks / taken


def _item(number: int) -> dict[str, Any]:
    return {
        "lane": {"S": "0"},
        "id": {"S": f"task-{number}"},
        "queued": {"S": render(_PAST + timedelta(milliseconds=number))},
        "status": {"S": "scheduled"},
        "payload": {"S": "{}"},
    }
