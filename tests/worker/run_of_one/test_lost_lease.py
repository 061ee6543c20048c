"""A run of one task that loses its lease while it gives its lanes back, or before that."""

from datetime import datetime

import pytest
from botocore.exceptions import ClientError

from duebell import Editor, NotArmed, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import HOLD
from duebell_shared.bell.arming import ArmingRecord
from duebell_worker.run.lease import Lease
from tests.support import Clock
from tests.worker.log_lines import Log
from tests.worker.run_of_one.scene import DUE, MINUTE, SECOND, CountingStore, HookedBell, at_release, ring

NEXT = DUE + 20 * MINUTE


# A lease that is lost while the lanes are given back.


@pytest.mark.parametrize("only", [None, [1]], ids=["all-lanes", "one-lane"])
def test_a_lease_that_was_lost_is_said_and_nothing_is_written(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: CountingStore,
    clock: Clock,
    *,
    log: Log,
    only: list[int] | None,
) -> None:
    # Given another run, whose clock is minutes ahead, that claims lanes just before they are given back
    editor.add("act", due=DUE, id="due")
    editor.add("act", due=NEXT, id="next")
    clock.now = DUE
    theirs: list[ArmingRecord] = []

    def claim() -> None:
        until = DUE + 5 * MINUTE
        theirs.append(
            backend.armer.change(
                lambda record: record.claimed("other", now=DUE + 3 * MINUTE, until=until, only=only)
            )
        )

    at_release(store, claim)
    # When the run ends
    report = worker.run()
    # Then it says so, has changed no lane, and has seen to the other's watchdog
    assert report.lost_lease
    assert len(log.lines("lease_lost")) == 1
    record = backend.armer.read()
    assert (record.lanes, record.last_run) == (theirs[0].lanes, theirs[0].last_run)
    assert record.is_settled(clock.now)
    assert clock.now < DUE + SECOND


def test_a_watchdog_that_was_refused_is_set_again_by_a_hold_of_its_own(
    editor: Editor, backend: Backend, bell: HookedBell, clock: Clock, *, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a run whose watchdog is refused, and another process that sets the rule in the pause after that
    editor.add("act", due=DUE + 56 * MINUTE, id="due")
    ring(clock, bell)
    lease = Lease.claim(backend.armer, "run", backend.clock)
    with monkeypatch.context() as patch:
        patch.setattr(bell, "before", refuse)
        with pytest.raises(NotArmed):
            lease.arm()
    until = clock.now + HOLD
    backend.armer.change(lambda record: record.applying("other", until=until))
    # When the run tries again, then it sets the rule, and only after the other's hold
    set_at: list[datetime] = []
    bell.before = lambda: set_at.append(clock.now)
    lease.arm()
    assert [at >= until for at in set_at] == [True]
    assert backend.armer.read().is_settled(clock.now)


def refuse() -> None:
    raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutRule")


def test_a_run_whose_lease_ran_out_sees_to_the_watchdog_of_the_one_that_has_its_lanes(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given an action that takes longer than the lease, and a run that dies before it sets its watchdog
    worker = Worker(backend=backend, pool=lambda _: InlinePool())

    @worker.action("long")
    def long() -> None:
        clock.advance(3 * MINUTE)
        Lease.claim(backend.armer, "other", backend.clock)

    editor.add("long", due=DUE, id="due")
    clock.now = DUE
    # When the first one ends
    report = worker.run()
    # Then the rule rings for the other's lease
    assert report.lost_lease
    record = backend.armer.read()
    assert record.lanes_of("other") == (0, 1, 2, 3)
    assert record.is_settled(clock.now)
