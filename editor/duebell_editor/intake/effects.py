"""The effects of entries: tasks are added with one call and armed once, then the changes are made.

Adds are first, whatever was sent first: a change before its add would only be tried again, with the same
end. Of several adds of one id the one that was sent first counts, and the others keep its task. Pushes and
changes of one task are made in the order in which they were sent, and of several pushes in a row the last.
"""

import copy
import itertools
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

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
from duebell_shared.instants import utc_now
from duebell_shared.parallel import Parallel
from duebell_shared.queue.items import check_size
from duebell_shared.quoting import in_brief
from duebell_shared.settings import Settings
from duebell_shared.tasks.fields import IfExists, NewTask
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task import MAX_WITHOUT, IntakeMark

from .messages import PUSH, Change, Entry, check_action


class DoneChanges:
    """The changes of one task, of one message, that took effect, in the order in which they are there.

    A change counts as made only while no earlier one of its list has been made after it.
    """

    def __init__(self, marks: Iterable[IntakeMark]) -> None:
        """`marks` are those of all changes of this task in the message."""
        every = list(marks)
        self._source = every[0].source
        self._places = sorted({mark.place for mark in every})
        self._made: set[int] = set()
        self._pushed: datetime | None = None

    def __contains__(self, mark: IntakeMark) -> bool:
        return mark.place in self._made

    def recall(self, last: IntakeMark | None) -> None:
        """Learn from the mark of the task's last change what was made when the message came before."""
        if last is None:
            return
        self._pushed = last.pushed
        if last.source == self._source:
            known = range(last.place if last.alone else 0, last.place + 1)
            self._made |= {place for place in self._places if place in known and place not in last.without}

    def mark(self, mark: IntakeMark, *, pushed: datetime | None = None) -> IntakeMark:
        """The mark to leave if this change is made now; `pushed` is when a push was sent."""
        missing = tuple(place for place in self._places if place < mark.place and place not in self._made)
        is_alone = len(missing) > MAX_WITHOUT
        return IntakeMark(
            source=mark.source,
            place=mark.place,
            without=() if is_alone else missing,
            alone=is_alone,
            pushed=pushed or self._pushed,
        )

    def add(self, mark: IntakeMark) -> None:
        """Note that a change was made now. Later ones of the list are made once more, for they hold."""
        self._made = {place for place in self._made if place < mark.place} | {mark.place}

    def is_before_push(self, sent: datetime) -> bool:
        """Tell whether a message was sent before that of the task's last push.

        All of what it pushes for is in the run that follows that push.
        """
        return self._pushed is not None and sent < self._pushed


_LOG = logging.getLogger("duebell.intake")

#: The place of a task that `add_many` was given, in the field of its error.
_PLACE = re.compile(r"tasks\[(\d+)\]\.(.*)", re.DOTALL)

#: The errors of entries that did not take effect, by their places. One that is none of ours is a bug, and no
#: reason to lose a message.
Failures = dict[int, Exception]


class _Step(NamedTuple):
    """A change of a task, or the last of several pushes of it in a row.

    places   the places of the entries that it is made for
    covered  the marks of those of its own message that are before it in the row
    """

    places: list[int]
    change: Change
    covered: list[IntakeMark]


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
            traces.setdefault(added, trace)  # that of the first add counts
    if traces:
        editor = copy.copy(editor)
        editor.traces = traces
    failures |= _add_all(editor, list(adds.values()))
    failures |= _change_all(editor, list(changes.values()), parallel, settings)
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
    found = {}
    for one in error.every:
        if named := _PLACE.fullmatch(one.field):
            found[int(named[1])] = InvalidTask(named[2], one.reason)
    if not found:
        raise TypeError(f"names no task: {in_brief(error)}")
    return found


def _faults(group: dict[int, NewTask]) -> Failures:
    """The errors of adds whose id another has: they keep its task, but must be right by themselves."""
    others = list(group.items())[1:]
    return {place: fault for place, task in others if (fault := _fault(task))}


