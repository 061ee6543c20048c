"""Direct calls of the worker: for what is due sooner than the rule rings, and for what a run has to leave."""

from datetime import timedelta

import pytest

from duebell import AwsUnavailable, Editor, Status, Worker
from duebell_infra.testing import Bell, InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Precision
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import in_lane, memory_backend
from tests.worker.stage import Stage

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

#: The event of a run that takes all free lanes.
ALL: dict[str, object] = {"duebell": {}}


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def precision() -> Precision:
    return Precision.MINUTE


@pytest.fixture
def backend(clock: Clock, store: HookedStore, bell: Bell, called: Called, precision: Precision) -> Backend:
    return called.by(memory_backend(clock, store, bell=bell, precision=precision, parallel_runs=1))


@pytest.mark.parametrize("due", [timedelta(0), timedelta(minutes=-10)])
def test_what_is_due_at_once_has_the_worker_called(editor: Editor, called: Called, due: timedelta) -> None:
    editor.add("act", due=due)
    assert called.events == [ALL]


@pytest.mark.parametrize("by", ["retry", "run_now", "move", "resume"])
def test_so_has_what_becomes_due_at_once(
    editor: Editor, worker: Worker, called: Called, clock: Clock, by: str
) -> None:
    editor.add("no such action", due=HOUR, id="once")
    if by == "retry":
        clock.advance(HOUR)
        worker.run()
    elif by == "resume":
        editor.pause("once")
        clock.advance(2 * HOUR)
    called.events.clear()
    if by == "move":
        editor.move("once", due=timedelta(0))
    else:
        getattr(editor, by)("once")
    assert called.events == [ALL]


def test_a_burst_of_adds_calls_once(editor: Editor, called: Called, clock: Clock) -> None:
    for _ in range(20):
        editor.add("act", due=timedelta(0))
        clock.advance(timedelta(milliseconds=50))
    assert called.events == [ALL]


def test_the_next_one_is_called_once_a_run_has_come(editor: Editor, worker: Worker, called: Called) -> None:
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
    editor: Editor, store: HookedStore, called: Called, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(new: ArmingRecord) -> None:
        if new.called_at:
            raise AwsUnavailable("throttled")

    store.on_write = refuse
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


# Calls that must not be made, or must not be missing.


@pytest.mark.parametrize(("is_call", "expected"), [(False, [ALL]), (True, [])], ids=["renewal", "call"])
def test_a_change_of_the_record_at_the_same_moment_costs_no_call_and_makes_none_twice(  # noqa: PLR0917
    editor: Editor,
    backend: Backend,
    clock: Clock,
    called: Called,
    store: HookedStore,
    is_call: bool,
    expected: list[object],
) -> None:
    # Given a run that holds a lane and renews its lease, or another call, while a call is being noted
    Lease.claim(backend.armer, "run", clock, only=[0]).arm()

    def change(record: ArmingRecord) -> ArmingRecord:
        return record.called(clock()) if is_call else record.renewed("run", until=clock() + LEASE)

    def get_in_first(new: ArmingRecord) -> None:
        if new.called_at:
            store.on_write = lambda _: None
            clock.advance(SECOND)
            backend.armer.change(change)

    store.on_write = get_in_first
    # When a task is added to another lane that is due at once
    editor.add("act", due=timedelta(0), id=in_lane(1))
    # Then this add calls a run, unless the other call did
    assert called.events == expected


def disable(bell: Bell) -> None:
    bell.client.put_rule(Name="duebell", ScheduleExpression=bell.expression, State="DISABLED")


def test_while_the_rule_is_disabled_an_editor_calls_nobody(
    editor: Editor, bell: Bell, called: Called
) -> None:
    disable(bell)
    editor.add("act", due=timedelta(0))
    assert called.events == []


@pytest.mark.parametrize("precision", [Precision.SECOND])
def test_while_the_rule_is_disabled_a_run_has_no_successor(
    editor: Editor, worker: Worker, bell: Bell, called: Called
) -> None:
    editor.add("act", due=timedelta(seconds=170))
    called.events.clear()
    disable(bell)
    worker.run(time_left=MINUTE)
    assert called.events == []


def test_who_is_called_by_a_clock_that_is_a_little_ahead_waits_for_what_is_due(
    editor: Editor, called: Called, clock: Clock, store: HookedStore, bell: Bell
) -> None:
    # Given an editor whose clock is a second ahead of the worker's
    clock.advance(SECOND)
    editor.add("act", due=timedelta(0))
    workers = Clock()
    worker = Worker(backend=memory_backend(workers, store, bell=bell), pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    # When the run comes that was called for it
    workers.advance(0.1 * SECOND)
    report = worker.run(time_left=5 * MINUTE)
    # Then it is not left to a ring in two minutes
    assert report.done == 1
