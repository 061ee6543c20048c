"""The end of a transaction that AWS refuses, does not answer, or answers too late."""
# ruff: noqa: PT012, SIM117 (a transaction is a block, and its end raises)

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from duebell import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    NotArmed,
    Status,
    TaskExists,
    TransactionCancelled,
    TransactionUnknown,
)
from duebell_infra.testing import MemoryStore
from duebell_shared.errors import ItemRefusal
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from tests.editor.memory import Scheduler
from tests.editor.trials import start_trial
from tests.shared.fake_events import refusal

HOUR = timedelta(hours=1)


REFUSED = Transacted(refusals=(ItemRefusal(index=0, code="ConditionalCheckFailed", message="no"),))
BUSY = Transacted(refusals=(ItemRefusal(index=0, code="TransactionConflict"),))


class Troubled(MemoryStore):
    """A store whose next transactions are answered so: an answer, an error without effect, or "lost"."""

    def __init__(self, *answers: Transacted | DuebellError | str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.tokens: list[str] = []

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        self.tokens.append(token)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Transacted):
            return answer
        if isinstance(answer, DuebellError):
            raise answer
        transacted = super().transact(writes, token=token)
        if answer == "lost":
            raise AwsUnavailable("no answer")
        return transacted


class Forgetful(Troubled):
    """The same, over an emulator that does not know tokens."""

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        self._committed.clear()
        return super().transact(writes, token=token)


def troubled(*answers: Transacted | DuebellError | str, kind: type[Troubled] = Troubled) -> Scheduler:
    return Scheduler.start(store=kind(*answers))


AWAY, EXPIRED = AwsUnavailable("no answer"), AwsRefused("ExpiredToken")

#: The answers of the tries, the error that is raised, and the status of the task after it.
ANSWERS: dict[str, tuple[list[Any], type[Exception] | None, str, Status | None]] = {
    "refused": ([REFUSED], TransactionCancelled, "Put to table 'trials': no", None),
    "busy for a while": ([BUSY, BUSY], None, "", Status.SCHEDULED),
    "busy": ([BUSY] * 9, TransactionCancelled, "TransactionConflict", None),
    "made, and the answer lost": (["lost"], None, "", Status.SCHEDULED),
    "made, the answer lost, and credentials that expire": (["lost", EXPIRED], None, "", Status.SCHEDULED),
    "never answered": ([AWAY] * 9, TransactionUnknown, "it is not known whether", Status.RESERVED),
    "not answered, then refused": ([AWAY, REFUSED], TransactionCancelled, "Put to table", None),
    "not answered, then credentials that expire": ([AWAY, EXPIRED], AwsRefused, "ExpiredToken", None),
}


@pytest.mark.parametrize(("answers", "error", "words", "status"), ANSWERS.values(), ids=ANSWERS.keys())
def test_the_tries_of_a_transaction_have_one_end(
    answers: list[Any], error: type[Exception] | None, words: str, status: Status | None
) -> None:
    scheduler = troubled(*answers)
    with pytest.raises(error, match=words) if error else nullcontext():
        start_trial(scheduler.editor)
    # Then the task is added, or gone, or waits for the end of its reservation
    assert [task.status for task in scheduler.store.tasks.values()] == ([status] if status else [])
    store = scheduler.store
    assert isinstance(store, Troubled)
    assert len(set(store.tokens)) == 1
    # And a transaction that was refused can be made again at once
    if error is TransactionCancelled:
        store.answers.clear()
        start_trial(scheduler.editor)
        assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_lost_answer_is_no_error_over_an_emulator_that_knows_no_tokens() -> None:
    scheduler = troubled("lost", kind=Forgetful)
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED
    assert len(scheduler.store.others) == 1


def test_a_task_that_changed_meanwhile_is_named(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="two")
    with pytest.raises(TransactionCancelled, match="task 'two': it was changed, moved or dropped"):
        with scheduler.editor.transaction() as tx:
            tx.add("act", due=HOUR, id="one")
            tx.cancel("two")
            scheduler.editor.update("two", payload={"n": 2})
    assert [task.id for task in scheduler.store.tasks.values()] == ["two"]