def _fault(task: Mapping[str, Any]) -> InvalidTask | None:
    try:
        check_size(new_task(**task, now=utc_now()))
    except InvalidTask as error:
        return error
    return None


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
    """The failures of these changes of one task, and those that were made when their message came before.

    After one that AWS did not answer the rest wait as well: they would overtake it.
    """
    failures: Failures = {}
    repeated: list[int] = []
    trouble: DuebellError | None = None
    marks = [change.mark for change in group.values()]
    made = {
        source: DoneChanges(mark for mark in marks if mark.source == source)
        for source in {mark.source for mark in marks}
    }
    steps = _steps(group, failures)
    while steps:
        places, change, covered = steps.pop(0)
        if trouble:
            failures |= dict.fromkeys(places, trouble)
            continue
        try:
            if settings.intake_actions:
                with suppress(TaskNotFound):
                    check_action(settings, "id", editor.get(change.id).action)
            done = made[change.mark.source]
            if change.verb == PUSH:
                is_made_now = _push(editor, change, done, covered)
            else:
                is_made_now = _change(editor, change, done)
            if not is_made_now:
                repeated += places
        except InvalidInput as error:  # those that it covers are to be made without it
            *earlier, last = places
            failures[last] = error
            steps = [*_steps({place: group[place] for place in earlier}, failures), *steps]
        except DuebellError as error:
            failures |= dict.fromkeys(places, error)
            trouble = error if isinstance(error, AwsError | NotArmed | NotDeployed) else None
        except Exception as error:  # noqa: BLE001 (as above)
            _note_bug(error)
            failures |= dict.fromkeys(places, error)
    return failures, repeated


def _steps(group: Mapping[int, Change], failures: Failures) -> list[_Step]:
    """The changes to make one after the other: of pushes in a row the last, for all that can be right.

    `failures` gets those that cannot.
    """
    steps: list[_Step] = []
    for is_push, several in itertools.groupby(group.items(), lambda one: one[1].verb == PUSH):
        if not is_push:
            steps += [_Step([place], change, []) for place, change in several]
            continue
        row = dict(several)
        faults = {place: fault for place, push in row.items() if (fault := _fault(push.fields))}
        failures |= faults
        if right := [place for place in row if place not in faults]:
            last = row[right[-1]]
            same = [row[place].mark for place in right[:-1] if row[place].mark.source == last.mark.source]
            steps.append(_Step(right, last, same))
    return steps


def _push(editor: Editor, push: Change, made: DoneChanges, covered: Sequence[IntakeMark]) -> bool:
    """Add or push the task; False if this push, or one that was sent later, was made before.

    Problem: a message that comes twice, or late, would give the task an old due date and an old payload. A
    task that has run since would run again. Solution: the mark says when the push was sent.

    `covered` are the earlier pushes of its message: its mark says that they took effect.
    """
    with suppress(TaskNotFound):
        made.recall(editor.get(push.id).intake)
    if push.mark in made or made.is_before_push(push.sent):
        return False
    for mark in covered:
        made.add(mark)
    pushing = _marking(editor, made.mark(push.mark, pushed=push.sent))
    pushing.add_one(push.fields, if_exists=IfExists.PUSH, max_wait=push.max_wait)
    made.add(push.mark)
    return True


def _change(editor: Editor, change: Change, made: DoneChanges) -> bool:
    """Make the change; False if it was made when its message came before.

    Problem: a message that comes twice would move a recurring task's next occurrence, or undo a later change.
    Or it would be refused for its own change. Solution: the mark on a task says which entries changed it.
    """
    there = editor.get(change.id)
    made.recall(there.intake)
    if change.mark in made:
        return False
    if change.verb != Verb.CANCEL or there.status is not Status.CANCELLED:
        marking = _marking(editor, made.mark(change.mark))
        done = getattr(marking, change.verb)(change.id, **change.fields)
        if isinstance(done, BackfillReport) and done.failures:
            raise done.failures[0].error
    made.add(change.mark)
    return True


def _marking(editor: Editor, mark: IntakeMark) -> Editor:
    """The editor that leaves this mark on what it changes."""
    marking = editor.acting_as(f"intake {mark.source}")
    marking.intake_mark = mark
    return marking


def _note_bug(error: Exception) -> None:
    if not isinstance(error, DuebellError):
        _LOG.error("entries cannot be taken: %s", type(error).__name__, exc_info=error)
