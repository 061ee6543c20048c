"""The part of the editor that only reads: tasks by id and by time, counts, and the scheduler's status."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Unpack

import msgspec

from duebell_editor.listing.failures import Failures, read_failures
from duebell_editor.listing.filters import (
    MAX_LIMIT,
    FilterFields,
    check_cursor,
    check_ids,
    check_instant,
    check_limit,
    check_text,
    make_filter,
)
from duebell_editor.listing.find import find_tasks
from duebell_editor.listing.history import TaskHistory, history
from duebell_editor.listing.listing import Page, list_tasks
from duebell_editor.listing.look import Look, Watched, look
from duebell_editor.listing.past_counts import PastCounts, count_past
from duebell_editor.listing.queue import Queue
from duebell_editor.listing.recurring import list_recurring
from duebell_editor.listing.timeline import Bucket, Step, check_step, timeline
from duebell_editor.status.health import SchedulerStatus
from duebell_editor.status.status import read_status
from duebell_shared.backend import Backend
from duebell_shared.errors import TaskNotFound
from duebell_shared.instants import NEVER
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.given import check_name
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.verbs import Verb
from duebell_shared.tasks.worker_record import WorkerDescription

from .change_many import MAX_MANY, Selection, check_verb, filter_for, select_found, select_named
from .transfer import export_tasks

__all__ = ["QueueReader"]


class QueueReader:
    """Reads the queue. Every method may raise AwsRefused, AwsUnavailable and NotDeployed."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.queue = Queue(backend)

    def get(self, id: str) -> Task:
        """The task with this id: one read, strongly consistent. Raises TaskNotFound."""
        task = self.queue.get(check_name("id", id))
        if task is None:
            raise TaskNotFound(id)
        return task

    def list(
        self,
        *,
        latest_first: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        most_keys: int | None = None,
        **filters: Unpack[FilterFields],
    ) -> Page:
        """List tasks by time: queued ones by when they run next, ended by their end, paused by due date.

        status         one or several; scheduled and running, which is the queue, if not given; or `failing`,
                       recurring tasks whose last occurrence failed: the latest of all, as they have no end
        action         only tasks with this action
        error          only tasks whose last failure is of this type, such as `TimeoutError`
        prefix         only tasks whose ids start with this: read by the table's key, so that a group of ids
                       costs what it holds; a large one by time, where that costs less
        text           only tasks with this in their id, or in their payload as JSON
        after, before  only within these times, both included
        latest_first   the latest first, not the earliest
        limit          at most this many, 1 to 1,000
        cursor         the last page's, for the next
        most_keys      read at most this many index entries, and a fifth as many tasks: where matches are rare
                       the page may be short, and its cursor goes on from there. The search for the first
                       task goes on 20 times as far, and with a prefix to the end

        Tasks that ended within the last second may be missing: their index is eventually consistent.
        Raises InvalidQuery.
        """
        which = make_filter(latest_first=latest_first, limit=limit, cursor=cursor, **filters)
        if most_keys is not None:
            check_limit(most_keys, field="most_keys", most=None)
        return list_tasks(self.queue, which, most_keys=most_keys)

    def find(self, prefix: str, *, limit: int = 100, cursor: str | None = None) -> Page:
        """Find tasks whose ids start with this, of any status, in order of their ids: one read for each lane.

        prefix  one character or more
        limit   at most this many, 1 to 1,000
        cursor  the last page's, for the next; a page of large payloads can be short

        Raises InvalidQuery. AwsRefused where the policy is that of an older version: deploy again.
        """
        given = check_text("prefix", prefix)
        return find_tasks(self.queue, given, limit=check_limit(limit), cursor=check_cursor(cursor))

    def select(
        self,
        verb: Verb | str,
        *,
        ids: Iterable[str] | None = None,
        limit: int = MAX_MANY,
        **filters: Unpack[FilterFields],
    ) -> Selection:
        """The tasks that `change_many` can apply this verb to; the filter is that of `list`.

        ids    only these tasks, instead of a filter
        limit  at most this many

        Raises InvalidQuery.
        """
        verb = check_verb(verb)
        if ids is not None:
            return select_named(self.queue, verb, check_ids(ids))
        most = min(check_limit(limit, most=None), MAX_LIMIT)
        which = make_filter(limit=most, **filters)
        found = filter_for(verb, which, has_status=bool(filters.get("status")))
        return select_found(self.queue, msgspec.structs.replace(found, limit=limit))

    def past_counts(self) -> PastCounts:
        """Count the paused, done, expired and cancelled tasks, each up to 1,000; `status` has the others."""
        return count_past(self.queue)

    def failures(self) -> Failures:
        """The failed tasks, and the recurring ones whose last occurrence failed, by action and type of error.

        The 500 latest are read; `is_all` is false when there are more.
        """
        return read_failures(self.queue)

    def status(self, *, thorough: bool = False, timezone: str = "UTC") -> SchedulerStatus:
        """The state of the scheduler, with its problems; failed tasks are one.

        thorough  also report tasks in lanes that no run reads, tasks whose action the worker does not have,
                  among the 500 that run next, and a worker with other time zones
        timezone  tonight ends at the next 06:00 there, an IANA name

        A call that AWS refuses, or a missing resource, is one of the problems. Raises AwsUnavailable,
        InvalidSchedule for an unknown time zone.
        """
        return read_status(self._backend, thorough=thorough, zone=zone_of(timezone))

    def worker(self) -> WorkerDescription | None:
        """The worker as it made itself known: its actions, or why it could not start. One read.

        None while none has started.
        """
        record = self._backend.store.read_worker(consistent=True)
        return record.described(self._backend.clock()) if record else None

    def timeline(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> tuple[Bucket, ...]:
        """Count what is to run, in `count` buckets; the first is the step that `start` is in.

        step      minute, hour, day or month; days and months are those of the time zone, an IANA name
        count     the number of buckets, 1 to 100

        A recurring task counts at each time of its schedule. Overdue tasks count at the time that they were
        due. In a long queue only one lane is counted, and of more than 300 recurring tasks 300: the counts
        are estimates then. Raises InvalidQuery, InvalidSchedule for an unknown time zone.
        """
        return timeline(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def history(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> TaskHistory:
        """Count the tasks that ended, by result, and how late they started; arguments as for `timeline`.

        Cancelled tasks are left out. Raises InvalidQuery, InvalidSchedule.
        """
        return history(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def schedules(self, *, prefix: str = "", limit: int = 100, cursor: str | None = None) -> Page:
        """List the recurring tasks: those that fail first, paused ones last, by id among their kind.

        prefix  only tasks whose ids start with this
        limit   at most this many, 1 to 1,000
        cursor  the last page's, for the next

        Reads the keys of all of them, 3,200 in one call, and 100 tasks in one. A task that was added, changed
        or has ended within the last second may be missing. Raises InvalidQuery.
        """
        which = make_filter(prefix=prefix, limit=limit)
        return list_recurring(self.queue, prefix=which.prefix, limit=which.limit, cursor=check_cursor(cursor))

    def look(
        self, *, after: datetime | None = None, before: datetime = NEVER, ids: Iterable[str] = ()
    ) -> Look:
        """Look for changes in the queue between two times, and of these tasks: a change makes looks differ.

        Costs one read for the arming record, one for each lane, and one for each task.
        """
        begin = None if after is None else check_instant("after", after)
        watched = Watched(after=begin, before=check_instant("before", before), ids=check_ids(ids))
        return look(self.queue, watched)

    def export_tasks(self) -> Iterator[bytes]:
        """Every task as a line of JSON, history included, read as it is consumed: for `import_tasks`."""
        return export_tasks(self.queue)