def test_a_reservation_that_ended_meanwhile_is_named(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    transact = scheduler.store.transact

    def drop_first(writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        scheduler.store.tasks.clear()
        return transact(writes, token=token)

    monkeypatch.setattr(scheduler.store, "transact", drop_first)
    with pytest.raises(TransactionCancelled, match="task 'one': it was changed, moved or dropped"):
        start_trial(scheduler.editor)


def test_an_id_that_is_taken_leaves_no_other_reservation(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="two")
    with pytest.raises(TaskExists), scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.add("act", due=HOUR, id="one")
        tx.add("act", due=HOUR, id="two")
    assert [task.id for task in scheduler.store.tasks.values()] == ["two"]
    assert scheduler.store.others == []


def test_a_rule_that_cannot_be_set_keeps_the_transaction_from_being_made(scheduler: Scheduler) -> None:
    scheduler.events.troubles["PutRule"] = [refusal("AccessDeniedException")]
    with pytest.raises(NotArmed):
        start_trial(scheduler.editor)
    assert scheduler.store.others == []
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_task_that_has_run_and_is_deleted_is_no_sign_of_a_refusal() -> None:
    # Given a transaction that is committed without an answer, whose task runs and leaves no history
    scheduler = troubled("lost", *[BUSY] * 9)
    transact = scheduler.store.transact

    def transact_and_run(writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        try:
            return transact(writes, token=token)
        finally:
            for task in list(scheduler.store.tasks.values()):
                scheduler.store.save(task, None)

    scheduler.store.transact = transact_and_run  # type: ignore[method-assign]
    # When later tries are refused, then nobody is told that it is not committed
    with pytest.raises(TransactionUnknown):
        start_trial(scheduler.editor)
    assert len(scheduler.store.others) == 1


def test_a_reserved_task_that_someone_cancelled_is_no_sign_of_a_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a transaction that is never answered, whose reserved task someone cancels meanwhile
    scheduler = troubled(*[AwsUnavailable("no answer")] * 9)
    cancels = [scheduler.editor.cancel]
    transact = scheduler.store.transact

    def cancel_first(writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        if cancels:
            cancels.pop()("one")
        return transact(writes, token=token)

    monkeypatch.setattr(scheduler.store, "transact", cancel_first)

    # When it is made; then nobody is told that it is committed
    with pytest.raises(TransactionUnknown):
        start_trial(scheduler.editor)


def test_the_same_update_by_another_process_is_no_sign_of_a_commit() -> None:
    # Given a transaction that is never answered, and the same update of its task by someone else
    scheduler = troubled(*[AwsUnavailable("no answer")] * 9)
    scheduler.editor.add("act", due=HOUR, id="one")
    other = scheduler.editor.update_item("one", payload=2)

    # When it is made; then nobody is told that its other write is
    with pytest.raises(TransactionUnknown):
        with scheduler.editor.transaction() as tx:
            tx.put(table="trials", item={"id": "one"})
            tx.update("one", payload=2)
            assert scheduler.store.save(other.write.old, other.write.new)


def test_a_cancellation_whose_every_answer_is_lost_is_found_committed() -> None:
    scheduler = troubled(*["lost"] * 9)
    scheduler.editor.add("act", due=HOUR, id="one")
    with scheduler.editor.transaction() as tx:
        tx.cancel("one")
    assert scheduler.editor.get("one").status is Status.CANCELLED


@pytest.mark.parametrize("refusal", [REFUSED, AwsRefused("ExpiredToken")], ids=["by a condition", "by AWS"])
def test_a_refusal_after_a_lost_answer_is_not_certain_without_a_reservation(refusal: Any) -> None:
    scheduler = troubled(AwsUnavailable("no answer"), refusal)
    scheduler.editor.add("act", due=HOUR, id="one")
    with pytest.raises(TransactionUnknown, match="may be made yet"), scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.cancel("one")
