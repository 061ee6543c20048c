"""Queues for measurements: filled fast, with the very items that an add stores; and bare clients beside
them."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import boto3
import msgspec

from duebell_shared import backend
from duebell_shared.queue import items
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.new_task import new_task

__all__ = ["LANES", "PAYLOAD", "bare_client", "fill", "item_of"]

#: As many lanes as a queue has unless told otherwise.
LANES = 4

#: The payload of each task.
PAYLOAD = {"item": 42}

_CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def bare_client(session: boto3.Session) -> Any:
    """A DynamoDB client with the very settings of ours: time-outs, retries, connections, no validation.

    Without the last, boto3 would check each parameter against the service's model, which costs it a fifth.
    """
    return session.client("dynamodb", config=backend._DYNAMODB)  # noqa: SLF001 (the same, not one like it)


def item_of(id: str, due: datetime) -> dict[str, Any]:
    """The item that a task with this id is stored as."""
    task = new_task(id=id, action="act", due=due, payload=PAYLOAD, now=_CREATED)
    return items.item_of(msgspec.structs.replace(task, lane=lane_of(id, LANES)))


def fill(client: Any, tables: Iterable[str], given: Iterable[dict[str, Any]]) -> None:
    """Put the items into each of these tables, 25 at a time."""
    tables = list(tables)
    for batch in _batched(given, 25):
        for table in tables:
            client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in batch]})


def _batched(items: Iterable[dict[str, Any]], size: int) -> Iterator[Sequence[dict[str, Any]]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
