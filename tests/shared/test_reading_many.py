"""Reading many tasks over moto: what DynamoDB gives back unread is asked for again, and not without end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.table import DynamoTable
from duebell_shared.tasks.task import QueueKey
from tests.shared.batches import THREE, store, task
from tests.shared.table_calls import client_of
from tests.support import NOON, Calls, Clock

__all__ = ["store"]

KEYS = [QueueKey(NOON, each.id, each.lane) for each in THREE]
READ = "BatchGetItem"

LeaveUnread = Callable[[Callable[[int], int]], None]


@pytest.fixture
def leave_unread(store: DynamoTable) -> LeaveUnread:
    """Have DynamoDB give back so many of the keys that it is asked for, by how many these are."""
    assert store.insert_many(THREE) == [True] * 3

    def register(how_many: Callable[[int], int]) -> None:
        def cut(parsed: dict[str, Any], **_: Any) -> None:
            found = parsed["Responses"]["duebell"]
            count = how_many(len(found))
            unread, parsed["Responses"]["duebell"] = found[:count], found[count:]
            keys = [{name: item[name] for name in ("lane", "id")} for item in unread]
            parsed["UnprocessedKeys"] = {"duebell": {"Keys": keys}} if keys else {}

        client_of(store).meta.events.register(f"after-call.dynamodb.{READ}", cut)

    return register


def test_what_is_given_back_unread_is_asked_for_again_after_a_while(
    store: DynamoTable, leave_unread: LeaveUnread, calls: Calls, clock: Clock
) -> None:
    leave_unread(lambda asked: asked - 1)
    assert store.get_many(KEYS) == {each.id: each for each in THREE}
    assert calls[READ] == 3
    assert timedelta(seconds=0.1) <= clock.now - NOON <= timedelta(seconds=0.2)


def test_what_is_never_read_is_unavailable_after_a_few_tries(
    store: DynamoTable, leave_unread: LeaveUnread, calls: Calls, clock: Clock
) -> None:
    leave_unread(lambda asked: asked)
    with pytest.raises(AwsUnavailable, match="too little capacity to read"):
        store.get_many(KEYS)
    assert calls[READ] == 6
    assert clock.now - NOON <= timedelta(seconds=3.1)


def test_more_than_a_call_takes_are_several_calls(store: DynamoTable, calls: Calls) -> None:
    keys = [QueueKey(NOON, f"missing {number}", 0) for number in range(150)]
    assert store.get_many(keys) == {}
    assert calls[READ] == 2


def test_a_key_twice_is_one_task(store: DynamoTable) -> None:
    assert store.insert(task("one"))
    assert store.get_many([KEYS[0], KEYS[0]]) == {"one": task("one")}
    assert store.get_many([]) == {}
