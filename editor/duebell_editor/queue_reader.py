"""The part of the editor that only reads the queue: tasks by id and by time, counts, and how all stands."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import TaskNotFound
from duebell_shared.given import check_name
from duebell_shared.instants import NEVER
from duebell_shared.task import Status, Task
from duebell_shared.verbs import Verb
from duebell_shared.zones import zone_of

from .change_many import MAX_MANY, Selection, check_verb, select_found, select_named, statuses_for
from .filtering import MAX_LIMIT, check_ids, check_instant, check_limit, make_filter
from .history import TaskHistory, history
from .listing import Page, list_tasks
from .look import Look, Watched, look
from .reading import Queue
from .status import SchedulerStatus, read_status
from .timeline import Bucket, Step, check_step, timeline
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
        status: Status | str | Iterable[Status | str] | None = None,
        action: str | None = None,
        prefix: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
        latest_first: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        most_keys: int | None = None,
    ) -> Page:
        """Tasks by time: when they are next looked at, or when they ended; the paused by their due date.

        status         one or several; what is in the queue (scheduled and running) if not given
        action         of this action only
        prefix         whose ids start with this only
        after, before  within these, both included
        latest_first   the latest first, not the earliest
        limit          at most this many, 1 to 1,000
        cursor         the last page's, for the next
        most_keys      look at so many entries of the indexes at most, and read a fifth as many tasks: what is
                       rare among many is not looked for to the end. The page may be short then, or empty,
                       and its cursor goes on from there

        What ended within the last second may be missing: the index of the past follows the tasks.
        Raises InvalidQuery.
        """
        which = make_filter(
            status=status,
            action=action,
            prefix=prefix,
            after=after,
            before=before,
            latest_first=latest_first,
            limit=limit,
            cursor=cursor,
        )
        if most_keys is not None:
            check_limit(most_keys, field="most_keys", most=None)
        return list_tasks(self.queue, which, most_keys=most_keys)

    def select(
        self,
        verb: Verb | str,
        *,
        ids: Iterable[str] | None = None,
        status: Status | str | Iterable[Status | str] | None = None,
        action: str | None = None,
        prefix: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = MAX_MANY,
    ) -> Selection:
        """The tasks that `change_many` can do something to, by its verb; the filter is that of `list`.

        ids    of these tasks only, and no filter
        limit  at most so many of those found

        Raises InvalidQuery.
        """
        verb = check_verb(verb)
        if ids is not None:
            return select_named(self.queue, verb, check_ids(ids))
        which = make_filter(
            status=status,
            action=action,
            prefix=prefix,
            after=after,
            before=before,
            limit=min(check_limit(limit, most=None), MAX_LIMIT),
        )
        statuses = statuses_for(verb, which.statuses if status else None)
        found = msgspec.structs.replace(which, statuses=statuses, limit=limit)
        return select_found(self.queue, found)

    def status(self, *, thorough: bool = False) -> SchedulerStatus:
        """How the scheduler stands, and what is wrong with it, if anything.

        thorough  also look for recurring tasks that fail, and for lanes that nobody looks into

        What AWS refuses, or has not got, is among the problems. Raises AwsUnavailable.
        """
        return read_status(self._backend, thorough=thorough)

    def timeline(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> tuple[Bucket, ...]:
        """How many tasks are to come, in so many buckets from the step that `start` is in.

        step      minute, hour, day or month; days and months are those of the time zone, an IANA name
        count     of the buckets, 1 to 100

        What is overdue counts where it was due. Where there are very many, one lane stands for all, and the
        counts are estimates. Raises InvalidQuery, InvalidSchedule for an unknown time zone.
        """
        return timeline(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def history(
        self, start: datetime, *, step: Step | str = Step.HOUR, count: int = 24, timezone: str = "UTC"
    ) -> TaskHistory:
        """How many tasks ended, how, and how late they were started; the arguments are those of `timeline`.

        Cancelled tasks did not run and are left out. Raises InvalidQuery, InvalidSchedule.
        """
        return history(self.queue, start, check_step(step), count, zone=zone_of(timezone))

    def look(
        self, *, after: datetime | None = None, before: datetime = NEVER, ids: Iterable[str] = ()
    ) -> Look:
        """A cheap look at the queue between two times, and at these tasks: whatever has changed, it differs.

        One read for the scheduler's record, one for each lane and task.
        """
        begin = None if after is None else check_instant("after", after)
        watched = Watched(after=begin, before=check_instant("before", before), ids=check_ids(ids))
        return look(self.queue, watched)

    def export_tasks(self) -> Iterator[bytes]:
        """Every task as a line of JSON, history included, read as it is consumed: for `import_tasks`."""
        return export_tasks(self.queue)
