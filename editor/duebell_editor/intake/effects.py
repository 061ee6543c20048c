"""The effects of entries: tasks are added with one call and armed once, then the changes are made.

Adds are first, whatever was sent first: a change before its add would only be tried again, with the same
end. Of several adds of one id the one that was sent first counts, and the others keep its task. Changes of
one task are made in the order in which they were sent.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from duebell_shared.errors import AwsError, DuebellError, InvalidInput, InvalidTask, NotArmed, NotDeployed
from duebell_shared.instants import utc_now
from duebell_shared.parallel import Parallel
from duebell_shared.quoting import in_brief
from duebell_shared.task import Status
from duebell_shared.verbs import Verb

from ..editor import Editor
from ..taken_ids import IfExists
from ..values import NewTask
from .marks import Made
from .messages import Change, Entry

__all__ = ["Failures", "take_effect"]

_LOG = logging.getLogger("duebell.intake")

#: The place of a task that `add_many` was given, in the field of its error.
_PLACE = re.compile(r"tasks\[(\d+)\]\.(.*)", re.DOTALL)

#: The errors of entries that did not take effect, by their places. One that is none of ours is a bug, and no
#: reason to lose a message.
Failures = dict[int, Exception]


def take_effect(editor: Editor, entries: Sequence[Entry], parallel: Parallel) -> Failures:
    """Add and change tasks. The others took effect, now or when their message came before."""
    failures: Failures = {}
    adds: dict[str, dict[int, NewTask]] = defaultdict(dict)
    changes: dict[str, dict[int, Change]] = defaultdict(dict)
    for place in sorted(range(len(entries)), key=lambda place: entries[place].message.sent):
        match entries[place].wanted:
            case NewTask() as task:
                adds[str(task.id)][place] = task
            case Change() as change:
                changes[change.id][place] = change
            case InvalidInput() as error:
                failures[place] = error
    failures |= _add_all(editor, list(adds.values()))
    failures |= _change_all(editor, list(changes.values()), parallel)
    return failures


def _add_all(editor: Editor, groups: list[dict[int, NewTask]]) -> Failures:
    """Add the tasks, each group of one id once: the first that can be right."""
    failures: Failures = {}
    while groups:
        firsts = [next(iter(group)) for group in groups]
        tasks = [group[first] for group, first in zip(groups, firsts, strict=True)]
        try:
            report = editor.add_many(tasks, if_exists=IfExists.KEEP)
        except InvalidTask as error:
            wrong = {firsts[place]: one for place, one in _by_place(error).items()}
            failures |= wrong
            groups = [
                left
                for group in groups
                if (left := {place: one for place, one in group.items() if place not in wrong})
            ]
            continue
        except Exception as error:  # noqa: BLE001 (a bug must not lose a message)
            _note_bug(error)
            return failures | {place: error for group in groups for place in group}
        failed = {one.index: one.error for one in report.failures}
        for index, group in enumerate(groups):
            failures |= dict.fromkeys(group, failed[index]) if index in failed else _faults(group)
        break
    return failures


def _by_place(error: InvalidInput) -> dict[int, InvalidTask]:
    """The errors of `add_many` by the places of their tasks, each with its field alone."""
    found = {}
    for one in error.every:
        if named := _PLACE.fullmatch(one.field):
            found[int(named[1])] = InvalidTask(named[2], one.reason)
    if not found:
        raise TypeError(f"names no task: {in_brief(error)}")
    return found


def _faults(group: dict[int, NewTask]) -> Failures:
    """The errors of adds whose id another has: they keep its task, but must be right by themselves."""
    failures: Failures = {}
    for place, task in list(group.items())[1:]:
        try:
            task.task(utc_now())
        except InvalidTask as error:
            failures[place] = error
    return failures


def _change_all(editor: Editor, groups: list[dict[int, Change]], parallel: Parallel) -> Failures:
    """Make the changes, each group of one task in turn."""
    failures: Failures = {}
    repeated: list[int] = []

    def change(group: dict[int, Change]) -> tuple[Failures, list[int]]:
        return _change_in_turn(editor, group)

    for failed, made_before in parallel.all(change, groups):
        failures |= failed
        repeated += made_before
    if repeated:
        try:
            editor.ensure_armed()  # a process that made them may have died before it armed the rule
        except DuebellError as error:
            failures |= dict.fromkeys(repeated, error)
    return failures


def _change_in_turn(editor: Editor, group: dict[int, Change]) -> tuple[Failures, list[int]]:
    """The failures of these changes of one task, and those that were made when their message came before.

    After one that AWS did not answer the rest wait as well: they would overtake it.
    """
    failures: Failures = {}
    repeated: list[int] = []
    trouble: DuebellError | None = None
    made = {
        source: Made(change.mark for change in of_source)
        for source, of_source in _by_source(group.values()).items()
    }
    for place, change in group.items():
        if trouble:
            failures[place] = trouble
            continue
        try:
            if not _change(editor, change, made[change.mark.source]):
                repeated.append(place)
        except DuebellError as error:
            failures[place] = error
            trouble = error if isinstance(error, AwsError | NotArmed | NotDeployed) else None
        except Exception as error:  # noqa: BLE001 (as above)
            _note_bug(error)
            failures[place] = error
    return failures, repeated


def _by_source(changes: Iterable[Change]) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[change.mark.source].append(change)
    return found


def _change(editor: Editor, change: Change, made: Made) -> bool:
    """Make the change; False if it was made when its message came before.

    Problem: a message that comes twice would move a recurring task's next occurrence, undo what was changed
    since, or be refused for what it did itself. Solution: the author of a task's last change says which
    entries made it.
    """
    there = editor.get(change.id)
    made.recall(there.changed_by)
    if change.mark in made:
        return False
    if change.verb is not Verb.CANCEL or there.status is not Status.CANCELLED:
        author = made.author(change.mark)
        getattr(editor.acting_as(author), change.verb)(change.id, **change.fields)
    made.add(change.mark)
    return True


def _note_bug(error: Exception) -> None:
    if not isinstance(error, DuebellError):
        _LOG.error("entries cannot be taken: %s", type(error).__name__, exc_info=error)
