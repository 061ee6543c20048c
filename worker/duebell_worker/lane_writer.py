"""Writes claims and outcomes to the lanes of a run, nothing once its lease has run out."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from duebell_shared.errors import DuebellError
from duebell_shared.store import AT_ONCE, Claimed, Failed, Saved
from duebell_shared.task import QueueKey, Status, Task

from .context import RunContext
from .lease import Lease
from .trouble import Call, Trouble

__all__ = ["LaneWriter"]

_A = TypeVar("_A")
_T = TypeVar("_T")


class LaneWriter:
    """Claims tasks and writes outcomes, as long as the lease is held. Thread-safe."""

    def __init__(self, context: RunContext, lease: Lease, trouble: Trouble) -> None:
        self._context = context
        self._store = context.backend.store
        self._lease = lease
        self._trouble = trouble

    def claim(self, keys: Sequence[QueueKey], status: Status) -> list[Task | BaseException | None]:
        """Claim the tasks with these keys and this status, and return them in order.

        For each that was not claimed, the error; or None, if it is no longer there or the lease is lost.
        """

        def claim(keys: Sequence[QueueKey]) -> Sequence[Task | BaseException | None]:
            id, now = self._context.id, self._context.now()
            results = self._store.claim_many(keys, run=id, now=now, status=status)
            return [one.task if isinstance(one, Claimed) else _error_of(one) for one in results]

        return self._each(Call.CLAIM, claim, keys, [key.lane for key in keys])

    def save(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | BaseException | None]:
        """Write these changes, and return for each whether it was written, or the error.

        False means that someone else changed the task meanwhile, None that the lease is lost.
        """

        def save(changes: Sequence[tuple[Task, Task | None]]) -> Sequence[bool | BaseException | None]:
            results = self._store.save_many(changes)
            return [_error_of(one) or isinstance(one, Saved) for one in results]

        return self._each(Call.OUTCOME, save, changes, [old.lane for old, _ in changes])

    def _each(
        self,
        call: Call,
        write: Callable[[Sequence[_A]], Sequence[_T | BaseException | None]],
        batch: Sequence[_A],
        lanes: Sequence[int],
    ) -> list[_T | BaseException | None]:
        """Write these together, AT_ONCE at a time.

        If that raises, by a bug of ours or an item that nobody foresaw, each is written alone, so that one of
        them does not fail the others.
        """
        size = AT_ONCE
        if len(batch) <= AT_ONCE:
            if not self._lease.is_held():
                return [None] * len(batch)
            try:
                results = list(write(batch))
            except BaseException as error:  # noqa: BLE001
                if not batch[1:] or not isinstance(error, Exception):
                    return [error] * len(batch)
                size = 1
            else:
                self._trouble.written(call, zip(lanes, results, strict=True))
                return results
        parts = [slice(first, first + size) for first in range(0, len(batch), size)]
        return [one for part in parts for one in self._each(call, write, batch[part], lanes[part])]


def _error_of(result: object) -> DuebellError | None:
    return result.error if isinstance(result, Failed) else None
