"""A block that writes to tables of the user and to the queue at once: all is written, or nothing."""
# ruff: noqa: PT012, SIM117 (a transaction is a block, and its end raises)

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from duebell import (
    Editor,
    InvalidTransaction,
    Status,
    TaskExists,
    TaskNotFound,
    TransactionCancelled,
)
from tests.editor.memory import Scheduler
from tests.editor.trials import start_trial
from tests.support import NOON, create_trials

HOUR = timedelta(hours=1)


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
    ({"table": "", "item": {"id": 1}}, "write: Invalid length for parameter Put.TableName"),
    ({"table": "trials", "item": []}, "item: must be a mapping of attributes to values, not []"),
    ({"table": "trials", "item": {"fee": 1.5}}, "item: Float types are not supported"),
    ({"table": "trials", "item": {"fee": object()}}, "item: Unsupported type"),
    ({"table": "trials", "item": {"id": 1}, "condition": 3}, "write: Invalid type for parameter"),
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
        tx.add("act", due=HOUR, id="taken")
    assert "if_exists" not in str(refused.value)
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
