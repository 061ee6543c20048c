"""Backfill: the occurrences of a recurring task in a range that has passed, as tasks of their own."""

from datetime import datetime, timedelta
from itertools import islice, takewhile

import msgspec
from msgspec.structs import replace

from duebell_editor.listing.filters import check_instant
from duebell_shared.errors import AddFailure, InvalidQuery
from duebell_shared.instants import FIRST, MILLISECOND, Instant, floor, render
from duebell_shared.limits.limits import check_per_second
from duebell_shared.queue.task_queue import Policy
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task

from .adder import Adder

#: The most occurrences of one backfill.
MOST_BACKFILLED = 10_000


class BackfillReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a backfill.

    prefix         the beginning of the ids of its tasks, by which they are listed and changed
    dues           the occurrences in the range, in order
    dry_run        whether nothing was added
    added          the number of tasks that are new
    there_already  the number of tasks that an earlier backfill added
    failures       the tasks that are not stored, and why
    """

    prefix: str
    dues: tuple[Instant, ...]
    dry_run: bool
    added: int = 0
    there_already: int = 0
    failures: tuple[AddFailure, ...] = ()


def backfill(
    adder: Adder,
    task: Task,
    start: datetime,
    end: datetime,
    *,
    per_second: float | None,
    dry_run: bool,
    now: datetime,
    changed_by: str | None,
) -> BackfillReport:
    """Do what `Editor.backfill` does, for this author."""
    check_per_second(per_second, may_pause=False)
    start, end = check_instant("start", start), check_instant("end", end)
    if task.recurrence is None:
        raise InvalidQuery("id", f"{quoted(task.id)} runs once: only a recurring task can be backfilled")
    if task.payload_dropped is not None:
        raise InvalidQuery(
            "id",
            f"{quoted(task.id)} has ended, and its payload of {task.payload_dropped:,} bytes is not kept: "
            f"add the task again, then backfill",
        )
    if end < start:
        raise InvalidQuery("end", f"{render(end)} is before the start, {render(start)}")
    if end > now:
        raise InvalidQuery("end", f"{render(end)} is after now: the schedule itself runs later occurrences")
    occurrences = task.recurrence.schedule.occurrences(max(start, FIRST + MILLISECOND) - MILLISECOND)
    dues = tuple(islice(takewhile(lambda due: due <= end, occurrences), MOST_BACKFILLED + 1))
    if len(dues) > MOST_BACKFILLED:
        raise InvalidQuery(
            "end",
            f"{render(end)} is too far from the start: a backfill has at most {MOST_BACKFILLED:,} "
            f"occurrences. Make several",
        )
    report = BackfillReport(prefix=f"{task.id}@", dues=dues, dry_run=dry_run)
    pause = timedelta(seconds=1 / per_second if per_second else 0)

    def occurrence(place: int, due: datetime) -> Task:
        made = replace(
            new_task(id=f"{report.prefix}{render(due)}", action=task.action, due=due, now=now),
            payload_json=task.payload_json,
            priority=task.priority,
            tags=task.tags,
            on_failed=task.on_failed,
            then=task.then,
            queued=floor(now + place * pause),
            changed_by=changed_by,
        )
        made.check_fields()
        return made

    tasks = [occurrence(place, due) for place, due in enumerate(dues)]
    if dry_run or not tasks:
        return report
    done = adder.add_many(tasks, {one.id for one in tasks}, Policy(IfExists.KEEP))
    there = len(done.there_already)
    return replace(report, added=len(done.added) - there, there_already=there, failures=done.failures)
