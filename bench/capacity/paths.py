"""The paths of a task through its life, each walked on AWS in memory with a meter running."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import boto3
import msgspec
from tests.quick_aws import quick_aws
from tests.support import REGION, Clock, create_rule, create_table

from bench.queues import PAYLOAD
from duebell import Abort, Editor, Retry, Worker
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings

from .meter import Meter

__all__ = ["Path", "measure"]

_HEAD = datetime(2026, 12, 1, tzinfo=UTC)
_LATER = _HEAD + timedelta(days=1)

#: A count holds for so long.
_HOLDS = timedelta(minutes=5)

#: The tasks by which two runs differ, to tell the cost of a task from that of the run.
_MORE = 5

#: Tasks that wait while a run counts them, or a group is listed.
_MANY = 5_000

#: The beginning of the ids of a group.
_GROUP = "customer-42/"


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a path: the calls by name, and DynamoDB's units."""

    name: str
    calls: dict[str, float]
    write_units: float
    read_units: float


class _Scene:
    """A queue with an editor and a worker, and a meter on all that they call."""

    def __init__(self, session: boto3.Session) -> None:
        self.clock = Clock()
        self.meter = Meter(session, "duebell")
        settings = Settings(metrics=True)  # as it is deployed
        backend = Backend.connect(settings, session, clock=self.clock, sleep=self.clock.sleep)
        self.editor = Editor(backend=backend)
        self.worker = Worker(backend=backend, concurrency=1)
        self.worker.action("act")(lambda: None)
        self.worker.action("tries_again")(_try_again)
        self.worker.action("gives_up")(_give_up)
        self.editor.add("act", due=_HEAD, payload=PAYLOAD, id="head")

    def add(self, id: str, **more: Any) -> None:
        given = {"action": "act", "due": _LATER, "payload": PAYLOAD, "id": id, **more}
        self.editor.add(given.pop("action"), **given)

    def transact(self) -> None:
        """Reserve a task, and confirm it by a transaction of nothing else."""
        with self.editor.transaction() as tx:
            tx.add("act", due=_LATER, payload=PAYLOAD, id="confirmed")

    def walk(self, name: str, step: Callable[[], object]) -> Path:
        self.meter.reset()
        step()
        calls = dict(sorted(self.meter.calls.items()))
        return Path(
            name=name,
            calls={call: float(times) for call, times in calls.items()},
            write_units=self.meter.write_units,
            read_units=self.meter.read_units,
        )


def _try_again() -> None:
    raise Retry(after=timedelta(days=1))


def _give_up() -> None:
    raise Abort("for the measurement")


@contextmanager
def _scene() -> Iterator[_Scene]:
    with quick_aws():  # brings credentials of its own
        session = boto3.Session(region_name=REGION)
        create_table(session)
        create_rule(session)
        yield _Scene(session)


def measure() -> list[Path]:
    """Every path, each in a scene of its own."""
    return [*_editors(), *_runs()]


