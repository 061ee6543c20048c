"""One change made to many tasks: those that a filter finds, or those named."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

import msgspec

from duebell_shared.errors import DuebellError, InvalidQuery
from duebell_shared.task import Status, Task

from .editor import Editor
from .filtering import Filter
from .listing import search
from .reading import Queue

__all__ = ["MAX_BULK", "BulkFailure", "BulkReport", "Verb", "change_all", "eligible", "find_all"]

MAX_BULK = 1_000

#: Changes under way at a time.
_THREADS = 16


class Verb(StrEnum):
    """What can be done to many tasks at once."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    RUN = "run"


_ELIGIBLE = {
    Verb.PAUSE: frozenset({Status.SCHEDULED}),
    Verb.RESUME: frozenset({Status.PAUSED}),
    Verb.CANCEL: frozenset({Status.SCHEDULED, Status.RUNNING, Status.PAUSED, Status.FAILED, Status.EXPIRED}),
    Verb.RETRY: frozenset({Status.FAILED, Status.EXPIRED}),
    Verb.RUN: frozenset({Status.SCHEDULED}),
}


class BulkFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One task of many that was not changed, and why."""

    id: str
    error: DuebellError


class BulkReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of many tasks: those changed, as they are now; those that could not be."""

    changed: tuple[Task, ...]
    failures: tuple[BulkFailure, ...] = ()


def eligible(verb: Verb, asked: Iterable[Status]) -> frozenset[Status]:
    """Of the statuses asked for, or of those in the queue if none is, the ones that the verb applies to.

    Raises InvalidQuery when it applies to none of them.
    """
    can = _ELIGIBLE[verb]
    wanted = frozenset(asked)
    if not wanted:
        return can & {Status.SCHEDULED, Status.RUNNING} or can
    if not wanted & can:
        raise InvalidQuery("status", f"to {verb} a task it must be {' or '.join(sorted(can))}")
    return wanted & can


def find_all(queue: Queue, which: Filter) -> tuple[tuple[str, ...], bool]:
    """The ids of those that are found, at most as many as the filter's limit, and whether these are all."""
    ids: list[str] = []
    page = search(queue, which)
    while True:
        ids += [task.id for task in page.tasks]
        if len(ids) >= which.limit or page.cursor is None:
            return tuple(ids[: which.limit]), len(ids) <= which.limit and page.cursor is None
        page = search(queue, which.following(page.cursor))


def change_all(editor: Editor, verb: Verb, ids: Iterable[str]) -> BulkReport:
    """Do this to each of these tasks, side by side. What one does not allow is in the report."""
    change = _change(editor, verb)

    def attempt(id: str) -> Task | BulkFailure:
        try:
            return change(id)
        except DuebellError as error:
            return BulkFailure(id=id, error=error)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-bulk") as pool:
        results = list(pool.map(attempt, ids))
    return BulkReport(
        changed=tuple(result for result in results if isinstance(result, Task)),
        failures=tuple(result for result in results if isinstance(result, BulkFailure)),
    )


def _change(editor: Editor, verb: Verb) -> Callable[[str], Task]:
    return {
        Verb.PAUSE: editor.pause,
        Verb.RESUME: editor.resume,
        Verb.CANCEL: editor.cancel,
        Verb.RETRY: editor.retry,
        Verb.RUN: editor.run_now,
    }[verb]
