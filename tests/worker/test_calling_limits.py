"""Direct calls where they are easily one too many, or missing."""

from collections.abc import Callable
from datetime import timedelta

import boto3
import pytest

from duebell import Editor, Worker
from duebell_infra.testing import Bell, InlinePool, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.settings import Precision, Settings
from duebell_worker.run.lease import LEASE, Lease
from tests.support import NOON, Clock
from tests.worker.called import Called

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class ContendedStore(MemoryStore):
    """A queue whose record someone else changes, once, when a direct call is just being noted in it."""

    meanwhile: Callable[[], object] | None = None

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        if new.called_at and (happens := self.meanwhile):
            self.meanwhile = None
            happens()
        return super().swap_record(old, new)


@pytest.fixture
def store() -> ContendedStore:
    return ContendedStore()


@pytest.fixture
def bell() -> Bell:
    return Bell()


def scheduler(
    clock: Clock,
    called: Called,
    *,
    store: MemoryStore,
    bell: Bell,
    precision: Precision = Precision.MINUTE,
) -> Backend:
    rule = Rule("duebell", bell.client, clock=clock, sleep=clock.sleep)
    settings = Settings(lanes=2, precision=precision)
    return called.by(Backend(settings, store, rule, clock=clock, sleep=clock.sleep))


def in_lane(editor: Editor, lane: int, name: str = "task") -> str:
    return next(f"{name}-{n}" for n in range(99) if editor.queue.lane_of(f"{name}-{n}") == lane)


def disable(session: boto3.Session) -> None:
    session.client("events").disable_rule(Name="duebell")


def test_while_the_rule_is_disabled_an_editor_calls_nobody(
    session: boto3.Session, clock: Clock, called: Called
) -> None:
    # Given a scheduler that was paused as the documentation says: by disabling its rule
    disable(session)
    backend = called.by(Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep))
    # When something is added that is due at once
    Editor(backend=backend).add("act", due=timedelta(0))
    # Then nothing runs
    assert called.events == []


def test_while_the_rule_is_disabled_a_run_has_no_successor(
    session: boto3.Session, clock: Clock, called: Called
) -> None:
    settings = Settings(precision=Precision.SECOND)
    backend = called.by(Backend.connect(settings, session, clock=clock, sleep=clock.sleep))
    Editor(backend=backend).add("act", due=timedelta(seconds=170))
    called.events.clear()
    disable(session)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.run(time_left=MINUTE)
    assert called.events == []


def test_a_renewal_at_the_same_moment_does_not_cost_a_call(
    clock: Clock, called: Called, store: ContendedStore, bell: Bell
) -> None:
    # Given a run that holds one lane, and renews its lease while a call is being noted
    backend = scheduler(clock, called, store=store, bell=bell)
    editor = Editor(backend=backend)
    Lease.claim(backend.armer, "run", clock, only=[0]).arm()

    def renew() -> None:
        clock.advance(SECOND)
        backend.armer.change(lambda record: record.renewed("run", until=clock() + LEASE))

    store.meanwhile = renew
    # When something is added to the other that is due at once
    editor.add("act", due=timedelta(0), id=in_lane(editor, 1))
    # Then a run is called for it all the same
    assert called.events == [{"duebell": {}}]


def test_lanes_that_runs_were_just_started_for_have_nobody_else_called(
    clock: Clock, called: Called, store: ContendedStore, bell: Bell
) -> None:
    # Given a run that has handed a lane over, with more due in it, and the next one is still to come
    backend = scheduler(clock, called, store=store, bell=bell)
    editor = Editor(backend=backend)
    editor.add("act", due=NOON, id=in_lane(editor, 1))
    lease = Lease.claim(backend.armer, "run", clock)
    lease.arm()
    lease.clear()
    lease.hand_over({1: NOON})
    clock.advance(SECOND)
    called.events.clear()
    # When something more is added there
    editor.add("act", due=timedelta(0), id=in_lane(editor, 1, "more"))
    # Then no run is called that would take away what the other was started for
    assert called.events == []


def test_who_is_called_by_a_clock_that_is_a_little_ahead_waits_for_what_is_due(
    called: Called, store: ContendedStore, bell: Bell
) -> None:
    # Given an editor whose clock is a second ahead of the worker's
    editors, workers = Clock(NOON + SECOND), Clock()
    Editor(backend=scheduler(editors, called, store=store, bell=bell)).add("act", due=timedelta(0))
    backend = scheduler(workers, called, store=store, bell=bell)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    # When the run comes that was called for it
    workers.advance(0.1 * SECOND)
    report = worker.run(time_left=5 * MINUTE)
    # Then it is not left to a ring in two minutes
    assert report.done == 1
