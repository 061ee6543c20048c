"""One change made to many tasks: those that a filter finds, or those named."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec

from duebell_shared.errors import AwsError, AwsUnavailable, DuebellError, InvalidQuery, NotArmed, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.task import Status, Task
from duebell_shared.verbs import Verb

from .filtering import QUEUED, Filter
from .listing import search
from .reading import Queue

if TYPE_CHECKING:
    from .editor import Editor

__all__ = [
    "MAX_MANY",
    "ChangeFailure",
    "ChangeReport",
    "Selection",
    "change_all",
    "check_verb",
    "select_found",
    "select_named",
    "statuses_for",
]

MAX_MANY = 1_000

#: Changes under way at a time.
_THREADS = 16


class ChangeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One task of many that was not changed, and why."""

    id: str
    error: DuebellError


class ChangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of many tasks: those changed, as they are now; those that could not be."""

    changed: tuple[Task, ...]
    failures: tuple[ChangeFailure, ...] = ()


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that something is to be done to; `is_all` is false when a filter would find more."""

    ids: tuple[str, ...]
    is_all: bool = True


def check_verb(given: object) -> Verb:
    """The verb of this name, if it can be done to many tasks. Raises InvalidQuery."""
    verbs = [verb for verb in Verb if verb.rule.for_many]
    if isinstance(given, str) and given in set(verbs):
        return Verb(given)
    raise InvalidQuery(
        "verb", f"{quoted(given)} cannot be done to many tasks: it is one of {', '.join(verbs)}"
    )


def select_found(queue: Queue, which: Filter) -> Selection:
    """The tasks that are found, at most as many as the filter's limit."""
    page = search(queue, which)
    found: dict[str, None] = {}  # a task that moves between two pages is on both
    while True:
        found |= dict.fromkeys(task.id for task in page.tasks)
        if len(found) >= which.limit or page.cursor is None:
            ids = tuple(found)
            is_all = len(ids) <= which.limit and page.cursor is None
            return Selection(ids=ids[: which.limit], is_all=is_all)
        page = search(queue, which.following(page.cursor))


def select_named(queue: Queue, verb: Verb, ids: Iterable[str]) -> Selection:
    """Those of these tasks that are there, and that the verb applies to."""
    named = tuple(dict.fromkeys(ids))
    found = queue.get_many(named)
    return Selection(ids=tuple(id for id in named if id in found and found[id].status in verb.rule.statuses))


def statuses_for(verb: Verb, asked: frozenset[Status] | None) -> frozenset[Status]:
    """Of the statuses asked for, or of those in the queue if none is, the ones that the verb applies to.

    Raises InvalidQuery when it applies to none of them.
    """
    if not asked:
        return verb.rule.statuses & QUEUED or verb.rule.statuses
    if not asked & verb.rule.statuses:
        needed = " or ".join(sorted(verb.rule.statuses))
        raise InvalidQuery("status", f"to {verb.rule.words} a task it must be {needed}")
    return asked & verb.rule.statuses


def change_all(editor: "Editor", verb: Verb, ids: Iterable[str]) -> ChangeReport:
    """Do this to each of these tasks, side by side. What one does not allow is in the report.

    When AWS stops to answer, the rest is not tried. Raises AwsError or NotDeployed when that is why not one
    of them was changed.
    """
    change: Callable[[str], Task] = getattr(editor, verb)
    away: list[AwsUnavailable] = []  # since AWS answered last

    def attempt(id: str) -> Task | ChangeFailure:
        if len(gone := tuple(away)) >= _THREADS:
            return ChangeFailure(id=id, error=gone[-1])
        try:
            task = change(id)
        except AwsUnavailable as error:
            away.append(error)
            return ChangeFailure(id=id, error=error)
        except DuebellError as error:
            return ChangeFailure(id=id, error=error)
        away.clear()
        return task

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-change") as pool:
        results = list(pool.map(attempt, dict.fromkeys(ids)))
    if any(_is_unarmed(result) for result in results):
        results = _armed_since(editor, results)
    elif verb.rule.queues and not results:
        editor.ensure_armed()  # what an earlier call changed and could not arm for, a filter finds no more
    changed = tuple(result for result in results if isinstance(result, Task))
    failures = tuple(result for result in results if isinstance(result, ChangeFailure))
    if failures and not changed and all(isinstance(one.error, AwsError | NotDeployed) for one in failures):
        raise failures[0].error
    return ChangeReport(changed=changed, failures=failures)


def _is_unarmed(result: Task | ChangeFailure) -> bool:
    return isinstance(result, ChangeFailure) and isinstance(result.error, NotArmed)


def _armed_since(editor: "Editor", results: list[Task | ChangeFailure]) -> list[Task | ChangeFailure]:
    """What is stored and was not rung for is no failure when the rule can be set for it after all."""
    try:
        editor.ensure_armed()
        return [editor.get(result.id) if _is_unarmed(result) else result for result in results]
    except DuebellError:
        return results
