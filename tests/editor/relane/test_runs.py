"""A queue is given more lanes once its runs have left; another relaner is refused."""

import pytest

from duebell import TaskConflict
from duebell_editor.library.relane import relane
from tests.editor.memory import Scheduler
from tests.editor.relane.scene import FROM, HOUR, LEASE, TO, StepByStep, claims, fill, record_of, seen_by
from tests.support import NOON


def test_runs_leave_and_get_no_lanes_until_it_is_done(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(scheduler)
    assert claims(scheduler, "busy") == (0, 1, 2, 3)
    got: list[tuple[int, ...]] = []
    sleep = scheduler.clock.sleep

    def wait(seconds: float) -> None:
        got.append(claims(scheduler, f"run-{len(got)}"))
        assert record_of(scheduler).is_relaned(scheduler.clock.now)
        if len(got) == 90:
            armer = scheduler.backend.armer
            armer.change(lambda record: record.renewed("busy", until=scheduler.clock.now + LEASE))
        if len(got) == 150:
            heads = dict.fromkeys(range(FROM), scheduler.clock.now)
            scheduler.backend.armer.change(lambda record: record.released("busy", heads))
            assert claims(scheduler, "late") == ()
        sleep(seconds)

    backend = scheduler.backend
    waiter = type(backend)(backend.settings, scheduler.store, backend.rule, clock=backend.clock, sleep=wait)
    relane(waiter, TO)
    assert set(got) == {()}
    assert len(got) == 150
    assert claims(scheduler) == tuple(range(TO))


def test_a_run_that_does_not_leave_is_not_pushed_out(scheduler: Scheduler) -> None:
    until = NOON + HOUR
    scheduler.backend.armer.change(lambda record: record.claimed("long", now=NOON, until=until))
    before = record_of(scheduler).lanes
    with pytest.raises(TaskConflict, match="run long still holds lanes"):
        relane(scheduler.backend, TO)
    record = record_of(scheduler)
    assert (record.lanes, record.earlier) == (before, ())


def test_the_lanes_of_a_dead_run_are_taken_when_its_lease_ends(scheduler: Scheduler) -> None:
    fill(scheduler)
    claims(scheduler, "dead")
    relane(scheduler.backend, TO)
    assert scheduler.clock.now >= NOON + LEASE
    assert claims(scheduler) == tuple(range(TO))


def test_two_at_a_time_are_one_too_many(scheduler: Scheduler) -> None:
    store = StepByStep(scheduler.store, 4, lambda: refused(scheduler))

    def refused(scheduler: Scheduler) -> None:
        with pytest.raises(TaskConflict, match="another process"):
            relane(scheduler.backend, 16)

    relane(seen_by(scheduler, store), TO)
    assert len(record_of(scheduler).lanes) == TO
