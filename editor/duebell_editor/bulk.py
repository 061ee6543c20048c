"""One change made to many tasks: those that a filter finds, or those named."""

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

import msgspec

from duebell_shared.errors import AwsError, AwsUnavailable, DuebellError, InvalidQuery, NotArmed, NotDeployed
from duebell_shared.task import Status, Task

from .editor import Editor
from .filtering import Filter
from .listing import search
from .reading import Queue

__all__ = ["MAX_BULK", "BulkFailure", "BulkReport", "Verb", "change_all", "eligible", "find_all", "fitting"]

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


#: Those that put a task into the queue.
_QUEUES = frozenset({Verb.RESUME, Verb.RETRY, Verb.RUN})


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
    found: dict[str, None] = {}  # a task that moves between two pages is on both
    page = search(queue, which)
    while True:
        found |= dict.fromkeys(task.id for task in page.tasks)
        if len(found) >= which.limit or page.cursor is None:
            ids = tuple(found)
            return ids[: which.limit], len(ids) <= which.limit and page.cursor is None
        page = search(queue, which.following(page.cursor))


def fitting(queue: Queue, verb: Verb, ids: Collection[str]) -> tuple[str, ...]:
    """Those of these tasks that are there, and that the verb applies to."""
    found = queue.get_many(ids)
    return tuple(id for id in ids if id in found and found[id].status in _ELIGIBLE[verb])


def change_all(editor: Editor, verb: Verb, ids: Iterable[str]) -> BulkReport:
    """Do this to each of these tasks, side by side. What one does not allow is in the report.

    When AWS stops to answer, the rest is not tried. Raises AwsError or NotDeployed when that is why not one
    of them was changed.
    """
    change = _change(editor, verb)
    away: list[AwsUnavailable] = []  # since AWS answered last

    def attempt(id: str) -> Task | BulkFailure:
        if len(gone := tuple(away)) >= _THREADS:
            return BulkFailure(id=id, error=gone[-1])
        try:
            task = change(id)
        except AwsUnavailable as error:
            away.append(error)
            return BulkFailure(id=id, error=error)
        except DuebellError as error:
            return BulkFailure(id=id, error=error)
        away.clear()
        return task

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-bulk") as pool:
        results = list(pool.map(attempt, dict.fromkeys(ids)))
    if any(_is_unarmed(result) for result in results):
        results = _armed_since(editor, results)
    elif verb in _QUEUES and not results:
        editor.ensure_armed()  # what an earlier call changed and could not arm for, a filter finds no more
    changed = tuple(result for result in results if isinstance(result, Task))
    failures = tuple(result for result in results if isinstance(result, BulkFailure))
    if failures and not changed and all(isinstance(one.error, AwsError | NotDeployed) for one in failures):
        raise failures[0].error
    return BulkReport(changed=changed, failures=failures)


def _is_unarmed(result: Task | BulkFailure) -> bool:
    return isinstance(result, BulkFailure) and isinstance(result.error, NotArmed)


def _armed_since(editor: Editor, results: list[Task | BulkFailure]) -> list[Task | BulkFailure]:
    """What is stored and was not rung for is no failure when the rule can be set for it after all."""
    try:
        editor.ensure_armed()
        return [editor.get(result.id) if _is_unarmed(result) else result for result in results]
    except DuebellError:
        return results


def _change(editor: Editor, verb: Verb) -> Callable[[str], Task]:
    return {
        Verb.PAUSE: editor.pause,
        Verb.RESUME: editor.resume,
        Verb.CANCEL: editor.cancel,
        Verb.RETRY: editor.retry,
        Verb.RUN: editor.run_now,
    }[verb]
