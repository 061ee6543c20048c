"""One attempt of a run: how far it has come, what its action can raise, and how it ends."""

import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import LATEST, MILLISECOND, ceil_to_minute
from duebell_shared.payloads import payload as payloads
from duebell_shared.queue.items import check_size, with_fitting_events
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import is_reserved
from duebell_shared.tasks.history import Failure, Lateness
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import MAX_RESULT, QueueKey, Task
from duebell_worker.actions.action import Action, TimedOut
from duebell_worker.actions.parameters import InvalidPayload
from duebell_worker.run.report import Outcome

_MESSAGE, _TRACEBACK = 1_000, 4_000

#: The shortest snooze. So an action that snoozes each time keeps no run busy.
_SHORTEST_SNOOZE = timedelta(seconds=1)


class Retry(Exception):
    """Raised by an action: this attempt has failed. The next one, if one is left, comes after this time."""

    def __init__(self, reason: str = "", *, after: timedelta | float) -> None:
        """`after` is a timedelta or seconds."""
        super().__init__(reason or "the action asked for a retry")
        self.after = after if isinstance(after, timedelta) else timedelta(seconds=after)


class Abort(Exception):
    """Raised by an action: this task has failed, and trying again would not help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class Snooze(Exception):
    """Raised by an action: run the task again after this long. It is no failure, and no attempt is used up.

    The failures so far stay. A recurring task puts off only this occurrence. An action that gives up after
    some snoozes counts them in the payload.
    """

    def __init__(self, after: timedelta | float, payload: object = None) -> None:
        """`after` is a timedelta or seconds; less than a second counts as one.

        `payload`, as `Editor.add` takes it, replaces the task's payload; None keeps it. With a payload, the
        attempt of a recurring task fails: all its occurrences share one payload. Raises InvalidTask.
        """
        super().__init__("the action put the task off")
        self.after = after if isinstance(after, timedelta) else timedelta(seconds=after)
        self.payload_json = None if payload is None else payloads.encode(payload)


class Unfinished(Exception):
    """The error of an attempt that was still running when its run, or the whole process, had to leave."""

    def __init__(self, *, is_process: bool = False) -> None:
        super().__init__(
            "was still running when the worker's process had to end: give it longer with --drain-seconds"
            if is_process
            else "was still running when the worker's time was up: shorten it, or lengthen the time-out"
        )


class Undelivered(Exception):
    """A delivery was not accepted this time; the next attempt may be."""


class Undeliverable(Abort):
    """A delivery was refused for good. With `of_target`, any other to this target would be refused, too."""

    def __init__(self, reason: str, *, of_target: bool = False) -> None:
        super().__init__(reason)
        self.of_target = of_target


class Ended(NamedTuple):
    """The end of an attempt: the task as it was started, the task as it is now, and its outcome."""

    started: Task
    task: Task
    outcome: Outcome


class KeptResult(NamedTuple):
    """The result of an action as JSON text, or the reason why it is not kept; else both None."""

    json: str | None = None
    error: str | None = None


NO_RESULT = KeptResult()


def result_of(value: object) -> KeptResult:
    try:
        text = payloads.encode(value, is_result=True)
    except Exception as error:  # noqa: BLE001 (the user's own types decide what they raise)
        reason = error.reason if isinstance(error, InvalidTask) else str(describe_error(error))
        return KeptResult(
            error=f"result{reason.removeprefix('payload')}" if reason[:7] == "payload" else reason
        )
    if (size := len(text.encode())) > MAX_RESULT:
        return KeptResult(error=f"is {size:,} bytes as JSON, at most {MAX_RESULT:,} are kept")
    return KeptResult(text)


def without_attempt(
    task: Task, actions: Mapping[str, Action[..., Any]], *, now: datetime, keep: RetentionPolicy
) -> Ended | None:
    """End a claimed task for which no attempt is made; return None if one is to be made.

    An attempt beyond the action's limit means that the process died during the last one.
    """
    action = actions.get(task.action)
    if action is None:
        names = sorted(name for name in actions if not is_reserved(name))
        has = f"it has {', '.join(names) or 'none at all'}"
        said = f"this worker has no action {quoted(task.action)}; {has}. Deploy one that has it, then retry"
        failure = Failure(type="UnknownAction", message=said)
        return Ended(task, task.failed(failure, now=now, keep=keep), Outcome.FAILED)
    if action.is_used_up(task):
        said = f"the process ended while it ran this task, and all {action.attempts} attempts are used up"
        died = Failure(type="WorkerDied", message=said)
        failed = task.failed(died, now=now, keep=keep, attempt=action.attempts, on_failed=action.on_failed)
        return Ended(task, failed, Outcome.FAILED)
    if task.is_too_late:
        return Ended(task, task.expired(now=now, keep=keep), Outcome.EXPIRED)
    return None


def after_attempt(
    task: Task,
    error: BaseException | None,
    action: Action[..., Any],
    *,
    now: datetime,
    keep: RetentionPolicy,
    result: KeptResult = NO_RESULT,
) -> Ended:
    """End an attempt that raised `error`, or nothing."""
    if error is None:
        done = task.done(now=now, keep=keep, result_json=result.json, result_error=result.error)
        return Ended(task, done, Outcome.DONE)
    if isinstance(error, Snooze):
        try:
            return Ended(task, _snoozed(task, error, now), Outcome.SNOOZED)
        except InvalidTask as invalid:
            error = invalid
    failure = describe_error(error)
    if isinstance(error, Abort | InvalidPayload) or task.attempt == action.attempts or not task.can_wait:
        failed = task.failed(failure, now=now, keep=keep, on_failed=action.on_failed)
        return Ended(task, with_fitting_events(failed), Outcome.FAILED)
    pause = error.after if isinstance(error, Retry) else action.backoff.wait(task.attempt)
    pause = max(min(pause, LATEST - now), timedelta(0))
    return Ended(task, with_fitting_events(task.to_retry(now + pause, failure, now=now)), Outcome.RETRIED)


def _snoozed(task: Task, snooze: Snooze, now: datetime) -> Task:
    """The task as its action put it off. Raises InvalidTask if it cannot be."""
    if not task.can_wait:
        raise InvalidTask("after", "cannot be heeded: too many occurrences of this task wait already")
    if snooze.payload_json is not None and task.recurrence:
        raise InvalidTask(
            "payload",
            "cannot be replaced by Snooze, because later occurrences of this recurring task would get it, "
            "too: add a task of its own for the rest of the work",
        )
    pause = min(max(snooze.after, _SHORTEST_SNOOZE), LATEST - now)
    return check_size(with_fitting_events(task.snoozed(now + pause, snooze.payload_json, now=now)))


def describe_error(error: BaseException) -> Failure:
    """The error's type, its message and the end of its traceback."""
    needs_no_trace = isinstance(error, Abort | Retry | InvalidPayload | TimedOut | Unfinished | Undelivered)
    lines = "" if needs_no_trace else "".join(traceback.format_exception(error))
    return Failure(
        type=type(error).__qualname__,
        message=_message_of(error)[:_MESSAGE],
        traceback=lines[-_TRACEBACK:],
        module=_module_of(type(error)),
    )


