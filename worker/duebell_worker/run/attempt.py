"""One attempt of a run, and how far it has come."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND, ceil_to_minute
from duebell_shared.tasks.events import Lateness
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .outcome import NO_RESULT, Ended, KeptResult

#: An attempt that starts sooner has no parts of lateness: nothing is stored for it.
_WORTH_TELLING = timedelta(seconds=1)

#: The first ring for a time comes within so many minutes: it is a minute ahead at least, and a whole one.
_FIRST_RING = timedelta(minutes=2)


#: The event of the attempt whose action runs here, if that is stoppable.
STOPPING: ContextVar[threading.Event | None] = ContextVar("duebell_stopping", default=None)


def stopping() -> threading.Event:
    """The event that is set when the running action is to stop; for actions with `stoppable=True`.

    It is set when the task is cancelled, moved or replaced, at the time-out, when the lease is lost, and when
    the process is to end. Raises RuntimeError outside of such an action.
    """
    event = STOPPING.get()
    if event is None:
        raise RuntimeError(
            "duebell.stopping() was called outside of a stoppable action: declare the action with "
            "@worker.action(stoppable=True), and call it in the thread that runs the action"
        )
    return event


class Wake(NamedTuple):
    """The start of a run.

    began    when its handler was called
    rang_at  when the bell rang, as its event says; None if the run was called directly
    """

    began: datetime
    rang_at: datetime | None = None


class Attempt:
    """One attempt in the pool, and how far it has come: claimed, started, ended, recorded.

    key      the task's place in the queue
    status   the status that it must have to be claimed
    wake     the start of the run
    stored   the task as it is stored, from its claim on. It is either of two while the write that records its
             last attempt as begun is under way, or if the result of that write is unknown
    started  the task as its action was called with it
    ended    the end of the attempt
    recorded  the same, once it is recorded, while the follow-up that the task owes is added
    over     done when the attempt is over. Its result is `ended` as it was recorded; None if the task could
             not be claimed, or the attempt was not made
    is_ahead   whether it waited for its action's limit, and is started before its place
    has_place  whether it takes one of the run's places: not once it waits to go in a batch with others,
               or for others of its action to end
    ends_by    the end of its time-out, once its action is called; None if it has none
    has_returned  whether its action has returned
    stop       the event that tells its action to stop; None if that is not stoppable
    result     the result of its action; NO_RESULT if none is kept
    waits_since  since when it waits in the run for its action's limit
    waited     how long it waited so
    """

    def __init__(self, key: QueueKey, status: Status, wake: Wake, *, is_ahead: bool = False) -> None:
        self.key = key
        self.status = status
        self.wake = wake
        self.is_ahead = is_ahead
        self.stored: tuple[Task, ...] = ()
        self.started: Task | None = None
        self.ended: Ended | None = None
        self.recorded: Ended | None = None
        self.over: Future[Ended | None] = Future()
        self.has_place = True
        self.ends_by: datetime | None = None
        self.has_returned = False
        self.stop: threading.Event | None = None
        self.result: KeptResult = NO_RESULT
        self.waits_since: datetime | None = None
        self.waited = timedelta(0)

    @property
    def is_running(self) -> bool:
        """True from the call of its action until the attempt is over."""
        return self.started is not None and not self.over.done()

    def tell_to_stop(self) -> None:
        """Tell its action to stop, if that is stoppable."""
        if self.stop:
            self.stop.set()

    def set_over(self, result: Ended | BaseException | None) -> None:
        """End the attempt with this result or error."""
        if isinstance(result, BaseException):
            self.over.set_exception(result)
        else:
            self.over.set_result(result)

    @contextmanager
    def is_over_at_error(self) -> Iterator[None]:
        """End this attempt alone with what is raised inside, by a bug or an item that someone has edited."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001
            self.over.set_exception(error)


def as_run(attempt: Attempt) -> Task:
    """The claimed task at the occurrence to run, with the lost attempts of a run that died."""
    task = attempt.stored[-1].caught_up()
    if task.started_at:
        late = (task.lateness_ms or 0) * MILLISECOND + attempt.waited
        limited = late if task.limited_since else attempt.waited
        parts = lateness_of(task.started_at + attempt.waited, late, attempt.wake, limited=limited)
        task = replace(task, lateness_ms=late // MILLISECOND, lateness=parts)
    return task.left_running() if attempt.status is Status.RUNNING else task


def lateness_of(
    started: datetime, late: timedelta, wake: Wake, *, limited: timedelta = timedelta(0)
) -> Lateness | None:
    """The parts of `late`, by which the attempt was `started` after its time; None if that is under a second.

    limited  how long it waited for its action's limit
    """
    if late < _WORTH_TELLING:
        return None
    since, left = started - late, late // MILLISECOND

    def part(duration: timedelta) -> int:
        nonlocal left
        taken = min(max(duration // MILLISECOND, 0), left)
        left -= taken
        return taken

    limit = part(limited)
    rounding = ring = start = 0
    if wake.began > since:
        if wake.rang_at and wake.rang_at > since:
            rings_in = wake.rang_at.replace(second=0, microsecond=0)
            # A ring that comes later is an echo: the first one was lost.
            first = rings_in if rings_in - since <= _FIRST_RING else ceil_to_minute(since)
            rounding = part(first - since)
            ring = part(wake.rang_at - since - rounding * MILLISECOND)
        start = part(wake.began - since - (rounding + ring) * MILLISECOND)
    return Lateness(rounding=rounding, ring=ring, start=start, queue=left, limit=limit)
