"""Tasks as the tests of the store write them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import QueueKey, Task
from tests.support import NOON

LATER = NOON + timedelta(hours=1)


def task(id: str = "one", due: datetime = LATER, **changes: Any) -> Task:
    made = new_task(id=id, action="act", due=due, payload={"n": 1}, now=NOON)
    return msgspec.structs.replace(made, **changes)


def key(of: Task) -> QueueKey:
    assert of.queued
    return QueueKey(of.queued, of.id, of.lane)


def keys(found: Iterator[QueueKey]) -> list[str]:
    return [each.id for each in found]
