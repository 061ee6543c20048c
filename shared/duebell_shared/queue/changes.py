"""The changes of tasks as updates and deletions of their items: calls, statements of a batch, transactions.

A transaction, by TransactWriteItems, costs twice the write units. If its answer is lost, the SDK repeats the
call with the same token, and DynamoDB answers as the first time.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from botocore.exceptions import ClientError

from duebell_shared.errors import AwsRefused, AwsUnavailable, ItemRefusal
from duebell_shared.instants import to_utc
from duebell_shared.queue.items import Item, changes, stored
from duebell_shared.tasks.fields import STORED
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class ItemInsertion(NamedTuple):
    """The write of an item whose key is free."""

    item: Item

    @property
    def key(self) -> Item:
        """The item's key."""
        return {name: self.item[name] for name in ("lane", "id")}

    def statement(self, table: str) -> dict[str, Any]:
        """The write in PartiQL. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html"""
        names = ",".join(f"'{name}':?" for name in self.item)
        return {
            "Statement": f'INSERT INTO "{table}" VALUE {{{names}}}',
            "Parameters": list(self.item.values()),
        }


class ItemChange(NamedTuple):
    """An update or deletion of an item, if the item is as expected.

    key      its key
    where    attributes with the values that they must have
    sets     attributes with their new values; None deletes the item
    adds     numbers to add to attributes
    removes  names of attributes to remove
    returns  whether the updated item is to be returned
    unless   attributes that must not all have these values; such an update is not sent in a batch
    """

    key: Item
    where: Item
    sets: Item | None
    adds: Item = {}  # noqa: RUF012 (nobody writes to it)
    removes: Sequence[str] = ()
    returns: bool = False
    unless: Item = {}  # noqa: RUF012

    def call(self) -> dict[str, Any]:
        """The arguments of UpdateItem, or of DeleteItem."""
        conditions = [f"#{name} = :if_{name}" for name in self.where]
        if self.unless:
            conditions.append(f"({' OR '.join(f'#{name} <> :not_{name}' for name in self.unless)})")
        changed = {**(self.sets or {}), **self.adds}
        names = {*self.where, *self.unless, *changed, *self.removes}
        call = {
            "Key": self.key,
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {f"#{name}": name for name in names},
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in changed.items()},
                **{f":if_{name}": value for name, value in self.where.items()},
                **{f":not_{name}": value for name, value in self.unless.items()},
            },
        }
        if self.sets is not None:
            sets = [f"#{name} = :{name}" for name in self.sets]
            sets += [f"#{name} = #{name} + :{name}" for name in self.adds]
            removes = f" REMOVE {', '.join(f'#{name}' for name in self.removes)}" if self.removes else ""
            call["UpdateExpression"] = f"SET {', '.join(sets)}{removes}"
        return call

    def statement(self, table: str) -> dict[str, Any]:
        """The same in PartiQL.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.delete.html
        """
        sets = self.sets or {}
        clauses = [f'SET "{name}"=?' for name in sets]
        clauses += [f'SET "{name}"="{name}"+?' for name in self.adds]
        clauses += [f'REMOVE "{name}"' for name in self.removes]
        verb = "DELETE FROM" if self.sets is None else "UPDATE"
        expected = {**self.key, **self.where}
        conditions = " AND ".join(f'"{name}"=?' for name in expected)
        returning = " RETURNING ALL NEW *" if self.returns else ""
        return {
            "Statement": " ".join([verb, f'"{table}"', *clauses, "WHERE", conditions]) + returning,
            "Parameters": [*sets.values(), *self.adds.values(), *expected.values()],
        }


def put_if_free(item: Item, now: datetime) -> dict[str, Any]:
    """The arguments that put the item where its key is free, or held by history that has expired by `now`."""
    return {
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#id) OR #expires_at <= :now",
        "ExpressionAttributeNames": {"#id": "id", "#expires_at": "expires_at"},
        "ExpressionAttributeValues": {":now": stored(expires_at=now)["expires_at"]},
    }


def claim_of(key: QueueKey, *, run: str, now: datetime, status: Status) -> ItemChange:
    """The update that claims a task.

    A running task looks the same after a claim as before. If the answer is lost, the SDK makes the claim
    again. The second claim must not count another attempt, so a claim that was made already is refused.
    """
    mark = stored(run=run, started_at=now)
    lateness_ms = round((now - key.queued).total_seconds() * 1000)
    return ItemChange(
        key=stored(lane=key.lane, id=key.id),
        where=stored(status=status, queued=(key.queued, key.priority)),
        sets={**mark, **stored(status=Status.RUNNING, lateness_ms=lateness_ms)},
        adds=stored(attempt=1, rev=1),
        returns=True,
        unless=mark if status is Status.RUNNING else {},
    )


def change_of(old: Task, new: Task | None) -> ItemChange:
    """The change of `old`, if it is still stored so, into `new`; None deletes it."""
    sets, removes = changes(old, new) if new else (None, ())
    return ItemChange(key=_key_of(old), where=_as_it_was(old), sets=sets, removes=removes)


def _key_of(task: Task) -> Item:
    return stored(lane=task.lane, id=task.id)