def _module_of(kind: type) -> str | UnsetType:
    """The module that a user's type of error can be imported from."""
    name = kind.__module__
    is_users = name != "builtins" and not name.startswith("duebell")
    is_there = getattr(sys.modules.get(name), kind.__qualname__, None) is kind
    return name if is_users and is_there else UNSET


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as strange:  # noqa: BLE001 (the user's own type of error; it must be recorded)
        return f"(its message could not be made: {type(strange).__qualname__})"


#: An attempt that starts sooner has no parts of lateness: nothing is stored for it.
_WORTH_TELLING = timedelta(seconds=1)

#: The first ring for a time comes within two minutes: at least a minute ahead, in a whole minute.
_FIRST_RING = timedelta(minutes=2)

#: The event of the attempt whose action runs here, if that is stoppable.
STOPPING: ContextVar[threading.Event | None] = ContextVar("duebell_stopping", default=None)


def stopping() -> threading.Event:
    """The event that is set when the running action must stop; for actions with `stoppable=True`.

    It is set when the task is cancelled, moved or replaced, and at the time-out. It is also set when the
    lease is lost, and when the process must end. Raises RuntimeError outside of such an action.
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

    stored   the task as it is stored, from its claim on. It is either of two while the write that records its
             last attempt as begun is under way, or if the result of that write is unknown
    started  the task as its action was called with it
    recorded  its recorded end, while the follow-up that the task owes is added
    over     done when the attempt is over. Its result is `ended` as it was recorded; None if the task could
             not be claimed, or the attempt was not made
    is_ahead   whether it waited for its action's limit, and is started before its place in the queue
    has_place  whether it takes one of the run's places. It takes none while it waits to go in a batch, or for
               other attempts of its action to end
    ends_by    the end of its time-out, once its action is called; None if it has none
    stop       the event that tells its action to stop; None if that is not stoppable
    waits_since  the time from which it waited in the run for its action's limit; None if it did not
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

    @property
    def keeps_place(self) -> bool:
        """Tell whether its action, for which no run waits any more, still keeps a place."""
        return self.has_place and not self.has_returned

    def has_lost_place(self, now: datetime) -> bool:
        """Tell whether its action keeps a place although its time-out is over."""
        return self.keeps_place and self.ends_by is not None and self.ends_by <= now

    def tell_to_stop(self) -> None:
        if self.stop:
            self.stop.set()

    def set_over(self, result: Ended | BaseException | None) -> None:
        if isinstance(result, BaseException):
            self.over.set_exception(result)
        else:
            self.over.set_result(result)

    @contextmanager
    def ending_at_error(self) -> Iterator[None]:
        """End only this attempt with an error that is raised inside, by a bug or an item edited by hand."""
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
        started = task.started_at + attempt.waited
        parts = lateness_of(started, late, attempt.wake, limited=limited)
        task = replace(task, started_at=started, lateness_ms=late // MILLISECOND, lateness=parts)
    return task.left_running() if attempt.status is Status.RUNNING else task


def lateness_of(
    started: datetime, late: timedelta, wake: Wake, *, limited: timedelta = timedelta(0)
) -> Lateness | None:
    """The parts of `late`, by which the attempt was `started` after its time; None if that is under a second.

    limited  the time for which it waited for its action's limit
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
