"""Transactions over tables of the user and the queue: committed, refused, unanswered, or never begun."""
# ruff: noqa: PT012, SIM117 (a transaction is a block, and its end raises)

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

import boto3
import pytest
from boto3.dynamodb.conditions import Attr

from duebell_editor import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    Editor,
    InvalidTask,
    InvalidTransaction,
    NewTask,
    NotArmed,
    Status,
    TaskChange,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
    TransactionCancelled,
    TransactionUnknown,
)
from duebell_editor.task_fields import ChangeFields, TaskFields
from duebell_infra.testing import MemoryStore
from duebell_shared.transactions import ItemRefusal, Other, TaskWrite, Transacted
from tests.editor.memory import Scheduler
from tests.shared.fake_events import refusal
from tests.support import NOON, create_trials

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
    def fail() -> None:
        with scheduler.editor.transaction() as tx:
            tx.put(table="trials", item={"id": 42})
            tx.add("expire", due=HOUR, id="one")
            raise KeyError("of the user")

    with pytest.raises(KeyError):
        fail()
    assert scheduler.is_untouched()
    assert scheduler.store.others == []


def test_a_block_without_writes_makes_no_call(scheduler: Scheduler) -> None:
    with scheduler.editor.transaction() as tx:
        pass
    assert tx.tasks == ()
    assert scheduler.is_untouched()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "", "item": {"id": 1}}, "table: must be the name of a table, not ''"),
    ({"table": "trials", "item": {}}, "item: must be a mapping of attributes to values, not {}"),
    ({"table": "trials", "item": {1: 1}}, "item: has 1 as an attribute: names are text"),
    ({"table": "trials", "item": {"fee": 1.5}}, "item['fee']: Float types are not supported"),
    ({"table": "trials", "item": {"fee": object()}}, "item['fee']: Unsupported type"),
    ({"table": "trials", "item": {"id": 1}, "condition": 3}, "condition: must be made with boto3's Attr"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=range(len(WRONG)))
def test_a_put_that_cannot_be_right_is_named(scheduler: Scheduler, wrong: dict[str, Any], said: str) -> None:
    with (
        pytest.raises(InvalidTransaction) as refused,
        scheduler.editor.transaction() as tx,
    ):
        tx.add("expire", due=HOUR, id="one")
        tx.put(**wrong)
    assert str(refused.value).startswith(said)
    assert scheduler.is_untouched()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"Get": {}},
        {"Put": {"TableName": "trials"}},
        {"Put": {"TableName": "trials", "Item": {"id": 1}}},
        {"Put": {"TableName": "trials", "Item": {"id": {"S": "1"}}}, "Delete": {}},
    ],
)
def test_a_write_that_the_sdk_would_refuse_is_refused(scheduler: Scheduler, wrong: Any) -> None:
    with pytest.raises(InvalidTransaction, match="write: "), scheduler.editor.transaction() as tx:
        tx.write(wrong)
    assert scheduler.is_untouched()


def test_a_condition_of_boto3_is_given_with_its_names_and_values(scheduler: Scheduler) -> None:
    with scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 1}, condition=Attr("id").not_exists() | Attr("rev").eq(3))
    [write] = scheduler.store.others
    assert write["Put"]["ExpressionAttributeNames"] == {"#n0": "id", "#n1": "rev"}
    assert write["Put"]["ExpressionAttributeValues"] == {":v0": {"N": "3"}}


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


def test_writes_go_inside_of_the_block(scheduler: Scheduler) -> None:
    tx = scheduler.editor.transaction()
    with pytest.raises(InvalidTransaction, match="takes writes inside"):
        tx.add("act", due=HOUR)
    with tx:
        pass
    with pytest.raises(InvalidTransaction, match="inside its block"):
        tx.cancel("one")
    with pytest.raises(InvalidTransaction, match="is over: begin another"):
        tx.__enter__()
    with pytest.raises(InvalidTask, match="grace: must be"):
        scheduler.editor.transaction(grace=timedelta(days=1))


def test_what_editors_refuse_is_refused_in_the_block(scheduler: Scheduler) -> None:
    done = scheduler.editor.add("act", due=HOUR, id="one")
    scheduler.become(done, Status.DONE)
    waiting = scheduler.editor.add("act", due=HOUR, id="two")
    before = scheduler.snapshot()
    wrong: list[tuple[type[DuebellError], Callable[[Any], object]]] = [
        (InvalidTask, lambda tx: tx.add("act", due="soon")),
        (InvalidTask, lambda tx: tx.add("act", due=HOUR, odd=1)),
        (TaskNotFound, lambda tx: tx.cancel("none")),
        (TaskConflict, lambda tx: tx.cancel("one")),
        (TaskChanged, lambda tx: tx.cancel("two", rev=waiting.rev + 1)),
        (InvalidTask, lambda tx: tx.move("two", due=HOUR / 2)),
        (InvalidTask, lambda tx: tx.update("two")),
    ]
    for error, write in wrong:
        with pytest.raises(error), scheduler.editor.transaction() as tx:
            tx.add("act", due=HOUR, id="three")
            write(tx)
    assert scheduler.snapshot() == before


# Not committed.


def test_a_refused_transaction_names_the_write_and_leaves_nothing() -> None:
    scheduler = troubled(REFUSED)
    with pytest.raises(TransactionCancelled, match="Put to table 'trials': no") as cancelled:
        start_trial(scheduler.editor)
    [refused] = cancelled.value.refusals
    assert (refused.index, refused.code) == (0, "ConditionalCheckFailed")
    assert scheduler.store.tasks == {}
    # And it can be made again at once
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_task_that_changed_meanwhile_is_named(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="two")
    with pytest.raises(TransactionCancelled, match="task 'two': it was changed since it was read"):
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
    with pytest.raises(TransactionCancelled, match="task 'one': its reservation has ended"):
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