def _as_it_was(old: Task) -> Item:
    """The attributes that identify the stored item as the one that was read.

    Another process may have replaced a reserved task by its own reservation within the same millisecond.
    """
    reserved = {} if old.reservation is None else stored(reservation=old.reservation)
    return {**stored(rev=old.rev, created_at=old.created_at), **reserved}


def is_claim(task: Task, key: QueueKey, run: str, now: datetime) -> bool:
    """Tell whether this claim was made, and the task was not moved or ended since."""
    is_there = task.status is Status.RUNNING and task.queued == key.queued
    return is_there and task.run == run and task.started_at == to_utc(now)


def given_fields(task: Task) -> tuple[object, ...]:
    """The fields of a task that no run changes; a run may drop the payload."""
    when = task.recurrence.schedule if task.recurrence else task.due
    given = (getattr(task, attribute) for name, attribute in STORED.items() if name != "payload")
    return task.created_at, when, task.reservation, *given


#: DynamoDB's limit for the items of one transaction.
MOST_WRITES = 100

#: A write to a table of the user, or a check of one of its items, as one of `TransactItems`.
UserWrite = Mapping[str, Any]


class TaskWrite(msgspec.Struct, frozen=True):
    """The change of one task from `old`, as it was read, to `new`; refused if it has changed since."""

    old: Task
    new: Task

    def item(self, table: str) -> dict[str, Any]:
        """The change as one of `TransactItems`, for the queue in this table."""
        return {"Update": {"TableName": table, **change_of(self.old, self.new).call()}}


class Transacted(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a transaction: it is committed if no item was refused.

    refusals  the items that were refused
    is_sure   False if a try before may have committed it: its answer was lost
    """

    refusals: tuple[ItemRefusal, ...] = ()
    is_sure: bool = True


_CANCELLED = "TransactionCanceledException"

#: DynamoDB's code for an item that could have been written.
_NO_REASON = "None"


def transact(
    client: "DynamoDBClient", table: str, writes: Sequence[TaskWrite | UserWrite], token: str
) -> Transacted:
    """Make these writes in one transaction, those of tasks in this table. Raises what botocore raises.

    Raises AwsRefused when a table, perhaps one of the user's, is not there. Raises AwsUnavailable if the
    refused try was the SDK's second: the first one may be committed.
    """
    items: Any = [write.item(table) if isinstance(write, TaskWrite) else write for write in writes]
    try:
        client.transact_write_items(TransactItems=items, ClientRequestToken=token)
    except ClientError as error:
        answer: Any = error.response
        code = answer.get("Error", {}).get("Code")
        was_retried = bool(answer.get("ResponseMetadata", {}).get("RetryAttempts"))
        if code != _CANCELLED and was_retried:
            raise AwsUnavailable(f"a try was not answered, and another one was refused: {error}") from error
        if code == "ResourceNotFoundException":
            names = sorted({write["TableName"] for item in items for write in item.values()})
            where = client.meta.region_name
            raise AwsRefused(
                f"one of the tables {', '.join(names)} is not in {where}, or not active"
            ) from error
        if code != _CANCELLED:
            raise
        return Transacted(refusals=_refusals(answer), is_sure=not was_retried)
    return Transacted()


def _refusals(answer: Any) -> tuple[ItemRefusal, ...]:
    reasons = enumerate(answer.get("CancellationReasons", ()))
    refusals = tuple(
        ItemRefusal(
            index=index,
            code=reason["Code"],
            message=reason.get("Message") or "",
            item=reason.get("Item") or None,
        )
        for index, reason in reasons
        if reason.get("Code", _NO_REASON) != _NO_REASON
    )
    said = answer["Error"].get("Message") or ""
    return refusals or (ItemRefusal(index=0, code=_CANCELLED, what="the transaction", message=said),)


#: Another change came first, or is under way: nothing is wrong.
_PASSING = {"ConditionalCheckFailed", "TransactionConflict"}

_THROTTLED = {"ProvisionedThroughputExceeded", "ThrottlingError"}


def relocate_item(client: "DynamoDBClient", table: str, item: Item, *, lane: int, now: datetime) -> bool:
    """Move the item, as it is stored, to this lane; tell whether it was moved.

    Eligible: it is as it was read, and its new place is free, or holds history that has expired by `now`.
    Raises AwsUnavailable when it is throttled, and what `transact` raises.
    """
    put = put_if_free({**item, **stored(lane=lane)}, now)
    key = {name: item[name] for name in ("lane", "id")}
    # Each version of an item has another rev, and each new task of an id another time of creation.
    where = {name: item[name] for name in ("id", "rev", "created_at") if name in item}
    delete = ItemChange(key, where, sets=None).call()
    writes = [{"Put": {"TableName": table, **put}}, {"Delete": {"TableName": table, **delete}}]
    refusals = transact(client, table, writes, uuid.uuid4().hex).refusals
    codes = {one.code for one in refusals}
    if codes <= _PASSING:
        return not codes
    if codes & _THROTTLED:
        raise AwsUnavailable(f"DynamoDB, table {table!r}: throttled")
    raise AwsRefused(f"DynamoDB, table {table!r}: {', '.join(map(str, refusals))}")
