"""One attempt of a run, and how far it has come."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND
from duebell_shared.tasks.lateness import Wake, lateness_of
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .outcome import Ended


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
        self.waits_since: datetime | None = None
        self.waited = timedelta(0)

    @property
    def is_running(self) -> bool:
        """True from the call of its action until the attempt is over."""
        return self.started is not None and not self.over.done()

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
    limited_since, started_at = attempt.stored[-1].limited_since, task.started_at
    late = (task.lateness_ms or 0) * MILLISECOND + attempt.waited
    if started_at:
        limited = (started_at - limited_since if limited_since else timedelta(0)) + attempt.waited
        parts = lateness_of(started_at + attempt.waited, late, attempt.wake, limited=limited)
        task = replace(task, lateness_ms=late // MILLISECOND, lateness=parts)
    return task.left_running() if attempt.status is Status.RUNNING else task
