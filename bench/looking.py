"""Counts the AWS calls, and the keys and items read, of looking at a long queue with a long history."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import msgspec
from msgspec.structs import replace
from tests.support import create_rule, create_table

from duebell import Editor, Settings
from duebell_editor.listing.queue_counts import snapshot
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task

__all__ = ["LIMIT", "TASKS", "Looking", "Looks", "measure"]

#: The most calls of one look, however much is stored.
LIMIT = 20

#: The number of tasks that wait, and of those that have ended, every hundredth of them failed.
TASKS = 100_000

#: The number of recurring tasks.
RECURRING = 100

_NAME = "looking"
_DAY = timedelta(days=1)
_THREADS = 8


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one look: calls by name, and keys and items that were read."""

    name: str
    calls: dict[str, int]
    read: int

    @property
    def total(self) -> int:
        """All calls together."""
        return sum(self.calls.values())


class Looking(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of all looks, with so many tasks waiting and as many ended, and with none."""

    tasks: int
    full: list[Looks]
    empty: list[Looks]


def measure(session: boto3.Session, tasks: int = TASKS) -> Looking:
    """Look at a queue with nothing in it, fill it, and look again."""
    create_table(session, _NAME)
    create_rule(session, _NAME)
    backend = Backend.connect(Settings(table=_NAME, rule=_NAME), session)
    editor = Editor(backend=backend)
    editor.ensure_armed()
    meter = _Meter(backend)
    empty = [meter.read(name, look) for name, look in _looks(editor).items()]
    _fill(backend, editor, tasks)
    return Looking(
        tasks=tasks, empty=empty, full=[meter.read(name, look) for name, look in _looks(editor).items()]
    )


def _looks(editor: Editor) -> dict[str, Callable[[], object]]:
    now = datetime.now(UTC)
    return {
        "`list()`": editor.list,
        '`list(status="failed", latest_first=True)`': lambda: editor.list(status="failed", latest_first=True),
        "`failures()`": editor.failures,
        '`find("waits-4")`': lambda: editor.find("waits-4"),
        "`past_counts()`": editor.past_counts,
        "`status()`": editor.status,
        "the page's timeline, a day back and ahead": lambda: editor.timeline(now - _DAY, count=48),
        "the same of what has been": lambda: editor.past_timeline(now - _DAY, count=48),
        "the page's schedules": editor.schedules,
        "the page's stream, each look": lambda: snapshot(editor.queue, after=now),
    }


def _fill(backend: Backend, editor: Editor, tasks: int) -> None:
    now = datetime.now(UTC)
    editor.add_many(
        {"action": "act", "due": now + timedelta(days=10) * number / tasks, "id": f"waits-{number}"}
        for number in range(tasks)
    )
    editor.add_many(
        {"action": "act", "schedule": "rate(1 hour)", "id": f"recurs-{number}"} for number in range(RECURRING)
    )
    ended = (_ended(backend, number, now) for number in range(tasks))
    with ThreadPoolExecutor(_THREADS) as pool:
        for made in pool.map(backend.store.insert_many, _batches(ended)):
            if not all(one is True for one in made):
                raise RuntimeError("a task could not be written")


def _ended(backend: Backend, number: int, now: datetime) -> Task:
    keep = backend.settings.retention_policy
    at = now - timedelta(days=10) * number / TASKS
    id = f"ended-{number}"
    task = replace(new_task(id=id, action="act", due=at, payload=None, now=at), lane=lane_of(id, 4))
    failure = Failure(type="E", message="")
    return task.failed(failure, now=at, keep=keep) if number % 100 == 0 else task.done(now=at, keep=keep)


def _batches(tasks: Iterator[Task]) -> Iterator[list[Task]]:
    while batch := list(itertools.islice(tasks, AT_ONCE)):
        yield batch


class _Meter:
    """Counts what is asked of AWS, and the items and keys in the answers."""

    def __init__(self, backend: Backend) -> None:
        self._calls: Counter[str] = Counter()
        self._read = 0
        clients: list[Any] = [backend.store._client, backend.rule._client]  # type: ignore[attr-defined]  # noqa: SLF001
        for client in clients:
            client.meta.events.register("after-call", self._note)

    def _note(self, model: Any, parsed: Any, **_: Any) -> None:
        self._calls[model.name] += 1
        self._read += parsed.get("ScannedCount", 0) + sum(map(len, parsed.get("Responses", {}).values()))

    def read(self, name: str, look: Callable[[], object]) -> Looks:
        """Look, and return the cost."""
        self._calls.clear()
        self._read = 0
        look()
        return Looks(name=name, calls=dict(self._calls), read=self._read)
