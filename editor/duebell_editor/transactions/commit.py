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
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from duebell_shared.queue.places import lane_of
from duebell_shared.quoting import quoted
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .table_writes import table_of

#: The reasons for which another try may succeed: another transaction is under way, or it was throttled.
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_PASSING = {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError", "TransactionConflict"}

_REFUSED = "ConditionalCheckFailed"


def commit(backend: Backend, writes: Sequence[TaskWrite | Other]) -> None:
    """Make these writes in one transaction, with further tries where another may help.

    All tries have one token, so that none is made twice. Raises TransactionCancelled and AwsRefused when it
    is not committed and cannot be any more, TransactionUnknown when that is not known.
    """
    transacted, error = _tried(backend, writes)
    if not error and not transacted.refusals:
        return
    if not transacted.is_sure and _is_committed(backend, writes):
        return
    if isinstance(error, AwsUnavailable):
        raise TransactionUnknown(f"it is not known whether the transaction is committed: {error}") from error
    told = tuple(_told(backend, writes, refusal) for refusal in transacted.refusals)
    is_over = drop_reservations(backend, writes) > 0
    if not transacted.is_sure and not is_over:
        raise TransactionUnknown(
            "it is not known whether the transaction is committed: a try was not answered and may be made yet"
        ) from error
    if error:
        raise error
    raise TransactionCancelled(told)


def _tried(
    backend: Backend, writes: Sequence[TaskWrite | Other]
) -> tuple[Transacted, AwsUnavailable | AwsRefused | None]:
    """Try to make these writes. Returns the answer, sure if all had one, and the last error."""
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


def drop_reservations(backend: Backend, writes: Sequence[TaskWrite | Other]) -> int:
    """Delete the reserved tasks of these writes; return how many are deleted for certain.

    One that cannot be deleted now ends by itself. After one is deleted, the transaction cannot be committed.
    """
    dropped = 0
    for write in writes:
        if isinstance(write, TaskWrite) and write.old.status is Status.RESERVED:
            try:
                dropped += drop_reservation(backend, write.old)
            except DuebellError:
                continue
    return dropped


def drop_reservation(backend: Backend, reserved: Task) -> bool:
    """Delete this reserved task, also where a relane has moved it.

    False if it is confirmed, changed or gone: a confirmed task may have run and be deleted since.
    """
    if backend.store.delete(reserved):
        return True
    moved = _moved(backend, reserved)
    return moved is not None and moved.reservation == reserved.reservation and backend.store.delete(moved)


def _moved(backend: Backend, read: Task) -> Task | None:
    """Return the task as it is in another lane, if a relane has moved it there since it was read.

    A transaction that names the task in its earlier lane is refused then.
    """
    lane = lane_of(read.id, len(backend.armer.read().lanes))
    there = None if lane == read.lane else backend.store.get(lane, read.id)
    return there if there and there.created_at == read.created_at else None


def _is_committed(backend: Backend, writes: Sequence[TaskWrite | Other]) -> bool:
    """Tell whether one of the tasks is as only this transaction makes it; then all was written.

    Another one may make the same move or update of the task as it was. A cancellation has its millisecond.
    """
    try:
        return any(_is_made(backend, write) for write in writes if isinstance(write, TaskWrite))
    except DuebellError:
        return False


def _is_made(backend: Backend, write: TaskWrite) -> bool:
    there = backend.store.get(write.old.lane, write.old.id) or _moved(backend, write.old)
    if there is None or write.old.status is not Status.RESERVED:
        return there == write.new and write.new.status is Status.CANCELLED
    is_confirmed = there.reservation is None and there.rev > write.old.rev
    return is_confirmed and there.created_at == write.old.created_at


def _told(backend: Backend, writes: Sequence[TaskWrite | Other], refusal: ItemRefusal) -> ItemRefusal:
    if refusal.what:  # an answer without reasons, which is of no item
        return refusal
    write = writes[refusal.index]
    if not isinstance(write, TaskWrite):
        return replace(refusal, what=table_of(write))
    message = refusal.message
    if refusal.code == _REFUSED:
        message = f"{_reason(backend, write.old)}: make the transaction again"
    return replace(refusal, what=f"task {quoted(write.old.id)}", message=message)


def _reason(backend: Backend, read: Task) -> str:
    try:
        moved = _moved(backend, read)
    except DuebellError:
        moved = None
    if moved:
        return "the queue was given more lanes since it was read, and `duebell relane` moved it"
    if read.status is Status.RESERVED:
        return "its reservation has ended, or another one took it over"
    return "it was changed since it was read"
