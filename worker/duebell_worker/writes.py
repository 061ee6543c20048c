"""What a run writes to the queue: claims and outcomes, nothing once its lease has run out."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.store import AT_ONCE, Claimed, Failed, NotEligible, Saved
from duebell_shared.task import QueueKey, Status, Task

from .lease import Lease
from .trouble import Call, Trouble

__all__ = ["Writes"]

_A = TypeVar("_A")
_T = TypeVar("_T")


class Writes:
    """Claims tasks and writes what came of them, as long as the lease is held. Thread-safe."""

    def __init__(self, run: str, backend: Backend, lease: Lease, trouble: Trouble) -> None:
        self._run = run
        self._store = backend.store
        self._clock = backend.clock
        self._lease = lease
        self._trouble = trouble

    def claim(self, keys: Sequence[QueueKey], status: Status) -> list[Task | BaseException | None]:
        """The tasks with these keys and this status, AT_ONCE at most, as they were claimed.

        Of each that was not, the error; or None, if it was not there any more or the lease is lost.
        """

        def claim(keys: Sequence[QueueKey]) -> Sequence[Task | BaseException | None]:
            results = self._store.claim_many(keys, run=self._run, now=self._clock(), status=status)
            found = [_task_or_error(result) for result in results]
            self._trouble.written(Call.CLAIM, zip((key.lane for key in keys), found, strict=True))
            return found

        return self._each(claim, keys)

    def save(self, given: Iterable[tuple[Task, Task | None]]) -> list[bool | BaseException | None]:
        """Whether each change was written, and not refused because someone else changed the task meanwhile.

        None if the lease is lost.
        """

        def save(batch: Sequence[tuple[Task, Task | None]]) -> Sequence[bool | BaseException | None]:
            results = [
                result.error if isinstance(result, Failed) else isinstance(result, Saved)
                for result in self._store.save_many(batch)
            ]
            self._trouble.written(Call.OUTCOME, zip((old.lane for old, _ in batch), results, strict=True))
            return results

        changes = list(given)
        saved: list[bool | BaseException | None] = []
        for first in range(0, len(changes), AT_ONCE):
            saved += self._each(save, changes[first : first + AT_ONCE])
        return saved

    def _each(
        self, write: Callable[[Sequence[_A]], Sequence[_T | BaseException | None]], batch: Sequence[_A]
    ) -> list[_T | BaseException | None]:
        """What comes of each of the batch, written together.

        If that raises, which is a bug of ours or an item that nobody foresaw, each is written alone, so that
        one of them does not take the others with it.
        """
        if not self._lease.is_held():
            return [None] * len(batch)
        try:
            return list(write(batch))
        except BaseException as error:  # noqa: BLE001
            if not batch[1:] or not isinstance(error, Exception):
                return [error] * len(batch)
            return [outcome for one in batch for outcome in self._each(write, [one])]


def _task_or_error(result: Claimed | NotEligible | Failed) -> Task | DuebellError | None:
    match result:
        case Claimed(task=task):
            return task
        case Failed(error=error):
            return error
        case _:
            return None