def test_what_aws_refuses_leaves_no_reservation() -> None:
    scheduler = troubled(AwsRefused("AccessDenied"))
    with pytest.raises(AwsRefused):
        start_trial(scheduler.editor)
    assert scheduler.store.tasks == {}


# Tried again.


def test_a_busy_item_is_tried_again_with_the_same_token() -> None:
    scheduler = troubled(BUSY, BUSY)
    start_trial(scheduler.editor)
    store = scheduler.store
    assert isinstance(store, Troubled)
    assert len(store.tokens) == 3
    assert len(set(store.tokens)) == 1
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_an_item_that_stays_busy_is_given_up() -> None:
    scheduler = troubled(*[BUSY] * 9)
    with pytest.raises(TransactionCancelled, match="TransactionConflict"):
        start_trial(scheduler.editor)
    assert scheduler.store.tasks == {}


@pytest.mark.parametrize("kind", [Troubled, Forgetful])
def test_a_lost_answer_of_a_committed_transaction_is_no_error(kind: type[Troubled]) -> None:
    scheduler = troubled("lost", kind=kind)
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED
    assert len(scheduler.store.others) == 1


def test_a_transaction_whose_every_answer_is_lost_is_found_committed_by_its_tasks() -> None:
    scheduler = troubled(*["lost"] * 9)
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_transaction_of_which_nothing_is_known_keeps_its_reservations() -> None:
    scheduler = troubled(*[AwsUnavailable("no answer")] * 9)
    with pytest.raises(TransactionUnknown, match="it is not known whether the transaction is committed"):
        start_trial(scheduler.editor)
    # Then it may be committed yet, and nothing runs if it is not
    assert scheduler.editor.get("one").status is Status.RESERVED


def test_a_refusal_after_a_lost_answer_is_certain_once_a_reservation_is_dropped() -> None:
    scheduler = troubled(AwsUnavailable("no answer"), REFUSED)
    with pytest.raises(TransactionCancelled):
        start_trial(scheduler.editor)
    assert scheduler.store.tasks == {}


def test_a_refusal_after_a_lost_answer_is_not_certain_without_a_reservation() -> None:
    scheduler = troubled(AwsUnavailable("no answer"), REFUSED)
    scheduler.editor.add("act", due=HOUR, id="one")
    with pytest.raises(TransactionUnknown, match="may be made yet"), scheduler.editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42})
        tx.cancel("one")


def test_a_call_that_is_refused_after_a_lost_answer_is_found_committed() -> None:
    # Given credentials that expire between two tries, the first of which was made
    scheduler = troubled("lost", AwsRefused("ExpiredToken"))
    start_trial(scheduler.editor)
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_call_that_is_refused_after_no_answer_is_certain_once_a_reservation_is_dropped() -> None:
    scheduler = troubled(AwsUnavailable("no answer"), AwsRefused("ExpiredToken"))
    with pytest.raises(AwsRefused):
        start_trial(scheduler.editor)
    assert scheduler.store.tasks == {}


def test_a_call_that_is_refused_after_no_answer_is_not_certain_without_a_reservation() -> None:
    scheduler = troubled(AwsUnavailable("no answer"), AwsRefused("ExpiredToken"))
    scheduler.editor.add("act", due=HOUR, id="one")
    with pytest.raises(TransactionUnknown, match="may be made yet"), scheduler.editor.transaction() as tx:
        tx.cancel("one")


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
            assert scheduler.store.save(other._write.old, other._write.new)


def test_a_cancellation_whose_every_answer_is_lost_is_found_committed() -> None:
    scheduler = troubled(*["lost"] * 9)
    scheduler.editor.add("act", due=HOUR, id="one")
    with scheduler.editor.transaction() as tx:
        tx.cancel("one")
    assert scheduler.editor.get("one").status is Status.CANCELLED


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


# DynamoDB.


@pytest.mark.moto
def test_a_transaction_over_a_table_of_the_user(editor: Editor, session: boto3.Session) -> None:
    create_trials(session)
    trials = boto3.resource("dynamodb").Table("trials")
    start_trial(editor)
    assert editor.get("one").status is Status.SCHEDULED
    assert trials.get_item(Key={"id": "one"})["Item"] == {"id": "one"}

    # And again: the condition does not hold, and the task of the first one stays
    editor.cancel("one")
    with pytest.raises(TransactionCancelled, match="Put to table 'trials': The conditional request failed"):
        with editor.transaction() as tx:
            tx.put(table="trials", item={"id": "one"}, condition=Attr("id").not_exists())
            tx.add("expire", due=HOUR, id="two")
    with pytest.raises(TaskNotFound):
        editor.get("two")


@pytest.mark.moto
def test_a_table_that_is_not_there_is_named(editor: Editor) -> None:
    with pytest.raises(AwsRefused, match="trials"):
        start_trial(editor)
    with pytest.raises(TaskNotFound):
        editor.get("one")


@pytest.mark.moto
def test_the_code_of_the_how_to_does_what_it_says(editor: Editor, session: boto3.Session) -> None:
    create_trials(session)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "transactions.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    assert {task.id: task.status for task in editor.list().tasks} == dict.fromkeys(
        ("trial-42", "trial-43", "trial-44"), Status.SCHEDULED
    )
    assert session.client("dynamodb").scan(TableName="trials")["Count"] == 2


# Types.


def test_the_fields_for_type_checkers_are_those_of_add_and_update() -> None:
    assert get_type_hints(TaskFields).keys() == {*NewTask.__struct_fields__} - {"action"}
    assert get_type_hints(ChangeFields).keys() == {*TaskChange.__struct_fields__}
