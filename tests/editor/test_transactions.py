"""A block that writes to tables of the user and to the queue at once: all, or nothing, or it is not known."""
# ruff: noqa: PT012, SIM117 (a transaction is a block, and its end raises)

import re
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from duebell import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    Editor,
    InvalidTransaction,
    NotArmed,
    Status,
    TaskExists,
    TaskNotFound,
    TransactionCancelled,
    TransactionUnknown,
)
from duebell_infra.testing import MemoryStore
from duebell_shared.errors import ItemRefusal
from duebell_shared.queue.changes import TaskWrite, Transacted, UserWrite
from duebell_shared.queue.places import lane_of
from tests.editor.memory import Scheduler
from tests.shared.fake_events import refusal
from tests.support import NOON, create_trials

HOUR = timedelta(hours=1)


def start_trial(editor: Editor, id: str = "one") -> None:
    """A transaction of a put and an added task."""
    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": id}, condition="attribute_not_exists(id)")
        tx.add("expire", due=HOUR, id=id)


def test_all_is_written_at_the_end_of_the_block(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("act", due=HOUR, id="two")
    editor.add("act", due=HOUR, id="three")
    editor.add("act", due=HOUR, id="four")
    before = scheduler.snapshot()
    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42, "tags": {"a"}, "fee": Decimal("1.5")})
        tx.write({"Delete": {"TableName": "drafts", "Key": {"id": {"S": "42"}}}})
        planned = tx.add("expire", due=HOUR, payload={"n": 1}, id="one")
        tx.cancel("two")
        tx.move("three", due=2 * HOUR)
        tx.update("four", payload={"n": 2})
        assert scheduler.snapshot() == before

    assert [task.id for task in tx.tasks] == ["one", "two", "three", "four"]
    one, two, three, four = (editor.get(task.id) for task in tx.tasks)
    assert tx.tasks == (one, two, three, four)
    assert (one.status, one.due, one.payload) == (Status.SCHEDULED, planned.due, {"n": 1})
    assert (two.status, three.due, four.payload) == (Status.CANCELLED, NOON + 2 * HOUR, {"n": 2})
    assert scheduler.store.others == [
        {
            "Put": {
                "TableName": "trials",
                "Item": {"id": {"N": "42"}, "tags": {"SS": ["a"]}, "fee": {"N": "1.5"}},
            }
        },
        {"Delete": {"TableName": "drafts", "Key": {"id": {"S": "42"}}}},
    ]


def test_nothing_is_written_when_the_block_raises(scheduler: Scheduler) -> None:
    with pytest.raises(KeyError), scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.add("expire", due=HOUR, id="one")
        raise KeyError("of the user")
    assert scheduler.is_untouched()
    assert scheduler.store.others == []


def test_a_block_without_writes_makes_no_call(scheduler: Scheduler) -> None:
    with scheduler.editor.transaction() as tx:
        pass
    assert tx.tasks == ()
    assert scheduler.is_untouched()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "", "item": {"id": 1}}, "write: Invalid length for parameter Put.TableName"),
    ({"table": "trials", "item": []}, "item: must be a mapping of attributes to values, not []"),
    ({"table": "trials", "item": {"fee": 1.5}}, "item: Float types are not supported"),
    ({"table": "trials", "item": {"fee": object()}}, "item: Unsupported type"),
    ({"table": "trials", "item": {"id": 1}, "condition": 3}, "write: Invalid type for parameter"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=range(len(WRONG)))
def test_a_put_that_cannot_be_right_is_named(scheduler: Scheduler, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTransaction) as refused, scheduler.editor.transaction() as tx:
        tx.add("expire", due=HOUR, id="one")
        tx.put(**wrong)
    assert str(refused.value).startswith(said)
    assert scheduler.is_untouched()


@pytest.mark.parametrize("wrong", [None, {}, {"Get": {}}, {"Put": {"TableName": "trials"}}])
def test_a_write_that_the_sdk_would_refuse_is_refused(scheduler: Scheduler, wrong: Any) -> None:
    with pytest.raises(InvalidTransaction, match="write: "), scheduler.editor.transaction() as tx:
        tx.write(wrong)
    assert scheduler.is_untouched()


def test_a_transaction_has_a_hundred_writes_at_most(scheduler: Scheduler) -> None:
    with (
        pytest.raises(InvalidTransaction, match="has 101 writes, and DynamoDB takes 100 at most"),
        scheduler.editor.transaction() as tx,
    ):
        for number in range(101):
            tx.add("expire", due=HOUR, id=f"{number}")
    assert scheduler.is_untouched()

    with scheduler.editor.transaction() as tx:
        for number in range(100):
            tx.add("expire", due=HOUR, id=f"{number}")
    assert len(tx.tasks) == 100


def test_a_task_is_in_a_transaction_once(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="one")
    with pytest.raises(InvalidTransaction, match="id: 'one' is in this transaction already"):
        with scheduler.editor.transaction() as tx:
            tx.cancel("one")
            tx.add("act", due=HOUR, id="one")
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_an_id_that_is_taken_is_refused_with_advice_that_works_in_a_transaction(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="taken")
    with pytest.raises(TaskExists, match=r"tx\.update") as refused, scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.add("act", due=HOUR, id="one")
        tx.add("act", due=HOUR, id="taken")
    assert "if_exists" not in str(refused.value)
    # Then nothing is left of it, no other reservation either
    assert [task.id for task in scheduler.store.tasks.values()] == ["taken"]
    assert scheduler.store.others == []
    with scheduler.editor.transaction() as tx:
        tx.update("taken", payload=1)
    assert scheduler.editor.get("taken").payload == 1


