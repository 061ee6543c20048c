"""The time of an add at queues of several sizes: ours, the floor, the article's, EventBridge Scheduler."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.article import Article
from bench.queues import PAYLOAD, bare_client, fill, item_of
from bench.timing import Ratio, Rounds, side_by_side
from duebell import Editor, Settings
from duebell_shared.queue.records import ARMING

__all__ = ["GROWTH_LIMIT", "LIMIT", "Adding", "growth", "measure"]

#: The most time of an add, in multiples of a bare put_item and get_item.
LIMIT = 1.3

#: The highest ratio of the longest queue's figure to the shortest's; the excess over 1 is for noise.
GROWTH_LIMIT = 1.1

#: The least time of an add by the article's algorithm, in multiples of ours, at this number of tasks.
ARTICLE_LIMIT, ARTICLE_SIZE = 20.0, 10_000

_SIZES = (100, 1_000, 10_000, 100_000)

#: Many and short ones: on a shared machine, what disturbs one round is gone in another.
_ROUNDS = 100

#: A scan of a hundred thousand takes an emulator seconds.
_ARTICLE_ROUNDS = {100: 20, 1_000: 20, 10_000: 10, 100_000: 3}

HEAD = datetime(2100, 1, 1, tzinfo=UTC)
LATER = HEAD + timedelta(days=1)

_ROLE = "arn:aws:iam::000000000000:role/act"


class Adding(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one add with so many tasks in the queue."""

    queued: int
    rounds: Rounds

    @property
    def over_floor(self) -> Ratio:
        """Ours, in multiples of a bare put and get."""
        return self.rounds.ratio("duebell", "floor")

    @property
    def article_over_ours(self) -> Ratio:
        """The article's algorithm, in multiples of ours."""
        return self.rounds.ratio("article", "duebell")


def growth(sizes: list[Adding]) -> float:
    """The time of an add, in floors, at the longest queue, in multiples of that at the shortest."""
    return sizes[-1].over_floor.median / sizes[0].over_floor.median


def measure(session: boto3.Session) -> list[Adding]:
    """At each size: fill the queues to it, then time the four in turns."""
    client = bare_client(session)
    for table in ("article", "floor"):
        create_table(session, table)
    create_rule(session, "article")
    editor = Editor(Settings(), session=session)
    editor.add("act", due=HEAD)
    _copy_record(client)
    article = Article(client, session.client("events"), "article", "article")
    scheduler: Any = session.client("scheduler")
    numbers = itertools.count()
    template = item_of("task", LATER)

    def ours() -> None:
        editor.add("act", due=LATER, payload=PAYLOAD, id=f"task-{next(numbers)}")

    def floor() -> None:
        client.put_item(TableName="floor", Item={**template, "id": {"S": f"task-{next(numbers)}"}})
        key = {"lane": {"S": ARMING}, "id": {"S": ARMING}}
        client.get_item(TableName="floor", Key=key, ConsistentRead=True)

    def by_article() -> None:
        article.add(f"task-{next(numbers)}", LATER)

    def by_scheduler() -> None:
        scheduler.create_schedule(
            Name=f"task-{next(numbers)}",
            ScheduleExpression="at(2100-01-02T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": "arn:aws:lambda:eu-central-1:000000000000:function:act", "RoleArn": _ROLE},
        )

    calls = {"duebell": ours, "floor": floor, "article": by_article, "scheduler": by_scheduler}
    for call in calls.values():
        call()
    found = []
    filled = 0
    for size in _SIZES:
        each = (item_of(f"fill-{number}", LATER) for number in range(filled, size))
        fill(client, ("duebell", "article", "floor"), each)
        filled = size
        rounds = side_by_side(
            calls,
            rounds=_ROUNDS,
            repeats={"duebell": 3, "floor": 3, "article": 1, "scheduler": 1},
            fewer_rounds={"article": _ARTICLE_ROUNDS[size]},
        )
        found.append(Adding(queued=size, rounds=rounds))
    return found


def _copy_record(client: Any) -> None:
    """The arming record into the floor's table, so that its read is of the same item as ours."""
    key = {"lane": {"S": ARMING}, "id": {"S": ARMING}}
    record = client.get_item(TableName="duebell", Key=key, ConsistentRead=True)["Item"]
    client.put_item(TableName="floor", Item=record)
