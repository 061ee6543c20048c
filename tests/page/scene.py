"""A scheduler in memory with the wall clock: what the browser is shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from duebell import Editor, LastRun
from duebell_infra.testing.memory import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind, RingSchedule, Rule
from duebell_shared.instants import utc_now
from duebell_shared.settings import Settings
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.shared.fake_events import FakeEvents
from tests.support import Clock

__all__ = ["Scene", "SharedStore"]

_KEEP = RetentionPolicy(retention=timedelta(days=30))

_TRACEBACK = """Traceback (most recent call last):
  File "shop/actions.py", line 41, in charge
    gateway.charge(payload["customer"], payload["cents"])
  File "shop/gateway.py", line 17, in charge
    raise CardDeclined(answer.reason)
shop.gateway.CardDeclined: the bank declined the card"""


class SharedStore(MemoryStore):
    """A queue in memory that counts the keys that are read of it."""

    keys_read = 0

    def queued(self, *given: Any, **named: Any) -> Iterator[Any]:
        return self._counted(super().queued(*given, **named))

    def past(self, *given: Any, **named: Any) -> Iterator[Any]:
        return self._counted(super().past(*given, **named))

    def _counted(self, keys: Iterable[Any]) -> Iterator[Any]:
        for key in keys:
            self.keys_read += 1
            yield key


@dataclass
class Scene:
    """An editor, and what it stands on."""

    store: SharedStore = field(default_factory=SharedStore)
    events: FakeEvents = field(default_factory=lambda: FakeEvents(Clock()))
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        kind = RingSchedule if self.events.kind is BellKind.SCHEDULE else Rule
        rule = kind("duebell", self.events.client)
        self.editor = Editor(backend=Backend(self.settings, self.store, rule))

    def fill(self, count: int, *, within: timedelta = timedelta(days=10)) -> None:
        """So many tasks, evenly spread over the time to come."""
        now = utc_now()
        first = self.editor.add("warm_up", due=within, id="the-last-one")
        for n in range(count - 1):
            id = f"trial-expiry:{n:06}"
            queued = now + timedelta(hours=1) + n * within / count
            queued = queued.replace(microsecond=0)
            lane = self.editor.queue.lane_of(id)
            task = Task(
                id=id, lane=lane, action="end_trial", due=queued, queued=queued, created_at=first.created_at
            )
            self.store.insert(task)
        self.editor.add("end_trial", due=timedelta(minutes=59), id="trial-expiry:first")

    def furnish(self) -> None:
        """A queue as a shop may have it."""
        editor, now = self.editor, utc_now()
        for n, minutes in enumerate((7, 9, 26, 51, 55, 58, 118, 190, 230, 400, 405, 600, 820, 1000, 1300)):
            editor.add(
                "put_on_sale", due=timedelta(minutes=minutes), payload={"item": 40 + n}, id=f"sale-{40 + n}"
            )
        for n in range(30):
            editor.add(
                "end_trial",
                due=timedelta(hours=20 + 9 * n),
                payload={"customer": n},
                id=f"trial-expiry:XYZ{n:03}",
            )
        self.kept_up("daily-report", "cron(0 9 ? * MON-FRI *)", since=now - timedelta(days=9))
        editor.add("sync_stock", schedule="rate(30 minutes)", id="sync-stock", missed="skip")
        paused = editor.add("remind", due=timedelta(days=2), id="remind-7", payload={"user": 7})
        editor.pause(paused.id)
        for n in range(60):
            ended = now - timedelta(minutes=17 + n * 23)
            task = editor.add("send_mail", due=timedelta(days=400), id=f"mail-{n:03}", payload={"n": n})
            if n % 11 == 3:
                failure = Failure(
                    type="CardDeclined", message="the bank declined the card", traceback=_TRACEBACK
                )
                self.ran(task, ended, failure=failure)
            else:
                self.ran(task, ended, lateness=timedelta(seconds=20 + n % 7 * 9))
        self.rested(now - timedelta(minutes=17))

    def kept_up(
        self,
        id: str,
        expression: str,
        *,
        since: datetime,
        timezone: str = "Europe/Berlin",
        fails_from: datetime | None = None,
    ) -> None:
        """A task that recurs, as it is when each of its times so far was kept, some seconds late."""
        task = new_task(
            id=id,
            action="daily_report",
            schedule=expression,
            timezone=timezone,
            start=since,
            payload={"to": "team@example.org", "total": 12345678901234567890, "share": 0.10},
            now=since,
        )
        task = msgspec.structs.replace(task, lane=self.editor.queue.lane_of(id))
        assert self.store.insert(task)
        seconds = 31
        while task.due < utc_now() - timedelta(minutes=1):
            at = task.due + timedelta(seconds=seconds)
            running, seconds = self.claimed(task, at), seconds + 3
            over = at + timedelta(seconds=2)
            if fails_from and task.due >= fails_from:
                failure = Failure(type="GatewayTimeout", message="the bank's gateway did not answer")
                task = running.failed(failure, now=over, keep=_KEEP)
            else:
                task = running.done(now=over, keep=_KEEP)
            assert self.store.save(running, task)

    def rested(self, at: datetime) -> None:
        """A run ended then."""
        run = LastRun(run="run-7", finished_at=at, done=11, failed=1, lateness_max_ms=41_300)
        record = self.store.read_record()
        assert record
        assert self.store.swap_record(record, msgspec.structs.replace(record, last_run=run))

    def ran(
        self,
        task: Task,
        at: datetime,
        *,
        lateness: timedelta = timedelta(seconds=40),
        failure: Failure | None = None,
    ) -> Task:
        """The task as a run left it that ended then."""
        due = at - lateness
        moved = task.moved(due, now=due)
        assert self.store.save(task, moved)
        running = self.claimed(moved, at)
        after = running.failed(failure, now=at, keep=_KEEP) if failure else running.done(now=at, keep=_KEEP)
        assert self.store.save(running, after)
        return after

    def failing(self, id: str, failure: Failure) -> None:
        """A recurring task whose last occurrence failed."""
        task = self.editor.add("hourly_sync", schedule="rate(1 hour)", id=id)
        assert self.store.save(task, task.failed(failure, now=utc_now(), keep=_KEEP))

    def overdue(self, id: str, minutes: int = 9) -> None:
        """A task that should have run, and a record that does not know of it."""
        self.editor.add("late", due=timedelta(days=2), id=id)
        task = self.editor.get(id)
        due = utc_now() - timedelta(minutes=minutes)
        assert self.store.save(task, msgspec.structs.replace(task, due=due, queued=due, rev=task.rev + 1))

    def claimed(self, task: Task, now: datetime, status: Status = Status.SCHEDULED) -> Task:
        """The task as a run has claimed it."""
        assert task.queued
        key = QueueKey(queued=task.queued, id=task.id, lane=task.lane)
        running = self.store.claim(key, run="run-7", now=now, status=status)
        assert running
        return running
