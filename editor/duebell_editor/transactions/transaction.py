"""A transaction over the user's own tables and the queue, as a context manager."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from types import TracebackType
from typing import Any, Self, Unpack

from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator

from duebell_shared.aws.aws_session import QuickLoader
from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, InvalidTransaction, TransactionUnknown
from duebell_shared.queue.changes import MOST_WRITES, TaskWrite, UserWrite
from duebell_shared.quoting import in_brief, quoted
from duebell_shared.tasks.fields import NewTask, TaskChange, TaskFields, fields_of
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task import Task

from .commit import commit, drop_reservations
from .task_writes import TransactionItem


class Transaction:
    """Writes to tables of your own and changes of tasks: all of them take effect, or none does.

    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": 42}, condition="attribute_not_exists(id)")
        tx.add("expire_trial", due=timedelta(days=14), id="trial-42")

    Nothing is written before the end of the block, and nothing at all if it raises. A task that is added is
    run if and only if the transaction is committed. The tables must be in the queue's account and region.

    The end of the block raises TransactionCancelled if a condition does not hold, and TransactionUnknown if
    DynamoDB does not answer. It raises InvalidTransaction for more than 100 writes, and AwsRefused, for
    example if a permission is missing. Added tasks can raise TaskExists, QueueFull and NotArmed. After these
    errors nothing is written; after TransactionUnknown all may be written. See docs/how-to/transactions.md.

    tasks  the added and changed tasks, in their order, as they are after the commit; empty before it
    """

    def __init__(
        self,
        backend: Backend,
        make: Callable[[NewTask], Task],
        reserve: Callable[[Task], Task],
        changes: Mapping[Verb, Callable[..., TransactionItem]],
    ) -> None:
        """`make` checks a NewTask and makes a Task of it, and `reserve` stores this as reserved.

        `changes` has the editor's method that makes the item of a change, for each verb.
        """
        self.tasks: tuple[Task, ...] = ()
        self._backend = backend
        self._make = make
        self._reserve = reserve
        self._changes = changes
        self._writes: list[UserWrite | TaskWrite | Task] = []
        self._verbs: list[Verb] = []
        self._ids: set[str] = set()
        self._is_open: bool | None = None

    def __enter__(self) -> Self:
        if self._is_open is not None:
            raise InvalidTransaction("transaction", "is over: begin another with editor.transaction()")
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is None and self._writes:
            self._commit()

    def put(self, *, table: str, item: Mapping[str, Any], condition: str | None = None) -> None:
        """Put an item into a table of yours.

        item       attributes and their values, in Python's types as boto3's Table takes them: numbers are
                   whole or Decimal
        condition  an expression without placeholders, such as `attribute_not_exists(id)`

        Raises InvalidTransaction.
        """
        put: dict[str, Any] = {"TableName": table, "Item": _serialized(item)}
        if condition is not None:
            put["ConditionExpression"] = condition
        self.write({"Put": put})

    def write(self, item: dict[str, Any]) -> None:
        """Add any write, `{"Put" | "Update" | "Delete" | "ConditionCheck": …}` as the SDK's client takes it.

        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItem.html
        Raises InvalidTransaction.
        """
        report = ParamValidator().validate(item, _shape())
        if report.has_errors():
            raise InvalidTransaction("write", in_brief(report.generate_report()))
        if len(item) != 1:
            raise InvalidTransaction("write", f"must be one write, not {len(item)}: {quoted(item)}")
        self._take(item)

    def add(self, action: str, **fields: Unpack[TaskFields]) -> Task:
        """Add a task; the arguments are those of `Editor.add` without `if_exists`, `max_wait` and `rev`.

        Returns it as it will be, except its lane and `rev`. Raises InvalidTask and InvalidSchedule.
        """
        task = self._make(fields_of(NewTask, {"action": action, **fields}))
        self._take(task)
        return task

    def cancel(self, id: str, *, rev: int | None = None) -> Task:
        """Cancel a task, as `Editor.cancel` does. Returns it as it will be.

        Raises TaskNotFound, TaskConflict; AwsRefused and the like if it cannot be read.
        """
        return self._change(Verb.CANCEL, id, rev=rev)

    def move(self, id: str, *, due: datetime | timedelta, rev: int | None = None) -> Task:
        """Move a task to a later due date, as `Editor.move` does. Returns it as it will be.

        Raises InvalidTask for an earlier due date, as no rule would ring for it; else as `cancel`.
        """
        return self._change(Verb.MOVE, id, due=due, rev=rev)

    def update(self, id: str, *, rev: int | None = None, **changes: Unpack[TaskChange]) -> Task:
        """Change a task, as `Editor.update` does. Returns it as it will be; raises as `move`."""
        return self._change(Verb.UPDATE, id, rev=rev, **changes)

    def _change(self, verb: Verb, id: str, **given: Any) -> Task:
        self._check_open()
        write = self._changes[verb](id, **given).write
        self._take(write)
        self._verbs.append(verb)
        return write.new

    def _take(self, write: UserWrite | TaskWrite | Task) -> None:
        self._check_open()
        if isinstance(write, TaskWrite | Task):
            id = write.id if isinstance(write, Task) else write.old.id
            if id in self._ids:
                raise InvalidTransaction("id", f"{quoted(id)} is in this transaction already: one write each")
            self._ids.add(id)
        self._writes.append(write)

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidTransaction(
                "transaction", "takes writes inside its block: `with editor.transaction() as tx:`"
            )

    def _commit(self) -> None:
        if len(self._writes) > MOST_WRITES:
            raise InvalidTransaction(
                "transaction",
                f"has {len(self._writes):,} writes, and DynamoDB takes {MOST_WRITES} at most: make several",
            )
        confirming, error = self._reserve_all()
        reserved = iter(confirming)
        try:
            if error:
                raise error
            writes = [next(reserved) if isinstance(write, Task) else write for write in self._writes]
            commit(self._backend, writes)
        except DuebellError as error:
            if not isinstance(error, TransactionUnknown):
                drop_reservations(self._backend, confirming)
            raise
        changes = [write for write in writes if isinstance(write, TaskWrite)]
        verbs = iter(self._verbs)
        for change in changes:
            is_new = change.old.status is Status.RESERVED and change.new.status is not Status.CANCELLED
            self._backend.audit.changed("confirm" if is_new else next(verbs), (change.old, change.new))
        self.tasks = tuple(change.new for change in changes)

    def _reserve_all(self) -> tuple[list[TaskWrite], DuebellError | None]:
        """Reserve the tasks that are added. Returns the writes that confirm them, and the first error."""
        new = [write for write in self._writes if isinstance(write, Task)]
        reserved = self._backend.parallel(self._reserve, new)
        made = [TaskWrite(one, one.confirmed()) for one in reserved if isinstance(one, Task)]
        return made, next((one for one in reserved if isinstance(one, DuebellError)), None)


def _serialized(item: object) -> Any:
    from boto3.dynamodb.types import TypeSerializer  # noqa: PLC0415 (few services make transactions)

    if not isinstance(item, Mapping):
        raise InvalidTransaction("item", f"must be a mapping of attributes to values, not {quoted(item)}")
    try:
        return TypeSerializer().serialize(item)["M"]
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InvalidTransaction("item", in_brief(error)) from None


@cache
def _shape() -> Shape:
    """The SDK's description of an item of a transaction. The queue's own client checks nothing."""
    model = ServiceModel(QuickLoader().load_service_model("dynamodb", "service-2"))
    call: Any = model.operation_model("TransactWriteItems").input_shape
    shape: Shape = call.members["TransactItems"].member
    return shape
