"""A process that dies at each call of a transaction, and a run at each call beside one: all or nothing."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from duebell import Editor, Status, TaskExists, TransactionCancelled
from tests.crash.dying import new_worlds
from tests.crash.test_every_call import World, all_is_well, deaths, die_running, ring_in

pytestmark = pytest.mark.slow

SOON, LATER = timedelta(minutes=10), timedelta(hours=3)


@pytest.fixture
def world() -> Iterator[Callable[[], World]]:
    """A new world whenever asked; the old one is gone then."""
    with new_worlds(World) as renew:
        yield renew


def replace_old_by_new(editor: Editor) -> None:
    """A transaction whose effect is seen by two tasks: the one is cancelled, the other added."""
    with editor.transaction() as tx:
        tx.cancel("old")
        tx.add("note", due=SOON, id="new")


def test_a_process_that_dies_while_it_makes_a_transaction(world: Callable[[], World]) -> None:
    for number, moment in deaths():
        now = world()
        now.add("old", due=LATER)
        acknowledged = not now.processes.dies(now.clock, replace_old_by_new, number, moment)
        is_committed = now.status("old") is Status.CANCELLED
        assert is_committed or not acknowledged
        now.lambda_.let_it_ring()

        # Then the new task has run if and only if the transaction was committed
        assert ("new" in now.ran) == is_committed
        if acknowledged:
            return
        if not is_committed:
            # And it can be made again: what the first one left behind is no hindrance, nor is it ever run
            now = world()
            now.add("old", due=LATER)
            now.processes.dies(now.clock, replace_old_by_new, number, moment)
            with_retries(now)
            now.lambda_.let_it_ring()
        all_is_well(now, "new")
        assert now.ran.count("new") == 1
    raise AssertionError("more calls than expected")


def with_retries(world: World) -> None:
    """Make the transaction as a service does that does not know whether its last one was committed."""
    try:
        replace_old_by_new(world.editor)
    except (TaskExists, TransactionCancelled) as error:  # it was
        raise AssertionError("not committed, and cannot be made again") from error


def test_a_run_that_dies_while_it_leaves_or_drops_reserved_tasks(world: Callable[[], World]) -> None:
    for number, moment in deaths():
        # Given a task to be run, one whose transaction is to come, and one whose transaction never comes
        now = world()
        now.add("one", due=SOON)
        never = now.editor.reserve("note", due=SOON, id="never", grace=timedelta(minutes=5))
        to_come = now.editor.reserve("note", due=SOON, id="to-come", grace=timedelta(hours=1))
        ring_in(now, SOON)

        # When a run dies at its n-th call, and the transaction is committed then
        ended_well = die_running(now, number, moment)
        now.processes.connect(now.clock)
        store = now.editor.queue.store
        assert not store.transact([to_come.write], token="t" * 32).refusals
        now.lambda_.let_it_ring()

        # Then the confirmed task is done, and the other one is gone
        all_is_well(now, "one", "to-come")
        assert "never" not in now.ran
        assert store.get(now.editor.queue.lane_of("never"), "never") is None
        assert store.transact([never.write], token="u" * 32).refusals
        if ended_well:
            return
    raise AssertionError("more calls than expected")
