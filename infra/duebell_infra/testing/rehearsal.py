"""A scheduler for tests: in memory, without AWS, and time passes when the test says so."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast
from weakref import WeakKeyDictionary

from duebell_editor.library.editor import Editor
from duebell_editor.library.sync import SyncReport
from duebell_editor.listing.filters import check_instant
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import SENTINEL, next_ring
from duebell_shared.settings import Settings
from duebell_shared.tasks.task import Task
from duebell_worker.run.report import RunReport
from duebell_worker.worker import Worker

from .memory import MemoryStore

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

    from duebell_shared.deliveries.delivery import Delivery
    from duebell_shared.deliveries.kinds import Message


# Python prints warnings of loggers that nobody handles, here without their details.
logging.getLogger("duebell").addHandler(logging.NullHandler())


class Bell:
    """EventBridge in memory: one rule, enabled, with one target."""

    def __init__(self) -> None:
        self._rule: dict[str, Any] = {"ScheduleExpression": SENTINEL, "State": "ENABLED"}

    @property
    def expression(self) -> str:
        """The rule's expression."""
        return str(self._rule["ScheduleExpression"])

    @property
    def client(self) -> "EventBridgeClient":
        """The client that a Rule calls."""
        client = SimpleNamespace(
            describe_rule=lambda **_: dict(self._rule),
            put_rule=self._put_rule,
            list_targets_by_rule=lambda **_: {"Targets": [{}]},
            meta=SimpleNamespace(region_name="nowhere"),
        )
        return cast("EventBridgeClient", client)

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self._rule = {"State": "ENABLED", **arguments}
        return {}


class InlinePool:
    """A worker's pool that runs each call at once and to its end, in the thread that asks for it."""

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        future: Future[None] = Future()
        try:
            call(*arguments)
        except BaseException as error:  # noqa: BLE001 (as a thread pool does)
            future.set_exception(error)
        else:
            future.set_result(None)
        return future

    def wait(self, futures: Collection[Future[None]], patience: timedelta) -> Collection[Future[None]]:
        return list(futures)

    def close(self) -> None:
        """Nothing is under way."""


class FrozenClock(Protocol):
    """A wall clock that a test has frozen: what `freeze_time` and `time_machine.travel` give."""

    def move_to(self, time: datetime, /) -> Any:
        """Set the wall clock to this time."""


#: The editors of workers that have an open Rehearsal: the one before the first, then that of each.
_EDITORS: "WeakKeyDictionary[Worker, list[Editor | None]]" = WeakKeyDictionary()


class Rehearsal:
    """An editor for the code under test, and a worker that runs what comes due while time passes.

    editor     the editor for the code under test: a real one, over a queue in memory
    now        the time here, in UTC; due dates that are given as a timedelta count from it
    reports    the report of each run
    delivered  the messages that deliveries would have sent, in order: nothing leaves the process
    written    the writes that transactions would have made to other tables, in order; all conditions hold

    From its creation to `close` or the end of a `with`, the worker's actions add their tasks here.
    """

    def __init__(self, worker: Worker, *, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        """`worker` is yours; only its editor is changed. Raises InvalidQuery if `now` has no time zone."""
        self.now = check_instant("now", now)
        self.reports: list[RunReport] = []
        self.delivered: list[Message] = []
        self._frozen: FrozenClock | None = None
        self._bell = Bell()
        rule = Rule("duebell", self._bell.client, clock=self._clock, sleep=self._sleep)
        store = MemoryStore()
        backend = Backend(Settings(), store, rule, clock=self._clock, sleep=self._sleep)
        backend.armer.lease = timedelta(days=30)
        self.written: list[Mapping[str, Any]] = store.others
        self.editor = Editor(backend=backend)
        self._worker = worker.over(backend, pool=lambda _: InlinePool(), deliver=self._deliver)
        self._users = worker
        # Another Rehearsal of this worker may be open.
        _EDITORS.setdefault(worker, [worker.set_editor(self.editor)]).append(self.editor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Make the worker's actions add their tasks again where they did before."""
        editors = _EDITORS.get(self._users, [])
        if self.editor in editors:
            editors.remove(self.editor)
            self._users.set_editor(editors[-1])
        if not editors[1:]:
            _EDITORS.pop(self._users, None)

    def also_move(self, frozen: FrozenClock) -> None:
        """Make a wall clock that freezegun or time-machine has frozen follow the time here."""
        self._frozen = frozen
        self._set(self.now)

    def deploy(self) -> SyncReport:
        """Change the queue as a deployment of the worker does. Returns the changes.

        The worker stores its actions, so that tasks are checked against them. The recurring tasks that it
        declares are added, changed or cancelled.
        """
        self._worker.register()
        return self.editor.sync()

    def let_time_pass(self, by: timedelta) -> list[RunReport]:
        """Let time pass, and the rule ring in between; returns the reports of the runs.

        Actions run one after the other, in this thread. An action that raises is a failed attempt, as always,
        and is retried when its time has come. A run ends after five minutes, as in a Lambda: the next one
        goes on with tasks that wait for a limit. The last run may last until a minute after `by`.
        """
        until = self.now + by
        first = len(self.reports)
        with self._adding_here():
            while (minute := next_ring(self._bell.expression, self.now)) and minute <= until:
                self._set(minute)
                # As in a Lambda. Without an end, a run would stay until no task waits for a limit.
                left = min(max(until - minute, timedelta(minutes=1)), timedelta(minutes=5))
                self.reports.append(self._worker.run(time_left=left))
        self._set(max(self.now, until))
        return self.reports[first:]

    def work(self, duration: timedelta) -> None:
        """For an action under test: let this time pass, as if its work took so long; see `timeout`."""
        self._set(self.now + duration)

    @contextmanager
    def _adding_here(self) -> Iterator[None]:
        """Make the actions add here, even if another rehearsal of the same worker has begun since."""
        other = self._users.set_editor(self.editor)
        try:
            yield
        finally:
            self._users.set_editor(other)

    def _deliver(self, tasks: Sequence[tuple["Delivery", Task]]) -> list[None]:
        """Keep what is sent, and accept it."""
        from duebell_shared.deliveries.message import message_of  # noqa: PLC0415 (most workers have no delivery)

        self.delivered += [message_of(delivery, task) for delivery, task in tasks]
        return [None] * len(tasks)

    def _clock(self) -> datetime:
        return self.now

    def _sleep(self, seconds: float) -> None:
        self._set(self.now + timedelta(seconds=seconds))

    def _set(self, now: datetime) -> None:
        self.now = now
        if self._frozen:
            self._frozen.move_to(now)