def test_writes_go_inside_of_the_block(scheduler: Scheduler) -> None:
    tx = scheduler.editor.transaction()
    with pytest.raises(InvalidTransaction, match="takes writes inside"):
        tx.add("act", due=HOUR)
    with tx:
        pass
    with pytest.raises(InvalidTransaction, match="inside its block"):
        tx.cancel("one")
    with pytest.raises(InvalidTransaction, match="inside its block"):
        tx.put(table="orders", item={"id": "late"})
    with pytest.raises(InvalidTransaction, match="is over: begin another"):
        tx.__enter__()


@pytest.mark.moto
def test_a_condition_that_does_not_hold_is_told_in_the_words_of_dynamodb(
    editor: Editor, session: boto3.Session
) -> None:
    create_trials(session)
    start_trial(editor)
    with pytest.raises(TransactionCancelled, match="Put to table 'trials': The conditional request failed"):
        with editor.transaction() as tx:
            tx.put(table="trials", item={"id": "one"}, condition="attribute_not_exists(id)")
            tx.add("expire", due=HOUR, id="two")
    with pytest.raises(TaskNotFound):
        editor.get("two")


@pytest.mark.moto
def test_the_code_of_the_how_to_does_what_it_says(editor: Editor, session: boto3.Session) -> None:
    create_trials(session)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "transactions.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    assert {task.id: task.status for task in editor.list().tasks} == dict.fromkeys(
        ("trial-42", "trial-43", "trial-44"), Status.SCHEDULED
    )
    assert session.client("dynamodb").scan(TableName="trials")["Count"] == 2


REFUSED = Transacted(refusals=(ItemRefusal(index=0, code="ConditionalCheckFailed", message="no"),))
BUSY = Transacted(refusals=(ItemRefusal(index=0, code="TransactionConflict"),))


class Troubled(MemoryStore):
    """A store whose next transactions are answered so: an answer, an error without effect, or "lost"."""

    def __init__(self, *answers: Transacted | DuebellError | str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.tokens: list[str] = []

    def transact(self, writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
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


def troubled(*answers: Transacted | DuebellError | str) -> Scheduler:
    return Scheduler.start(store=Troubled(*answers))


AWAY, EXPIRED = AwsUnavailable("no answer"), AwsRefused("ExpiredToken")
FOUR = Transacted(refusals=REFUSED.refusals * 4)

#: The answers of the tries, the error that is raised, and the status of the task after it.
ANSWERS: dict[str, tuple[list[Any], type[Exception] | None, str, Status | None]] = {
    "refused": ([REFUSED], TransactionCancelled, "Put to table 'trials': no", None),
    "four refused": ([FOUR], TransactionCancelled, "(Put to table 'trials': no; ){3}and 1 more$", None),
    "busy for a while": ([BUSY, BUSY], None, "", Status.SCHEDULED),
    "busy": ([BUSY] * 9, TransactionCancelled, "TransactionConflict", None),
    "made, and the answer lost": (["lost"], None, "", Status.SCHEDULED),
    "made, the answer lost, and credentials that expire": (["lost", EXPIRED], None, "", Status.SCHEDULED),
    "made, the answer lost, and refused without tokens": (["lost", REFUSED], None, "", Status.SCHEDULED),
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


def test_a_task_that_changed_meanwhile_is_named(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="two")
    with pytest.raises(TransactionCancelled, match="task 'two': it was changed, moved or dropped"):
        with scheduler.editor.transaction() as tx:
            tx.add("act", due=HOUR, id="one")
            tx.cancel("two")
            scheduler.editor.update("two", payload={"n": 2})
    assert [task.id for task in scheduler.store.tasks.values()] == ["two"]


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

    def transact_and_run(writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
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


def test_a_reserved_task_that_someone_cancelled_is_no_sign_of_a_commit() -> None:
    # Given a transaction that is never answered, whose reserved task someone cancels meanwhile
    scheduler = troubled(*[AWAY] * 9)
    scheduler.before("transact", lambda: scheduler.editor.cancel("one"))
    # When it is made; then nobody is told that it is committed
    with pytest.raises(TransactionUnknown):
        start_trial(scheduler.editor)


def test_the_same_update_by_another_process_is_no_sign_of_a_commit() -> None:
    # Given a transaction that is never answered, and the same update of its task by someone else
    scheduler = troubled(*[AWAY] * 9)
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


@pytest.mark.parametrize("refusal", [REFUSED, EXPIRED], ids=["by a condition", "by AWS"])
def test_a_refusal_after_a_lost_answer_is_not_certain_without_a_reservation(refusal: Any) -> None:
    scheduler = troubled(AWAY, refusal)
    scheduler.editor.add("act", due=HOUR, id="one")
    with pytest.raises(TransactionUnknown, match="may be made yet"), scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.cancel("one")


#: An id that has another lane among 16 than among 4.
MOVED = next(id for n in range(99) if lane_of(id := f"trial-{n}", 4) != lane_of(id, 16))


def test_a_transaction_whose_task_a_relane_moves_fails_and_can_be_made_again(
    scheduler: Scheduler,
) -> None:
    scheduler.before("transact", lambda: scheduler.editor.relane(16))
    with pytest.raises(TransactionCancelled, match="it was changed, moved or dropped since it was read"):
        start_trial(scheduler.editor, MOVED)
    assert scheduler.store.others == []
    start_trial(scheduler.editor, MOVED)
    assert scheduler.editor.get(MOVED).status is Status.SCHEDULED
