"""Committing a transaction, also where answers are lost."""

from collections.abc import Sequence
from uuid import uuid4

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    ItemRefusal,
    TransactionCancelled,
    TransactionUnknown,
)
from duebell_shared.queue.calls import throttle_pauses
from duebell_shared.queue.changes import TaskWrite, Transacted, UserWrite
from duebell_shared.quoting import quoted
from duebell_shared.tasks.status import Status

#: The reasons for which another try may succeed: another transaction is under way, or it was throttled.
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_PASSING = {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError", "TransactionConflict"}

_REFUSED = "ConditionalCheckFailed"

#: The reason why the write of a task is refused.
_CHANGED = "it was changed, moved or dropped since it was read: make the transaction again"


def commit(backend: Backend, writes: Sequence[TaskWrite | UserWrite]) -> None:
    """Make these writes in one transaction. Tries again where this may help.

    All tries have the same token, so the writes are made at most once. Raises TransactionCancelled or
    AwsRefused if they are not made, now or later; TransactionUnknown if that is not known.
    """
    transacted, error = _tried(backend, writes)
    if not error and not transacted.refusals:
        return
    if not transacted.is_sure and _is_committed(backend, writes):
        return
    if isinstance(error, AwsUnavailable):
        raise TransactionUnknown(f"it is not known whether the transaction is committed: {error}") from error
    refusals = tuple(_named(writes, refusal) for refusal in transacted.refusals)
    is_over = drop_reservations(backend, writes) > 0
    if not transacted.is_sure and not is_over:
        raise TransactionUnknown(
            "it is not known whether the transaction is committed: a try was not answered and may be made yet"
        ) from error
    if error:
        raise error
    raise TransactionCancelled(refusals)


def _tried(
    backend: Backend, writes: Sequence[TaskWrite | UserWrite]
) -> tuple[Transacted, AwsUnavailable | AwsRefused | None]:
    """Try to make these writes. Returns the last answer and the last error.

    `is_sure` of the answer is True if every try had a sure answer.
    """
    token, is_sure = uuid4().hex, True
    for pause in (*throttle_pauses(), None):
        error: AwsUnavailable | None = None
        transacted = Transacted()
        try:
            transacted = backend.store.transact(writes, token=token)
        except AwsRefused as refused:  # such as credentials that have expired since the try before
            return Transacted(is_sure=is_sure), refused
        except AwsUnavailable as unanswered:
            error, is_sure = unanswered, False
        else:
            is_sure = is_sure and transacted.is_sure
            if not {refusal.code for refusal in transacted.refusals} <= _PASSING or not transacted.refusals:
                break
        if pause is not None:
            backend.sleep(pause)
    return replace(transacted, is_sure=is_sure), error


def drop_reservations(backend: Backend, writes: Sequence[TaskWrite | UserWrite]) -> int:
    """Delete the reserved tasks of these writes; return how many are deleted for certain.

    A task that cannot be deleted now, or that a relane has moved, ends by itself. After one task is deleted,
    the transaction cannot be committed.
    """
    dropped = 0
    for write in writes:
        if isinstance(write, TaskWrite) and write.old.status is Status.RESERVED:
            try:
                dropped += backend.store.delete(write.old)
            except DuebellError:
                continue
    return dropped


def _is_committed(backend: Backend, writes: Sequence[TaskWrite | UserWrite]) -> bool:
    """Tell whether a task is in a state that only this transaction makes: then all writes were made.

    A move or update proves nothing, as others may make the same one. A cancellation does, by its time.
    """
    try:
        return any(_is_made(backend, write) for write in writes if isinstance(write, TaskWrite))
    except DuebellError:
        return False


def _is_made(backend: Backend, write: TaskWrite) -> bool:
    there = backend.store.get(write.old.lane, write.old.id)
    if there is None or write.old.status is not Status.RESERVED:
        return there == write.new and write.new.status is Status.CANCELLED
    is_confirmed = there.reservation is None and there.rev > write.old.rev
    return is_confirmed and there.created_at == write.old.created_at


def _named(writes: Sequence[TaskWrite | UserWrite], refusal: ItemRefusal) -> ItemRefusal:
    """The refusal, with the item in words; for a changed task, also with a message of ours."""
    if refusal.what:  # the answer had no reasons, so it is about no item
        return refusal
    write = writes[refusal.index]
    if not isinstance(write, TaskWrite):
        [(kind, arguments)] = write.items()
        return replace(refusal, what=f"{kind} to table {quoted(arguments['TableName'])}")
    message = _CHANGED if refusal.code == _REFUSED else refusal.message
    return replace(refusal, what=f"task {quoted(write.old.id)}", message=message)
