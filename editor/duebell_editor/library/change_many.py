"""One change made to many tasks: those that a filter finds, or those with given ids."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec.structs import replace

from duebell_editor.listing.filters import QUEUED, Filter, check_choice
from duebell_editor.listing.listing import list_tasks
from duebell_shared.errors import AwsError, AwsUnavailable, DuebellError, InvalidQuery, NotDeployed
from duebell_shared.parallel import in_this_context
from duebell_shared.queue.task_queue import Queue
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task import Task

MAX_MANY = 1_000

#: Changes made in parallel.
_THREADS = 16


class ChangeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A task that was not changed, and why."""

    id: str
    error: DuebellError


class ChangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a change to many tasks: the changed tasks as they are now, and the failures."""

    changed: tuple[Task, ...]
    failures: tuple[ChangeFailure, ...] = ()


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of tasks to change; `is_all` is false when the filter matches more than these."""

    ids: tuple[str, ...]
    is_all: bool = True


def check_verb(given: object, field: str = "verb") -> Verb:
    """The verb of this name. Raises InvalidQuery of this field unless it can be applied to many tasks."""
    return check_choice(field, given, [verb for verb in Verb if verb.rules.for_many])


def select_found(queue: Queue, which: Filter) -> Selection:
    """The tasks that the filter finds, up to its limit."""
    found: dict[str, None] = {}  # each once: a task that is moved meanwhile can be on two pages
    while True:
        page = list_tasks(queue, which, to_the_end=bool(which.prefix))
        found |= dict.fromkeys(task.id for task in page.tasks)
        if len(found) >= which.limit or page.cursor is None:
            ids = tuple(found)
            is_all = len(ids) <= which.limit and page.cursor is None
            return Selection(ids=ids[: which.limit], is_all=is_all)
        which = which.following(page.cursor)


def statuses_for(verb: Verb) -> frozenset[Status]:
    """The default statuses for the verb: the queued statuses that it allows, or all it allows if none is."""
    return verb.rules.statuses & QUEUED or verb.rules.statuses


def filter_for(verb: Verb, which: Filter, *, has_status: bool) -> Filter:
    """The filter, reduced to statuses that the verb applies to. Raises InvalidQuery if none is left."""
    allowed = verb.rules.statuses
    if not has_status:
        return replace(which, statuses=statuses_for(verb))
    statuses, failing = which.statuses & allowed, which.failing & allowed
    if not statuses and not failing:
        needed = " or ".join(sorted(allowed))
        raise InvalidQuery("status", f"to {verb.rules.words} a task it must be {needed}")
    return replace(which, statuses=statuses, failing=failing)


def change_all(
    verb: Verb, ids: Sequence[str], *, change: Callable[[str], Task], arm: Callable[[], object]
) -> ChangeReport:
    """Do what `Editor.change_many` does; `change` and `arm` are methods of the editor."""
    unanswered: list[AwsUnavailable] = []

    def attempt(id: str) -> Task | ChangeFailure:
        if unanswered:
            return ChangeFailure(id=id, error=unanswered[0])
        try:
            return change(id)
        except DuebellError as error:
            if isinstance(error, AwsUnavailable):
                unanswered.append(error)
            return ChangeFailure(id=id, error=error)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-change") as pool:
        results = list(pool.map(in_this_context(attempt), ids))
    if verb.rules.queues and not results:
        arm()  # an earlier call may have changed all of them, and failed to arm
    changed = tuple(result for result in results if isinstance(result, Task))
    failures = tuple(result for result in results if isinstance(result, ChangeFailure))
    if failures and not changed and all(isinstance(one.error, AwsError | NotDeployed) for one in failures):
        raise failures[0].error
    return ChangeReport(changed=changed, failures=failures)
