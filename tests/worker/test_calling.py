"""Direct calls of the worker: for what is due sooner than the rule rings, and for what a run has to leave."""

from datetime import timedelta

import boto3
import pytest

from duebell import AwsUnavailable, Editor, Status, Worker
from duebell_infra.testing import Bell, InlinePool, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Precision, Settings
from duebell_worker.run.lease import Lease
from tests.support import NOON, Calls, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import in_lane
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: What a run is started with that takes all lanes that are free.
ALL: dict[str, object] = {"duebell": {}}


@pytest.fixture
def precision() -> Precision:
    return Precision.MINUTE


@pytest.fixture
def backend(
    session: boto3.Session, calls: Calls, clock: Clock, called: Called, precision: Precision
) -> Backend:
    settings = Settings(precision=precision, parallel_runs=1)
    return called.by(Backend.connect(settings, session, clock=clock, sleep=clock.sleep))


@pytest.mark.parametrize("due", [timedelta(0), timedelta(minutes=-10)])
def test_what_is_due_at_once_has_the_worker_called(editor: Editor, called: Called, due: timedelta) -> None:
    editor.add("act", due=due)
    assert called.events == [ALL]


@pytest.mark.parametrize("by", ["retry", "run_now", "move", "resume"])
def test_so_has_what_becomes_due_at_once(
    editor: Editor, backend: Backend, called: Called, clock: Clock, by: str
) -> None:
    editor.add("act", schedule="rate(1 hour)", id="again")
    editor.add("no such action", due=timedelta(hours=1), id="once")
    if by == "retry":
        clock.advance(timedelta(hours=1))
        Worker(backend=backend, pool=lambda _: InlinePool()).run()
    elif by == "resume":
        editor.pause("once")
        clock.advance(timedelta(hours=2))
    called.events.clear()
    match by:
        case "run_now":
            editor.run_now("again")
        case "move":
            editor.move("once", due=timedelta(0))
        case _:
            getattr(editor, by)("once")
    assert called.events == [ALL]


def test_a_burst_of_adds_calls_once(editor: Editor, called: Called, clock: Clock) -> None:
    for _ in range(20):
        editor.add("act", due=timedelta(0))
        clock.advance(timedelta(milliseconds=50))
    assert called.events == [ALL]


def test_the_next_one_is_called_once_a_run_has_come(editor: Editor, backend: Backend, called: Called) -> None:
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    editor.add("act", due=timedelta(0))
    worker.run()
    editor.add("act", due=timedelta(0))
    assert called.events == [ALL, ALL]


def test_a_call_that_fails_loses_nothing(
    editor: Editor, called: Called, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    called.refuses = True
    editor.add("act", due=timedelta(0))
    rings_at = editor.status().rings_at
    assert rings_at
    assert clock.now + MINUTE <= rings_at <= clock.now + 2 * MINUTE
    assert "could not be invoked, so the rule will do it" in caplog.text


def test_a_table_that_does_not_take_the_note_of_it_loses_nothing(
    editor: Editor,
    backend: Backend,
    called: Called,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    swap = backend.store.swap_record

    def refuse(old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        if new.called_at:
            raise AwsUnavailable("throttled")
        return swap(old, new)

    monkeypatch.setattr(backend.store, "swap_record", refuse)
    task = editor.add("act", due=timedelta(0))
    assert editor.get(task.id).status is Status.SCHEDULED
    assert called.events == []
    assert "no run was started directly, so the rule will do it" in caplog.text


@pytest.mark.parametrize(("precision", "expected"), [(Precision.MINUTE, []), (Precision.SECOND, [ALL])])
def test_what_is_due_soon_has_a_worker_called_that_waits_for_it(
    editor: Editor, called: Called, expected: list[object]
) -> None:
    editor.add("act", due=timedelta(seconds=40))
    assert called.events == expected


def test_without_a_function_nobody_is_called(session: boto3.Session, clock: Clock, called: Called) -> None:
    editor = Editor(backend=Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep))
    editor.add("act", due=timedelta(0))
    assert called.events == []


def test_a_run_whose_time_is_up_calls_its_successor(
    editor: Editor, backend: Backend, called: Called, stage: Stage
) -> None:
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(40))
    editor.add_many({"action": "act", "due": NOON} for _ in range(10))
    called.events.clear()
    report = worker.run(time_left=5 * MINUTE)
    assert (report.done, report.stopped_early) == (7, True)
    assert called.events == [ALL]


# Where a call is easily one too many, or missing.


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def bell() -> Bell:
    return Bell()


def scheduler(
    clock: Clock, called: Called, *, store: MemoryStore, bell: Bell, precision: Precision = Precision.MINUTE
) -> Backend:
    rule = Rule("duebell", bell.client, clock=clock, sleep=clock.sleep)
    settings = Settings(lanes=2, precision=precision)
    return called.by(Backend(settings, store, rule, clock=clock, sleep=clock.sleep))


@pytest.mark.parametrize(("is_call", "expected"), [(False, [ALL]), (True, [])], ids=["renewal", "call"])
def test_a_change_of_the_record_at_the_same_moment_costs_no_call_and_makes_none_twice(
    clock: Clock, called: Called, store: HookedStore, bell: Bell, *, is_call: bool, expected: list[object]
) -> None:
    # Given a run that holds a lane and renews its lease, or another call, while a call is being noted
    backend = scheduler(clock, called, store=store, bell=bell)
    editor = Editor(backend=backend)
    Lease.claim(backend.armer, "run", clock, only=[0]).arm()

    def change(record: ArmingRecord) -> ArmingRecord:
        return record.called(clock()) if is_call else record.renewed("run", until=clock() + LEASE)

    def get_in_first(new: ArmingRecord) -> None:
        if new.called_at:
            store.on_write = lambda _: None
            clock.advance(SECOND)
            backend.armer.change(change)

    store.on_write = get_in_first
    # When a task is added to the other lane that is due at once
    editor.add("act", due=timedelta(0), id=in_lane(1, lanes=2))
    # Then this add calls a run, unless the other call did
    assert called.events == expected


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


def test_who_is_called_by_a_clock_that_is_a_little_ahead_waits_for_what_is_due(
    called: Called, store: HookedStore, bell: Bell
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
