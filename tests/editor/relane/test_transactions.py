"""Transactions during which the queue is given more lanes: they fail, say so, and leave nothing."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from duebell import Status, TransactionCancelled
from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from duebell_shared.queue.places import lane_of
from tests.editor.memory import Scheduler
from tests.editor.trials import start_trial

HOUR = timedelta(hours=1)

#: An id that has another lane among 16 than among 4, and one that has not.
MOVED, STAYS = (
    next(id for n in range(99) if (lane_of(id := f"trial-{n}", 4) != lane_of(id, 16)) is is_moved)
    for is_moved in (True, False)
)


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler.start()


def before_commit(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, what: Callable[[], object], *, answers: bool = True
) -> None:
    """Have this happen when the next transaction has reserved its tasks and is to be committed."""
    transact, steps = scheduler.store.transact, [what]

    def later(writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        if steps:
            if not answers:
                transact(writes, token=token)
            steps.pop()()
        if not answers:
            raise AwsUnavailable("no answer")
        return transact(writes, token=token)

    monkeypatch.setattr(scheduler.store, "transact", later)


def test_a_transaction_says_that_a_relane_has_moved_its_task(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_commit(scheduler, monkeypatch, lambda: scheduler.editor.relane(16))
    with pytest.raises(TransactionCancelled, match=r"task '.*`duebell relane` moved it") as cancelled:
        start_trial(scheduler.editor, MOVED)
    assert cancelled.value.refusals[0].message.endswith(": make the transaction again")
    # Then nothing is left of it, and it can be made again
    assert scheduler.store.tasks == {}
    start_trial(scheduler.editor, MOVED)
    assert scheduler.editor.get(MOVED).status is Status.SCHEDULED


def test_a_reservation_that_ended_is_not_laid_to_a_relane(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def relane_and_drop() -> None:
        scheduler.editor.relane(16)
        scheduler.store.tasks.clear()

    before_commit(scheduler, monkeypatch, relane_and_drop)
    with pytest.raises(TransactionCancelled, match="its reservation has ended"):
        start_trial(scheduler.editor, MOVED)


def test_a_transaction_whose_answers_were_lost_is_found_committed_where_a_relane_moved_its_task(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_commit(scheduler, monkeypatch, lambda: scheduler.editor.relane(16), answers=False)
    start_trial(scheduler.editor, MOVED)
    assert scheduler.editor.get(MOVED).status is Status.SCHEDULED


def test_a_task_that_was_confirmed_and_moved_is_not_dropped(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id=MOVED)
    assert not scheduler.store.transact([reservation.write], token="one").refusals
    scheduler.editor.relane(16)
    assert not reservation.drop()
    assert scheduler.editor.get(MOVED).status is Status.SCHEDULED
