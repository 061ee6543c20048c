"""The lease: held lanes are left alone, a dead run's are taken over, and who lost it writes nothing more."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from duebell import Editor, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import LEASE
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock, SetFor
from tests.worker.hooks import Hooks
from tests.worker.stage import Stage

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SECOND = timedelta(seconds=1)


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_lanes_that_another_run_holds_are_left_alone_and_its_watchdog_is_armed(
    editor: Editor, worker: Worker, backend: Backend, events: "EventBridgeClient"
) -> None:
    # Given a run that has claimed the lanes, and not yet armed its watchdog
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON, id="a")
    Lease.claim(backend.armer, "other", backend.clock)

    # When another run comes
    report = worker.run()

    # Then it does nothing but set the rule to the end of that lease
    assert (report.lanes, report.attempts) == (0, 0)
    assert editor.get("a").status is Status.SCHEDULED
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert report.rings_at == NOON + LEASE
    assert expression(events) == SetFor(NOON + timedelta(minutes=2))


def test_the_lease_is_renewed_at_half_and_the_rule_follows(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, events: "EventBridgeClient"
) -> None:
    # Given an action that takes longer than the lease lasts, and looks at the record now and then
    seen: list[tuple[float, str]] = []

    @staged.action("long")
    def long() -> None:
        for _ in range(5):
            lane = backend.armer.read().lanes[0]
            seen.append(((lane.until - NOON).total_seconds(), expression(events)))
            stage.sleep(35)

    editor.add("long", due=NOON, id="a")

    # When it is run
    report = staged.run()

    # Then the lease was prolonged each time that half of it was over, and so was the watchdog
    assert seen == [(60 * n, SetFor(NOON + timedelta(minutes=n))) for n in (2, 2, 3, 3, 4)]
    assert (report.done, report.lost_lease) == (1, False)


def test_a_run_that_lost_its_lease_writes_nothing_more(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock
) -> None:
    # Given an action that takes so long that another run takes over, and is done with the task
    called = []
    other = Worker(backend=backend, pool=lambda _: InlinePool())
    other.action("slow")(lambda: called.append("other"))
    other.action("act")(lambda: called.append("other"))

    @worker.action("slow")
    def slow() -> None:
        called.append("first")
        clock.advance(LEASE)
        assert other.run().done == 1
        editor.add("act", due=NOON, id="b")  # and more comes due

    worker.action("act")(lambda: called.append("first"))
    editor.add("slow", due=NOON, id="a")

    # When the first goes on
    report = worker.run()

    # Then it says so, and has written neither its outcome nor started anything
    assert (report.lost_lease, report.attempts) == (True, 0)
    assert called == ["first", "other"]
    assert (editor.get("a").attempt, editor.get("a").run != report.run) == (2, True)
    assert editor.get("b").status is Status.SCHEDULED
    assert report.rings_at == NOON + LEASE + timedelta(minutes=1)


class StandingStill(InlinePool):
    """A pool of a process that stands still when it is to start something."""

    def __init__(self, stand_still: Callable[[], object]) -> None:
        self._stand_still = stand_still

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        self._stand_still()
        return super().submit(call, *arguments)


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_run_that_lost_its_lease_before_or_over_a_claim_does_not_call_the_action(
    editor: Editor, backend: Backend, clock: Clock, aws: Hooks, is_claimed: bool
) -> None:
    # Given a process that stands still before its claim, or while that is answered, and another takes over
    def stand_still(**_: object) -> None:
        clock.advance(LEASE)
        Lease.claim(backend.armer, "other", clock)

    if is_claimed:
        aws.after("dynamodb.UpdateItem", stand_still)
    pool = InlinePool() if is_claimed else StandingStill(stand_still)
    called = []
    worker = Worker(backend=backend, pool=lambda _: pool)
    worker.action("act")(lambda: called.append("act"))
    editor.add("act", due=NOON, id="a")
    # When it goes on
    report = worker.run()
    # Then it leaves the task to the other one; an attempt that was claimed counts, for it may have been made
    assert (report.lost_lease, called) == (True, [])
    task = editor.get("a")
    assert (task.status, task.attempt) == ((Status.RUNNING, 1) if is_claimed else (Status.SCHEDULED, 0))
