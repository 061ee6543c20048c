"""The effects of entries: tasks are added with one call and armed once, then the changes are made.

Adds are made first, even if a change was sent before: a change without its task would only be tried again.
If several adds have one id, the one that was sent first counts, and the others keep its task. Pushes and
changes of one task are made in the order in which they were sent. Of pushes in a row, only the last is made.
"""

import copy
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, partial

from duebell_editor.library.adder import errors_by_place
from duebell_editor.library.backfill import BackfillReport
from duebell_editor.library.editor import Editor
from duebell_shared.errors import (
    AwsError,
    DuebellError,
    InvalidInput,
    InvalidTask,
    NotArmed,
    NotDeployed,
    TaskNotFound,
)
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Settings
from duebell_shared.tasks.checks import NO_FOLLOW_UP
from duebell_shared.tasks.fields import IfExists, NewTask
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task import IntakeMark, Task

from .messages import PUSH, Change, Entry, check_action

_LOG = logging.getLogger("duebell.intake")

#: The errors of entries that did not take effect, by their places. An error that is no DuebellError is a bug,
#: and must not lose a message.
Failures = dict[int, Exception]


def take_effect(editor: Editor, entries: Sequence[Entry], parallel: Parallel, settings: Settings) -> Failures:
    """Adds and changes tasks. Returns the failures by place; all other entries took effect, now or before."""
    failures: Failures = {}
    traces: dict[str, str] = {}
    adds: dict[str, dict[int, NewTask]] = defaultdict(dict)
    changes: dict[str, dict[int, Change]] = defaultdict(dict)
    for place in sorted(range(len(entries)), key=lambda place: entries[place].message.sent):
        added: str | None = None
        match entries[place].wanted:
            case Change() as change:
                changes[change.id][place] = change
                added = change.id if change.verb == PUSH else None
            case InvalidInput() as error:
                failures[place] = error
            case task:
                added = str(task["id"])
                adds[added][place] = task
        if added and (trace := entries[place].message.traceparent):
            traces.setdefault(added, trace)  # the trace of the first add counts
    if traces:
        editor = copy.copy(editor)
        editor.traces = traces
    batch_error = cache(partial(_batch_error, editor, settings))
    for group in adds.values():
        for place, task in list(group.items()):
            if refused := batch_error(task.get("batch")):
                failures[place] = refused
                del group[place]
    failures |= _add_all(editor, [group for group in adds.values() if group])
    failures |= _change_all(editor, list(changes.values()), parallel, settings)
    return failures


def _batch_error(editor: Editor, settings: Settings, id: str | None) -> DuebellError | None:
    """The error for a task of this batch, if messages may not add the batch's follow-ups; else None."""
    if not settings.intake_actions or not id:
        return None
    try:
        batch = editor.get(id)
        for action in (batch.action, batch.members and batch.members.on_failed):
            check_action(settings, "batch", action if action != NO_FOLLOW_UP else None)
    except TaskNotFound:
        return None  # the add itself raises it
    except DuebellError as error:
        return error
    return None


def _check_stored(editor: Editor, settings: Settings, task: Task) -> None:
    """Raise InvalidTask if messages may not change this task, because of what runs in it or after it."""
    for action in (task.action, task.on_failed, task.then and task.then.action):
        check_action(settings, "id", action)
    if error := _batch_error(editor, settings, task.batch):
        raise error


def _add_all(editor: Editor, groups: list[dict[int, NewTask]]) -> Failures:
    """Add the first valid task of each group; the tasks of a group have the same id."""
    failures: Failures = {}
    while groups:
        firsts = [next(iter(group)) for group in groups]
        tasks = [group[first] for group, first in zip(groups, firsts, strict=True)]
        try:
            report = editor.add_many(tasks, if_exists=IfExists.KEEP)
        except InvalidTask as error:
            for index, one in errors_by_place(error).items():
                failures[firsts[index]] = one
                del groups[index][firsts[index]]
            groups = [group for group in groups if group]
            continue
        except Exception as error:  # noqa: BLE001 (a bug must not lose a message)
            _note_bug(error)
            return failures | {place: error for group in groups for place in group}
        for failed in report.failures:
            failures |= dict.fromkeys(groups[failed.index], failed.error)
        break
    return failures


