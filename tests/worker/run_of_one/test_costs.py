"""A run of one task: what it costs, and what it puts back is rung for without a read of heads."""

from datetime import datetime

import pytest

from duebell import Editor, Retry, Worker
from duebell_shared.backend import Backend
from tests.support import Clock
from tests.worker.run_of_one.scene import DUE, HOUR, MINUTE, NEXT, SECOND, Costs, HookedBell, ring
from tests.worker.stage import Stage

# What it costs.


@pytest.mark.parametrize("after", [0, 119])
@pytest.mark.parametrize("waiting", [True, False], ids=["a-task-waits", "the-queue-is-empty"])
def test_a_run_that_comes_in_its_rings_minute_is_three_writes_and_one_put_rule(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs, *, after: int, waiting: bool
) -> None:
    # Given a task, and perhaps one that is due later
    editor.add("act", due=DUE, id="a")
    if waiting:
        editor.add("act", due=NEXT, id="b")
    # When the rule rings for the first
    clock.now = DUE + after * SECOND
    costs.clear()
    report = worker.run()
    # Then nothing is read again, and the rule is set once: for the later one, or to ring no more
    assert (report.done, report.rings_at) == (1, NEXT if waiting else None)
    assert costs.of() == {"reads": 1, "swaps": 3, "puts": 1, "queries": 4, "heads": 0}


@pytest.mark.parametrize(
    ("due", "late"),
    [(DUE + 56 * MINUTE, 0), (DUE, 121)],
    ids=["its ring has no echo in its hour", "it comes late"],
)
def test_a_run_without_an_echo_sets_its_watchdog(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs, *, due: datetime, late: int
) -> None:
    editor.add("act", due=due, id="a")
    clock.now = due + late * SECOND
    costs.clear()
    # When it is run, then the rule is set for the end of the lease as well
    assert worker.run().done == 1
    assert costs.of() == {"reads": 1, "swaps": 4, "puts": 2, "queries": 4, "heads": 0}


def test_a_run_that_finds_nothing_due_is_as_cheap(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs
) -> None:
    editor.add("act", due=DUE, id="a")
    editor.cancel("a")
    clock.now = DUE
    costs.clear()
    report = worker.run()
    assert (report.done, report.rings_at) == (0, None)
    assert costs.of() == {"reads": 1, "swaps": 3, "puts": 1, "queries": 4, "heads": 0}


# What is put back is rung for.


def test_a_task_that_is_tried_again_is_rung_for_without_a_read_of_heads(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs
) -> None:
    @worker.action("fail")
    def fail() -> None:
        raise Retry(after=5 * MINUTE)

    editor.add("fail", due=DUE, id="a")
    clock.now = DUE
    costs.clear()
    report = worker.run()
    assert (report.retried, report.rings_at) == (1, DUE + 5 * MINUTE)
    assert costs.of("reads", "swaps", "puts", "heads") == {"reads": 1, "swaps": 3, "puts": 1, "heads": 0}


def test_the_next_occurrence_is_rung_for_without_a_read_of_heads(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs, bell: HookedBell
) -> None:
    editor.add("act", schedule="rate(1 hour)", id="a")  # its first one is in an hour
    for hour in range(3):
        ring(clock, bell, after=5 * SECOND)
        assert clock.now == DUE + hour * HOUR + 5 * SECOND
        costs.clear()
        report = worker.run()
        assert (report.done, report.rings_at) == (1, DUE + (hour + 1) * HOUR)
        assert costs.of("reads", "swaps", "puts", "heads") == {"reads": 1, "swaps": 3, "puts": 1, "heads": 0}


def test_a_lease_that_is_renewed_is_one_write_and_the_echo_stays_its_watchdog(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock, costs: Costs
) -> None:
    # Given an action that takes longer than half of a lease
    worker = Worker(backend=backend, pool=stage)
    worker.action("long")(lambda: stage.sleep(70))
    editor.add("long", due=DUE, id="a")
    clock.now = DUE
    costs.clear()
    # When it is run, then the renewal is one write, without a read, and leaves the rule alone
    assert worker.run().done == 1
    assert costs.of("reads", "swaps", "puts") == {"reads": 1, "swaps": 4, "puts": 1}


def test_with_an_echo_as_the_watchdog_all_is_well_and_nobody_sets_the_rule(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs
) -> None:
    # Given somebody who looks at everything while a run relies on the rule's echo
    found: list[object] = []

    @worker.action("look")
    def look() -> None:
        editor.ensure_armed()
        found.append((editor.status().healthy, costs.of("puts")))

    editor.add("look", due=DUE, id="a")
    clock.now = DUE
    costs.clear()
    worker.run()
    assert found == [(True, {"puts": 0})]