def _editors() -> Iterator[Path]:
    with _scene() as scene:
        yield scene.walk("`add`, not the new head", lambda: scene.add("later"))
        yield scene.walk("`transaction()` that adds one task, not the new head", scene.transact)
        yield scene.walk("`add`, the new head", lambda: scene.add("first", due=_HEAD - timedelta(days=1)))
    with _scene() as scene:
        tasks = [{"action": "act", "due": _LATER, "payload": PAYLOAD, "id": f"{n:03}"} for n in range(100)]
        yield scene.walk("`add_many` of 100, not the new head", lambda: scene.editor.add_many(tasks))
        yield scene.walk("`get`", lambda: scene.editor.get("042"))
        yield scene.walk("`list(limit=20)`, of 101 in the queue", lambda: scene.editor.list(limit=20))
        yield scene.walk("`status()`", scene.editor.status)
        yield scene.walk("`move`, later", lambda: scene.editor.move("001", due=_LATER + timedelta(days=1)))
        yield scene.walk("`update` of a payload", lambda: scene.editor.update("002", payload={"item": 43}))
        yield scene.walk("`pause`", lambda: scene.editor.pause("003"))
        yield scene.walk("`resume`, not the new head", lambda: scene.editor.resume("003"))
        yield scene.walk("`cancel`", lambda: scene.editor.cancel("004"))
    with _scene() as scene:
        others = [{"action": "act", "due": _LATER, "id": f"other-{n}"} for n in range(_MANY)]
        group = [
            {"action": "act", "due": _LATER, "payload": PAYLOAD, "id": f"{_GROUP}{n}"} for n in range(20)
        ]
        scene.editor.add_many([*others, *group])
        listed = f"`list(prefix=…)`, a group of 20, of {_MANY:,} in the queue"
        yield scene.walk(listed, lambda: scene.editor.list(prefix=_GROUP))
        yield scene.walk(
            "`select` of that group, to cancel it", lambda: scene.editor.select("cancel", prefix=_GROUP)
        )


def _runs() -> Iterator[Path]:
    one = _run("a run", {}, tasks=1)
    done = _each("a task that is done: claim, outcome", {}, one)
    yield _without("a run, besides its tasks", one, done)
    for waiting in (0, _MANY):
        counts = _run("a run that counts", {}, tasks=1, waiting=waiting, counts=True)
        yield _without(
            f"a run that counts as well, once in five minutes, of {waiting:,} waiting", counts, done
        )
    yield done
    yield _each("an attempt that is to be retried", {"action": "tries_again"})
    yield _each("an attempt that is the last, and fails", {"action": "gives_up"})
    hourly = {"due": None, "schedule": "rate(1 hour)", "start": _LATER}
    yield _each("an hourly task's first occurrence", hourly)
    yield _each("an hourly task's occurrence, twenty kept on it", hourly, before=20)


def _each(name: str, task: dict[str, Any], one: Path | None = None, *, before: int = 0) -> Path:
    """The cost that one more task adds to a run, after this number of runs before."""
    one = one or _run(name, task, tasks=1, before=before)
    return _divided(_without(name, _run(name, task, tasks=1 + _MORE, before=before), one), _MORE)


def _run(
    name: str,
    task: dict[str, Any],
    *,
    tasks: int,
    before: int = 0,
    waiting: int = 0,
    counts: bool = False,
) -> Path:
    """A run that finds so many tasks due in one lane.

    It comes by its ring, a minute after one that counts, unless it counts itself.
    """
    with _scene() as scene:
        ids = (f"task-{number:03}" for number in range(999))
        for id in islice((id for id in ids if scene.editor.queue.lane_of(id) == 0), tasks):
            scene.add(id, **task)
        long_after = {"action": "act", "due": _LATER + timedelta(days=99), "payload": PAYLOAD}
        scene.editor.add_many({**long_after, "id": f"waits-{number}"} for number in range(waiting))
        scene.editor.cancel("head")
        scene.clock.now = _LATER
        for _ in range(before):
            scene.worker.run()
            scene.clock.advance(timedelta(hours=1))
        ago = _HOLDS + timedelta(minutes=1) if counts else timedelta(minutes=1)
        scene.clock.advance(-ago)
        scene.worker.run()  # sets the rule to the minute of the next one
        scene.clock.advance(ago)
        return scene.walk(name, scene.worker.run)


def _without(name: str, whole: Path, part: Path) -> Path:
    calls = {call: times - part.calls.get(call, 0) for call, times in whole.calls.items()}
    return Path(
        name=name,
        calls={call: times for call, times in calls.items() if times},
        write_units=whole.write_units - part.write_units,
        read_units=whole.read_units - part.read_units,
    )


def _divided(path: Path, by: int) -> Path:
    return Path(
        name=path.name,
        calls={call: times / by for call, times in path.calls.items()},
        write_units=path.write_units / by,
        read_units=path.read_units / by,
    )
