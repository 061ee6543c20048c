"""A scheduler in memory, for the editor's tests that need no DynamoDB to tell: hundreds run in a second."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from duebell import Editor
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Settings
from duebell_shared.tasks.follow_up import Members
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task, queue_key
from tests.shared.fake_events import FakeEvents
from tests.support import Clock

__all__ = ["KEEP", "Scheduler"]

#: The time that history is kept.
KEEP = timedelta(days=14)


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """An editor, and what it stands on."""

    editor: Editor
    backend: Backend
    store: MemoryStore
    events: FakeEvents
    clock: Clock

    @classmethod
    def start(cls, settings: Settings | None = None, *, store: MemoryStore | None = None) -> "Scheduler":
        """A scheduler that was never used."""
        clock = Clock()
        store, events = store or MemoryStore(), FakeEvents(clock)
        rule = Rule("duebell", events.client, clock=clock, sleep=clock.sleep)
        backend = Backend(
            settings or Settings(), store, rule, clock=clock, sleep=clock.sleep, parallel=Parallel(threads=1)
        )
        return cls(editor=Editor(backend=backend), backend=backend, store=store, events=events, clock=clock)

    def become(self, task: Task, status: Status) -> Task:
        """The task as it is stored when it has come to this status."""
        now, failure = self.clock.now, Failure(type="ValueError", message="no")
        assert task.queued
        match status:
            case Status.SCHEDULED:
                return task
            case Status.RUNNING:
                claimed = self.store.claim(queue_key(task), run="run", now=now, status=Status.SCHEDULED)
                assert claimed
                return claimed
            case Status.PAUSED:
                changed = task.paused()
            case Status.RESERVED:
                changed = msgspec.structs.replace(task.reserved("token", until=now + KEEP), rev=task.rev + 1)
            case Status.BLOCKED:
                waiting = {"queued": None, "members": Members(left=2, done=1)}
                changed = msgspec.structs.replace(task, status=status, rev=task.rev + 1, **waiting)
            case Status.CANCELLED:
                changed = task.cancelled(now=now, keep=RetentionPolicy(retention=KEEP))
            case Status.FAILED:
                changed = task.failed(failure, now=now, keep=RetentionPolicy(retention=KEEP))
            case Status.DONE:
                changed = task.done(now=now, keep=RetentionPolicy(retention=KEEP))
            case Status.EXPIRED:
                changed = task.expired(now=now, keep=RetentionPolicy(retention=KEEP))
        assert self.store.save(task, changed)
        return changed

    def before(self, verb: str, then: Callable[[], object]) -> None:
        """Do this just before the store's next call of this verb."""
        call = getattr(self.store, verb)

        def first(*given: Any, **more: Any) -> Any:
            setattr(self.store, verb, call)
            then()
            return call(*given, **more)

        setattr(self.store, verb, first)

    def is_untouched(self) -> bool:
        """True if nothing was ever written."""
        return not self.store.tasks and self.store.record is None and not self.events.put

    def snapshot(self) -> tuple[dict[tuple[int, str], Task], ArmingRecord | None, int]:
        """All there is, to be compared."""
        return dict(self.store.tasks), self.store.record, len(self.events.put)
