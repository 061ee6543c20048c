"""Reserving a task for a transaction of the user's own client: stored, confirmed, dropped, taken over."""

from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from pynamodb.connection import Connection
from pynamodb.exceptions import TransactWriteError
from pynamodb.transactions import TransactWrite

from duebell import Editor, InvalidTask, Reservation, Status, TaskConflict, TaskExists, TaskNotFound, Verb
from tests.editor.memory import Scheduler
from tests.support import NOON, REGION, create_trials

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def commit(scheduler: Scheduler, reservation: Reservation) -> bool:
    """Confirm it, as a transaction of one's own does; tell whether that was committed."""
    return not scheduler.store.transact([reservation.write], token=repr(reservation)).refusals


def test_a_reserved_task_is_stored_and_armed_for(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, payload={"n": 1}, id="one")
    task = scheduler.editor.get("one")
    assert (task.status, task.due, task.payload) == (Status.RESERVED, NOON + HOUR, {"n": 1})
    assert task.reserved_until == reservation.reserved_until == NOON + 2 * MINUTE
    assert scheduler.events.put != []
    assert scheduler.editor.status().rings_at == NOON + HOUR


def test_a_confirmed_task_is_as_if_it_had_been_added(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    puts = len(scheduler.events.put)
    assert commit(scheduler, reservation)
    added = scheduler.editor.add("act", due=HOUR, id="two")
    task = scheduler.editor.get("one")
    differ = {name for name in task.__struct_fields__ if getattr(task, name) != getattr(added, name)}
    assert differ <= {"id", "lane", "rev"}
    assert task.rev == 2
    assert task == reservation.task
    assert len(scheduler.events.put) == puts


def test_a_dropped_reservation_cannot_be_confirmed(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    assert reservation.drop()
    assert not reservation.drop()  # it deletes nothing
    assert not commit(scheduler, reservation)
    with pytest.raises(TaskNotFound):
        scheduler.editor.get("one")


def test_a_new_reservation_takes_the_id_over_at_once(scheduler: Scheduler) -> None:
    # Given a reservation whose transaction may have failed
    first = scheduler.editor.reserve("act", due=HOUR, id="one")

    # When the id is reserved again, by whoever makes that transaction anew, for an earlier time
    second = scheduler.editor.reserve("act", due=HOUR / 2, id="one")

    # Then the first transaction can no longer be committed, and the second can
    assert not commit(scheduler, first)
    assert not first.drop()
    assert scheduler.editor.status().rings_at == NOON + HOUR / 2
    assert commit(scheduler, second)
    assert scheduler.editor.get("one").due == NOON + HOUR / 2


@pytest.mark.parametrize("if_exists", ["fail", "keep"])
def test_an_id_that_is_reserved_is_not_added_and_the_error_says_until_when(
    scheduler: Scheduler, if_exists: Any
) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    with pytest.raises(TaskExists, match="is reserved until 2026-11-21 12:02") as refused:
        scheduler.editor.add("act", due=2 * HOUR, id="one", if_exists=if_exists)
    assert refused.value.reserved_until == reservation.reserved_until
    [failure] = scheduler.editor.add_many(
        [{"action": "act", "due": HOUR, "id": "one"}], if_exists=if_exists
    ).failures
    assert isinstance(failure.error, TaskExists)
    assert commit(scheduler, reservation)


def test_an_id_that_is_reserved_is_replaced_if_that_is_asked_for(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    task = scheduler.editor.add("act", due=2 * HOUR, id="one", if_exists="replace")
    assert (task.status, task.reservation, task.expires_at) == (Status.SCHEDULED, None, None)
    assert not commit(scheduler, reservation)
    assert scheduler.editor.get("one") == task


@pytest.mark.parametrize("if_exists", ["fail", "keep"])
def test_an_id_is_free_again_a_minute_after_its_reservation(scheduler: Scheduler, if_exists: Any) -> None:
    # Given a reservation that no run has dropped: its task is due later
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    scheduler.clock.now = NOON + 3 * MINUTE
    with pytest.raises(TaskNotFound):
        scheduler.editor.get("one")

    # When it is added; then it is there, and the late transaction is not committed
    task = scheduler.editor.add("act", due=HOUR, id="one", if_exists=if_exists)
    assert not commit(scheduler, reservation)
    assert scheduler.editor.get("one") == task


def test_a_late_transaction_is_committed_as_long_as_nothing_else_took_the_id(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    scheduler.clock.now = NOON + 10 * MINUTE
    assert commit(scheduler, reservation)
    assert scheduler.editor.get("one").status is Status.SCHEDULED


def test_a_reserved_task_can_be_cancelled_and_nothing_else(scheduler: Scheduler) -> None:
    reservation = scheduler.editor.reserve("act", due=HOUR, id="one")
    assert scheduler.editor.get("one").can == (Verb.CANCEL,)
    for verb in ("pause", "run_now", "retry", "resume"):
        with pytest.raises(TaskConflict, match="its transaction is not committed yet"):
            getattr(scheduler.editor, verb)("one")
    assert scheduler.editor.cancel("one").status is Status.CANCELLED
    assert not commit(scheduler, reservation)


def test_reserved_tasks_are_listed_and_not_exported(scheduler: Scheduler) -> None:
    scheduler.editor.reserve("act", due=HOUR, id="one")
    two = scheduler.editor.add("act", due=HOUR, id="two")
    assert {task.id for task in scheduler.editor.list().tasks} == {"one", "two"}
    assert [task.id for task in scheduler.editor.list(status="reserved").tasks] == ["one"]
    assert [task.id for task in scheduler.editor.list(status="scheduled").tasks] == ["two"]
    lines = list(scheduler.editor.export_tasks())
    assert len(lines) == 1
    line = lines[0].replace(b'"scheduled"', b'"reserved"')
    with pytest.raises(InvalidTask, match="status: is reserved"):
        scheduler.editor.import_tasks([line])
    assert scheduler.editor.get("two") == two


# Other clients.


@pytest.mark.moto
def test_pynamodb_confirms_and_cancels_tasks(editor: Editor) -> None:
    one = editor.reserve("act", due=HOUR, id="one")
    editor.add("act", due=HOUR, id="two")
    cancelled = editor.cancel_item("two")
    with TransactWrite(connection=Connection(region=REGION)) as transaction:
        transaction.update(**one.for_pynamodb())
        transaction.update(**cancelled.for_pynamodb())
    assert editor.get("one") == one.task
    assert editor.get("two") == cancelled.task
    assert cancelled.task.status is Status.CANCELLED

    again = editor.reserve("act", due=HOUR, id="three")
    assert again.drop()
    transaction = TransactWrite(connection=Connection(region=REGION))
    transaction.update(**again.for_pynamodb())
    with pytest.raises(TransactWriteError):
        transaction._commit()


@pytest.mark.moto
def test_tasks_are_confirmed_moved_and_updated_by_the_sdks_own_client(
    editor: Editor, session: boto3.Session
) -> None:
    dynamodb = session.client("dynamodb")
    create_trials(session)
    put: Any = {"Put": {"TableName": "trials", "Item": {"id": {"S": "42"}}}}
    for id in ("one", "two"):
        editor.add("act", due=HOUR, id=id, payload={"n": 1})
    moved = editor.move_item("one", due=2 * HOUR)
    updated = editor.update_item("two", payload={"n": 2})
    reserved = editor.reserve("act", due=HOUR, id="three")
    dynamodb.transact_write_items(TransactItems=[put, moved.item, updated.item, reserved.confirm])
    for task in (moved.task, updated.task, reserved.task):
        assert editor.get(task.id) == task
    assert moved.task.due == NOON + 2 * HOUR
    assert updated.task.payload == {"n": 2}

    # And a transaction over a task that has changed since it was read writes nothing at all
    put["Put"]["Item"]["id"]["S"] = "43"
    stale = editor.cancel_item("one")
    editor.update("one", payload={"n": 3})
    with pytest.raises(ClientError, match="TransactionCanceled"):
        dynamodb.transact_write_items(TransactItems=[put, stale.item])
    assert editor.get("one").status is Status.SCHEDULED
    assert dynamodb.scan(TableName="trials")["Count"] == 1


def test_an_earlier_date_is_refused_with_the_way_out(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("act", due=2 * HOUR, id="one")
    before = scheduler.snapshot()
    with pytest.raises(InvalidTask, match="no transaction sets the rule: change it before or after"):
        editor.move_item("one", due=HOUR)
    with pytest.raises(InvalidTask, match="due: is earlier than before"):
        editor.update_item("one", due=HOUR)
    with pytest.raises(InvalidTask, match="change: is empty"):
        editor.update_item("one")
    assert scheduler.snapshot() == before