def _change_all(
    editor: Editor, groups: list[dict[int, Change]], parallel: Parallel, settings: Settings
) -> Failures:
    failures: Failures = {}
    repeated: list[int] = []

    def change(group: dict[int, Change]) -> tuple[Failures, list[int]]:
        return _change_in_order(editor, group, settings)

    for failed, made_before in parallel.all(change, groups):
        failures |= failed
        repeated += made_before
    if repeated:
        try:
            editor.ensure_armed()  # a process that made them may have died before it armed the rule
        except DuebellError as error:
            failures |= dict.fromkeys(repeated, error)
    return failures


def _change_in_order(
    editor: Editor, group: dict[int, Change], settings: Settings
) -> tuple[Failures, list[int]]:
    """Make changes of one task. Returns the failures, and the places of changes that were made before.

    After a change that fails, the later changes of its message fail too. After a change that AWS did not
    answer, all later changes fail: they would overtake it.
    """
    failures: Failures = {}
    repeated: list[int] = []
    trouble: Exception | None = None
    broken: dict[str, Exception] = {}
    for row in _rows(group):
        is_made = False
        for place in reversed(row):
            change = group[place]
            if error := trouble or broken.get(change.mark.source):
                failures[place] = error
            elif not is_made:
                try:
                    if not _change(editor, change, settings):
                        repeated.append(place)
                    is_made = True
                except Exception as error:  # noqa: BLE001 (a bug must not lose a message)
                    _note_bug(error)
                    failures[place] = error
                    trouble = error if isinstance(error, AwsError | NotArmed | NotDeployed) else None
        broken |= {group[place].mark.source: failures[place] for place in row if place in failures}
    return failures, repeated


def _rows(group: Mapping[int, Change]) -> list[list[int]]:
    """The places of the changes, each in a row of its own.

    Consecutive pushes share a row, as only the last of them is made.
    """
    rows: list[list[int]] = []
    for place, change in group.items():
        if rows and change.verb == group[rows[-1][-1]].verb == PUSH:
            rows[-1].append(place)
        else:
            rows.append([place])
    return rows


def _change(editor: Editor, change: Change, settings: Settings) -> bool:
    """Make the change. Returns False if it was made before, or if it is a push and a later push was made.

    Problem: a message that comes twice would move a recurring task's next occurrence, or undo a later change.
    Or it would be refused because of its own effect. A push would start a second run, with an old payload.
    Solution: the mark on a task has the message that changed it last, the last entry, and the time of a push.
    """
    is_push = change.verb == PUSH
    last: IntakeMark | None = None
    is_cancelled = False
    try:
        there = editor.get(change.id)
    except TaskNotFound:
        if not is_push:
            raise
    else:
        _check_stored(editor, settings, there)
        last, is_cancelled = there.intake, there.status is Status.CANCELLED
    if last and last.source == change.mark.source and change.mark.place <= last.place:
        return False
    pushed = last.pushed if last else None
    if is_push and pushed and change.sent < pushed:
        return False
    marking = editor.acting_as(f"intake {change.mark.source}")
    marking.intake_mark = IntakeMark(
        source=change.mark.source,
        place=change.mark.place,
        pushed=change.sent if is_push else pushed,
    )
    if is_push:
        marking.add_one(change.fields, if_exists=IfExists.PUSH, max_wait=change.max_wait)
    elif change.verb != Verb.CANCEL or not is_cancelled:
        # As in the API: a running task can be moved, but not updated
        is_move = change.verb == Verb.UPDATE and change.fields.keys() == {"due"}
        done = getattr(marking, Verb.MOVE if is_move else change.verb)(change.id, **change.fields)
        if isinstance(done, BackfillReport) and done.failures:
            raise done.failures[0].error
    return True


def _note_bug(error: Exception) -> None:
    if not isinstance(error, DuebellError):
        _LOG.error("entries cannot be taken: %s", type(error).__name__, exc_info=error)
