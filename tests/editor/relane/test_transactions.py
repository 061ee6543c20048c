"""A transaction during which the queue is given more lanes: it fails, says so, and can be made again."""

from collections.abc import Sequence

import pytest

from duebell import Status, TransactionCancelled
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from duebell_shared.queue.places import lane_of
from tests.editor.memory import Scheduler
from tests.editor.trials import start_trial

#: An id that has another lane among 16 than among 4.
MOVED = next(id for n in range(99) if lane_of(id := f"trial-{n}", 4) != lane_of(id, 16))


def test_a_transaction_whose_task_a_relane_moves_is_cancelled_and_can_be_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = Scheduler.start()
    transact = scheduler.store.transact

    def relane_first(writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        scheduler.editor.relane(16)
        return transact(writes, token=token)

    monkeypatch.setattr(scheduler.store, "transact", relane_first)
    with pytest.raises(TransactionCancelled, match="it was changed, moved or dropped since it was read"):
        start_trial(scheduler.editor, MOVED)
    assert scheduler.store.others == []
    start_trial(scheduler.editor, MOVED)
    assert scheduler.editor.get(MOVED).status is Status.SCHEDULED
