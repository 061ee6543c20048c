"""A ring that is lost: what the status says while it is missed, and once its echo brought a run."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import LateRing, ProblemKind, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.instants import render
from tests.editor.memory import Scheduler
from tests.support import NOON, SetFor

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
DUE = NOON + HOUR


@pytest.fixture
def scheduler() -> Scheduler:
    scheduler = Scheduler.start()
    scheduler.editor.add("act", due=DUE, id="one")
    return scheduler


def run_at(scheduler: Scheduler, now: datetime) -> None:
    scheduler.clock.now = now
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.run()


def test_while_a_ring_is_missed_the_status_says_when_its_echo_comes(scheduler: Scheduler) -> None:
    scheduler.clock.now = DUE + 3 * MINUTE
    status = scheduler.editor.status()
    assert status.expression == SetFor(DUE)
    assert status.rings_at == DUE + 4 * MINUTE
    problem = next(problem for problem in status.problems if problem.kind is ProblemKind.NOT_ARMED)
    assert problem.what == f"the rule should have rung at {render(DUE)}, and no run has come since"
    assert problem.way_out.endswith(f"; or wait for the rule's echo at {render(DUE + 4 * MINUTE)}")


@pytest.mark.parametrize("echo", [4 * MINUTE, 27 * MINUTE, 5 * HOUR])
def test_when_an_echo_brought_the_run_the_status_says_so(scheduler: Scheduler, echo: timedelta) -> None:
    run_at(scheduler, DUE + echo + 20 * SECOND)
    assert scheduler.editor.get("one").finished_at
    status = scheduler.editor.status()
    assert status.late_ring == LateRing(minute=DUE, came_at=DUE + echo + 20 * SECOND)
    assert status.healthy
    # And it goes on saying so when rings come in time again
    scheduler.editor.add("act", due=3 * HOUR)
    run_at(scheduler, scheduler.clock.now + 3 * HOUR + MINUTE)
    assert scheduler.editor.status().late_ring == status.late_ring


# Clocks that differ by up to a minute.


@pytest.mark.parametrize(
    "held",
    [
        {"lanes": (Lane(owner="nobody", until=NOON + timedelta(days=100)),)},
        {"lanes": (Lane(),), "applier": "nobody", "applier_until": NOON + timedelta(days=100)},
        {"lanes": (Lane(),), "relaner": "nobody", "relaner_until": NOON + timedelta(days=100)},
    ],
)
def test_a_record_is_held_too_long_by_whoever_holds_it(held: dict[str, Any]) -> None:
    assert ArmingRecord(**held).is_held_too_long(NOON)
    assert not ArmingRecord(**held).is_held_too_long(NOON + timedelta(days=100))


def test_a_record_that_is_held_too_long_again_is_made_anew_again(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a record that someone edited, and someone else edits while it is made anew
    held = Lane(owner="nobody", until=NOON + timedelta(days=100))
    armer, store = scheduler.backend.armer, scheduler.store

    def edit() -> None:
        assert store.record
        store.swap_record(store.record, ArmingRecord(lanes=(held, *store.record.lanes[1:])))

    edit()
    swap = store.swap_record

    def edit_first(old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        monkeypatch.undo()
        edit()
        return swap(old, new)

    monkeypatch.setattr(store, "swap_record", edit_first)
    # Then what is left is sound, and the rule rings for the task
    record = armer.verify()
    assert not record.is_held_too_long(NOON)
    assert record.target == DUE
    assert scheduler.events.expression == SetFor(DUE)
