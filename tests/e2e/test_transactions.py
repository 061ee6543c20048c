"""Transactions over a table of the user and the queue, on the embedded stack, with the real bundle."""
# ruff: noqa: PT012 (a transaction is a block, and its end raises)

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
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


def test_a_task_runs_if_and_only_if_its_transaction_is_committed(
    stack: EmbeddedStack, stack_editor: Editor, trials: Any
) -> None:
    editor, dynamodb = stack_editor, stack.session.client("dynamodb")
    # Given a transaction that is committed, one whose condition does not hold, and a reservation
    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": "42"}, condition="attribute_not_exists(id)")
        tx.add("succeed", due=SOON, id="tx-committed")
    with pytest.raises(TransactionCancelled, match="Put to table 'trials'"), editor.transaction() as refused:
        refused.put(table="trials", item={"id": "42"}, condition="attribute_not_exists(id)")
        refused.add("succeed", due=SOON, id="tx-refused")
    reservation = editor.reserve("succeed", due=SOON, id="tx-own")

    # When the rule rings; then the one is done, there is nothing of the other, and the third is reserved
    wait_for(lambda: editor.get("tx-committed").status is Status.DONE)
    with pytest.raises(TaskNotFound):
        editor.get("tx-refused")
    assert editor.get("tx-own").status is Status.RESERVED

    # When the SDK's own client commits its transaction; then it is run, and it is confirmed once only
    put: Any = {"Put": {"TableName": "trials", "Item": {"id": {"S": "43"}}}}
    dynamodb.transact_write_items(TransactItems=[put, reservation.confirm])
    wait_for(lambda: editor.get("tx-own").status is Status.DONE)
    assert editor.get("tx-own").attempt == 1
    put["Put"]["Item"]["id"] = {"S": "44"}
    with pytest.raises(ClientError, match="TransactionCanceled"):
        dynamodb.transact_write_items(TransactItems=[put, reservation.confirm])
    assert trials.scan()["Count"] == 2
