"""Transactions over a table of the user and the queue, on the embedded stack, with the real bundle."""
# ruff: noqa: PT012 (a transaction is a block, and its end raises)

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr
from botocore.exceptions import ClientError

from duebell import Editor, Status, TaskNotFound, TransactionCancelled
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import wait_for
from tests.support import create_trials

pytestmark = pytest.mark.e2e

SOON = timedelta(seconds=2)


@pytest.fixture
def trials(stack: EmbeddedStack) -> Iterator[Any]:
    """A table of the user, beside the stack's."""
    create_trials(stack.session)
    yield stack.session.resource("dynamodb").Table("trials")
    stack.session.client("dynamodb").delete_table(TableName="trials")


def test_a_task_runs_if_and_only_if_its_transaction_is_committed(stack_editor: Editor, trials: Any) -> None:
    editor = stack_editor
    # Given a transaction that is committed, and one whose condition does not hold
    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": "42"}, condition=Attr("id").not_exists())
        tx.add("succeed", due=SOON, id="tx-committed")
    with pytest.raises(TransactionCancelled, match="Put to table 'trials'"), editor.transaction() as refused:
        refused.put(table="trials", item={"id": "42"}, condition=Attr("id").not_exists())
        refused.add("succeed", due=SOON, id="tx-refused")

    # When the rule rings; then the one is done, and there is nothing of the other
    wait_for(lambda: editor.get("tx-committed").status is Status.DONE)
    assert trials.scan()["Count"] == 1
    with pytest.raises(TaskNotFound):
        editor.get("tx-refused")


def test_the_sdks_own_client_confirms_a_task_after_a_run_has_seen_it(
    stack: EmbeddedStack, stack_editor: Editor, trials: Any
) -> None:
    # Given a task that is due, which a run finds reserved
    editor, dynamodb = stack_editor, stack.session.client("dynamodb")
    reservation = editor.reserve("succeed", due=SOON, id="tx-own")
    editor.add("succeed", due=SOON, id="tx-beside")
    wait_for(lambda: editor.get("tx-beside").status is Status.DONE)
    assert editor.get("tx-own").status is Status.RESERVED

    # When its transaction is committed; then it is run
    put: Any = {"Put": {"TableName": "trials", "Item": {"id": {"S": "43"}}}}
    dynamodb.transact_write_items(TransactItems=[put, reservation.confirm])
    wait_for(lambda: editor.get("tx-own").status is Status.DONE)
    assert editor.get("tx-own").attempt == 1

    # And it is confirmed once only, by that transaction
    other: Any = {"Put": {"TableName": "trials", "Item": {"id": {"S": "44"}}}}
    with pytest.raises(ClientError, match="TransactionCanceled"):
        dynamodb.transact_write_items(TransactItems=[other, reservation.confirm])
    assert trials.scan()["Count"] == 1
