"""The table over moto: one task, each verb of the contract, and an answer that is lost."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.queue.places import Past
from duebell_shared.queue.store import Store
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.support import NOON

SOON = NOON + timedelta(hours=1)


@pytest.fixture
def store(backend: Backend) -> Store:
    return backend.store


def task(**given: Any) -> Task:
    arguments: dict[str, Any] = {
        "id": "one",
        "action": "act",
        "due": SOON,
        "payload": {"n": 1},
        "now": NOON,
    } | given
    return new_task(**arguments)


KEY = QueueKey(SOON, "one", 0)


def client_of(store: Store) -> Any:
    client: Any = getattr(store, "_client")  # noqa: B009 - the contract has no client
    return client


def lose_the_next_answer(
    store: Store, operation: str, *, meanwhile: Callable[[], object] = lambda: None
) -> list[str]:
    """The next call of this operation takes effect and its answer is lost; the SDK then tries again.

    Returns what was sent, as it is. `meanwhile` is called between the two.
    """
    sent: list[str] = []

    def lose(event_name: str, **_: Any) -> None:
        if event_name == f"before-send.dynamodb.{operation}":
            sent.append(operation)
            if len(sent) == 1:
                meanwhile()
                raise ReadTimeoutError(endpoint_url="https://dynamodb")

    def at_once(caught_exception: Exception | None, **_: Any) -> int | None:
        return 0 if caught_exception else None  # seconds until the next try

    events = client_of(store).meta.events
    events.register_last("before-send", lose)  # after moto, which does there what is asked
    events.register_first(f"needs-retry.dynamodb.{operation}", at_once)
    return sent


def verbs(store: Store) -> Iterator[Any]:
    """Each verb of the contract, to be called."""
    record = ArmingRecord(lanes=(Lane(),))
    yield store.read_record
    yield lambda: store.swap_record(None, record)
    yield lambda: store.insert(task())
    yield lambda: store.save(task(), task().paused())
    yield lambda: store.get(0, "one")
    yield lambda: store.get_many([KEY])
    yield lambda: store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    yield lambda: list(store.queued(0))
    yield lambda: list(store.past(0, Past.DONE))
    yield lambda: store.count_past(0, Past.DONE, most=9)
    yield lambda: store.head(0)
