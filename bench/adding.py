"""What an add costs at queues of several sizes: ours, the floor, the article's, EventBridge Scheduler."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.article import Article
from bench.timing import Timed, side_by_side
from duebell_editor import Editor, Settings
from duebell_shared.instants import render

__all__ = ["LIMIT", "Adding", "measure"]

#: How many times a bare put_item and get_item an add may take, as medians.
LIMIT = 1.3

HEAD = datetime(2100, 1, 1, tzinfo=UTC)
LATER = HEAD + timedelta(days=1)

_SIZES = (100, 1_000, 10_000)


class Adding(msgspec.Struct, frozen=True, kw_only=True):
    """How long one add takes with so many tasks in the queue."""

    queued: int
    timed: list[Timed]

    @property
    def over_floor(self) -> float:
        """Ours, in multiples of a bare put and get."""
        return self._median("duebell") / self._median("floor")

    @property
    def article_over_ours(self) -> float:
        """The article's algorithm, in multiples of ours."""
        return self._median("article") / self._median("duebell")

    def _median(self, name: str) -> float:
        return next(each.median_us for each in self.timed if each.name.startswith(name))


def measure(session: boto3.Session) -> list[Adding]:
    """At each size: fill the queues to it, then time the four in turns."""
    dynamodb, events = session.client("dynamodb"), session.client("events")
    create_table(session, "article")
    create_rule(session, "article")
    create_table(session, "floor")
    editor = Editor(Settings(), session=session)
    editor.add("act", due=HEAD)
    article = Article(dynamodb, events, "article", "article")
    scheduler: Any = session.client("scheduler")
    numbers = itertools.count()

    def ours() -> None:
        editor.add("act", due=LATER, payload={"item": 42}, id=f"task-{next(numbers)}")

    def floor() -> None:
        id = f"task-{next(numbers)}"
        item: Any = _item(id)
        dynamodb.put_item(TableName="floor", Item=item)
        dynamodb.get_item(TableName="floor", Key={"lane": {"S": "0"}, "id": {"S": id}}, ConsistentRead=True)

    def by_article() -> None:
        article.add(f"task-{next(numbers)}", LATER)

    def by_scheduler() -> None:
        scheduler.create_schedule(
            Name=f"task-{next(numbers)}",
            ScheduleExpression="at(2100-01-02T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": "arn:aws:lambda:eu-central-1:000000000000:function:act", "RoleArn": _ROLE},
        )

    found = []
    filled = 0
    for size in _SIZES:
        _fill(editor, dynamodb, filled, size)
        filled = size
        calls: dict[str, Callable[[], object]] = {
            "duebell: add, not the new head": ours,
            "floor: a bare put_item and get_item": floor,
            "article: scan, compare, put": by_article,
            "EventBridge Scheduler: create_schedule": by_scheduler,
        }
        for call in calls.values():
            call()
        found.append(Adding(queued=size, timed=side_by_side(calls, rounds=15, repeats=3)))
    return found


_ROLE = "arn:aws:iam::000000000000:role/act"


def _item(id: str) -> dict[str, Any]:
    return {
        "lane": {"S": "0"},
        "id": {"S": id},
        "queued": {"S": render(LATER)},
        "payload": {"S": '{"item":42}'},
    }


def _fill(editor: Editor, dynamodb: Any, begin: int, end: int) -> None:
    editor.add_many({"action": "act", "due": LATER, "id": f"fill-{number}"} for number in range(begin, end))
    for at in range(begin, end, 25):
        batch = range(at, min(at + 25, end))
        for table in ("article", "floor"):
            requests = [{"PutRequest": {"Item": _item(f"fill-{number}")}} for number in batch]
            dynamodb.batch_write_item(RequestItems={table: requests})
