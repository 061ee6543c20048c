"""Performs attempts in the pool's threads: claims tasks, calls their actions, records the outcomes.

Several threads' writes at the same time go in one batch. Nothing is written once the lease has run out. The
run waits for `over` of each attempt, so `over` is always set in the end.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from duebell_shared.errors import AwsError, AwsUnavailable
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.tasks.task import Task
from duebell_worker.actions.action import TimedOut
from duebell_worker.log import LogLine, attempt_of
from duebell_worker.run.attempt import (
    NO_RESULT,
    STOPPING,
    Attempt,
    Ended,
    KeptResult,
    Snooze,
    Unfinished,
    after_attempt,
    as_run,
    result_of,
    without_attempt,
)
from duebell_worker.run.context import RunContext
from duebell_worker.run.follow_ups import FollowUps
from duebell_worker.run.lanes import Batcher, Lanes
from duebell_worker.run.lease import Lease
from duebell_worker.run.limiter import Limiter
from duebell_worker.run.report import Outcome

if TYPE_CHECKING:
    from duebell_shared.tracing import AttemptSpan

#: A task whose calendar cannot be read is claimed again after this time: each claim costs two writes.
_AGAIN = timedelta(seconds=10)

#: The calls to one target at a time, if each sends several messages: a call to AWS is mostly waiting.
_BATCHES = 4

_Step = Callable[..., None]


class Performer:
    """Takes attempts from the claim to the record, until it is told to `leave`."""

    def __init__(self, context: RunContext, lease: Lease, lanes: Lanes) -> None:
        self._context = context
        self._actions = context.actions
        self._keep = context.backend.settings.retention_policy
        self._lease = lease
        self._lanes = lanes
        self._lock = threading.Lock()
        self._has_left = False
        self._beginnings = Batcher(self._begin, most=AT_ONCE)
        self._outcomes = Batcher(self.record, most=AT_ONCE)
        self.limiter = Limiter(
            context,
            lease,
            start=self._submit,
            put_back=lambda attempts: self._outcomes(*attempts),
            skip=lambda key: lanes.trouble.skip(key, until=key.queued),
        )
        self._sends: dict[str, Batcher[Attempt]] = {
            delivery.to: Batcher(
                lambda sent: self._send(*sent),
                most=delivery.target.kind.most_at_once,
                side_by_side=_BATCHES,
            )
            for action in context.actions.values()
            if action.batch and (delivery := action.delivery)
        }

    @cached_property
    def follow_ups(self) -> FollowUps:
        return FollowUps(self._context, self._lanes)

    def claim(self, attempts: Sequence[Attempt]) -> None:
        """Claim these tasks, all of one status, and submit their attempts."""
        found = self._lanes.claim([attempt.key for attempt in attempts], attempts[0].status)
        claimed = []
        for attempt, task in zip(attempts, found, strict=True):
            # Problem: the process may have stood still for minutes. Solution: check the lease once more.
            if isinstance(task, Task) and self._lease.is_held():
                attempt.stored = (task,)
                claimed.append(attempt)
            else:
                attempt.set_over(task if isinstance(task, BaseException) else None)
        if any(attempt.stored[0].recurrence for attempt in claimed):
            claimed = self._with_calendars(claimed)
        self.limiter.take(claimed)

    def _with_calendars(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Give the schedules of these tasks their calendars; give back a task if they cannot be read."""
        ready = []
        for attempt in attempts:
            task = attempt.stored[-1]
            try:
                if not self._context.backend.attach_calendar(task):
                    self._context.log(LogLine.CALENDAR_MISSING, id=task.id)
                ready.append(attempt)
            except AwsError as error:
                self._context.warn(LogLine.CALENDAR_NOT_READ, error, id=task.id)
                self._lanes.trouble.skip(attempt.key, until=self._context.now() + _AGAIN)
                attempt.ended = Ended(as_run(attempt), task.given_back(), Outcome.LIMITED)
                self._outcomes(attempt)
        return ready

    def _submit(self, attempts: Iterable[Attempt]) -> None:
        for together in self._by_target(attempts):
            self._context.pool.submit(self._go_on, together)

    def _by_target(self, attempts: Iterable[Attempt]) -> Iterable[Sequence[Attempt]]:
        """Group the attempts that go in batches to one target; every other attempt is alone."""
        groups: dict[object, list[Attempt]] = {}
        for attempt in attempts:
            action = self._actions.get(attempt.stored[-1].action)
            if action and action.batch:
                attempt.has_place = False
            groups.setdefault((action and action.batch) or attempt, []).append(attempt)
        return groups.values()

    def _step_of(self, task: Task) -> _Step:
        """The step that makes an attempt at this task."""
        action = self._actions[task.action]
        if action.batch:
            return self._sends[action.batch]
        return self._send if action.delivery else self._perform

    def _go_on(self, attempts: Sequence[Attempt]) -> None:
        steps: dict[_Step, list[Attempt]] = {}
        for attempt in attempts:
            with attempt.ending_at_error():
                steps.setdefault(self._next_step(attempt), []).append(attempt)
        for step, those in steps.items():
            step(*those)

    def _next_step(self, attempt: Attempt) -> _Step:
        """Decide whether the attempt is made. A last attempt is first recorded as begun."""
        [claimed] = attempt.stored
        attempt.ended = self._ended_without(attempt)
        if attempt.ended:
            return self._outcomes
        action = self._actions[claimed.action]
        if action.is_last_attempt(claimed):
            attempt.stored = (claimed, claimed.beginning(action.attempts))
            return self._beginnings
        return self._step_of(claimed)

    def _ended_without(self, attempt: Attempt) -> Ended | None:
        return without_attempt(as_run(attempt), self._actions, now=self._context.now(), keep=self._keep)

    def _begin(self, attempts: Sequence[Attempt]) -> None:
        """Record these last attempts as begun, and perform those that were recorded.

        No other run performs a recorded attempt, so it is performed here even if the lease is lost.
        """
        changes = [(claimed, begun) for claimed, begun in (attempt.stored for attempt in attempts)]
        begun = []
        for attempt, result in zip(attempts, self._lanes.save(changes), strict=True):
            with attempt.ending_at_error():
                if result is True:
                    attempt.stored = attempt.stored[-1:]
                if result is True or (isinstance(result, AwsUnavailable) and self._may_have_begun(attempt)):
                    begun.append(attempt)
                else:  # refused; or the lease is lost, or the task was changed meanwhile
                    attempt.set_over(result if isinstance(result, BaseException) else None)
        for together in self._by_target(begun):
            self._context.pool.submit(self._step_of(together[0].stored[-1]), *together)

    def _may_have_begun(self, attempt: Attempt) -> bool:
        """Tell whether the attempt may be recorded as begun. Raises NotDeployed, UnreadableTask."""
        begun = attempt.stored[-1]
        try:
            return self._context.backend.store.get(begun.lane, begun.id) == begun
        except AwsError:
            return True

    def _perform(self, attempt: Attempt) -> None:
        """Call the task's action, and have the outcome recorded.

        An attempt that ends after its time-out has failed. `time_out` may have ended it before.
        """
        [started] = self._started([attempt])
        if not started:
            return
        with attempt.ending_at_error():
            error = self._call(started, attempt)
            with self._lock if self._actions[started.action].timeout else nullcontext():
                attempt.has_returned = True
                if attempt.ended:
                    return
                attempt.ended = self._ended_with(started, error, attempt.result)
        if attempt.ended:
            self._outcomes(attempt)

    def time_out(self, attempts: Iterable[Attempt]) -> None:
        """End these attempts, whose time-outs are over, as failed. For the run's own thread.

        Each keeps its thread, and so its place, until its action returns. They may keep all threads of the
        pool, so this thread records the outcomes.
        """
        late = []
        for attempt in attempts:
            with self._lock:
                if attempt.ended or not (started := attempt.started):
                    continue
                if timeout := self._actions[started.action].timeout:
                    attempt.ended = self._ended_with(started, TimedOut(timeout))
                    late.append(attempt)
        if not late:
            return
        overrunning = self._context.overrunning
        overrunning[:] = [one for one in overrunning if one.keeps_place] + late
        now = self._context.now()
        lost = sum(attempt.has_lost_place(now) for attempt in overrunning)
        for attempt in late:
            attempt.tell_to_stop()
            self._context.log(LogLine.TIMED_OUT, id=attempt.key.id, lost=lost)
        if self._context.host:
            self._context.host.note_lost_places()
        self.record(late)

    def _started(self, attempts: Sequence[Attempt]) -> Sequence[Task | None]:
        """Note that these attempts are started, unless the run has left; return their tasks."""
        for attempt in attempts:
            with attempt.ending_at_error():
                task = as_run(attempt)
                with self._lock:
                    if not self._has_left:
                        action = self._actions[task.action]
                        if action.timeout:
                            attempt.ends_by = self._context.now() + action.timeout
                        if action.stoppable:
                            attempt.stop = threading.Event()
                        attempt.started = task
                if not attempt.started:  # not under the lock: callbacks of `over` write to the table
                    attempt.over.set_result(None)
        return [attempt.started for attempt in attempts]

    def _call(self, task: Task, attempt: Attempt) -> BaseException | None:
        """Call the action; return the error that it raised, or that it took too long."""
        action = self._actions[task.action]
        token = STOPPING.set(attempt.stop)
        error: BaseException | None = None
        spans: Sequence[AttemptSpan] = ()
        try:
            spans = _spans_of([task])
            with attempt_of(task), spans[0].current() if spans else nullcontext():
                value = action.handle(task)
                if action.keep_result:
                    attempt.result = result_of(value)
        except BaseException as raised:  # noqa: BLE001 (no action may end the run, not even by sys.exit)
            error = raised
        finally:
            STOPPING.reset(token)
        if action.timeout and attempt.ends_by and attempt.ends_by <= self._context.now():
            error = TimedOut(action.timeout)
        _end(spans, [error])
        return error

    def _send(self, *attempts: Attempt) -> None:
        """Send these tasks, all to one target, and have the outcomes recorded."""
        tasks = zip(attempts, self._started(attempts), strict=True)
        started = [(attempt, task) for attempt, task in tasks if task]
        if not started:
            return
        to_send = [task for _, task in started]
        spans: Sequence[AttemptSpan] = ()
        errors: Sequence[BaseException | None]
        try:
            spans = _spans_of(to_send)
            if spans:
                to_send = [
                    replace(task, traceparent=self._passed_on(task, span))
                    for task, span in zip(to_send, spans, strict=True)
                ]
            assert self._context.deliver  # noqa: S101 (a worker with deliveries has it)
            deliveries = ((self._actions[task.action].delivery, task) for task in to_send)
            errors = self._context.deliver([(delivery, task) for delivery, task in deliveries if delivery])
        except BaseException as raised:  # noqa: BLE001 (a bug, of ours or of a tracer)
            errors = [raised] * len(started)
        _end(spans, errors)
        for (attempt, task), error in zip(started, errors, strict=True):
            attempt.has_returned = True
            with attempt.ending_at_error():
                attempt.ended = self._ended_with(task, error)
        self._outcomes(*(attempt for attempt, _ in started if attempt.ended))

    def _passed_on(self, task: Task, span: "AttemptSpan") -> str | None:
        """The attempt's trace context, or that of the add where each attempt must make the same call."""
        delivery = self._actions[task.action].delivery
        return (None if delivery and delivery.target.kind.is_run else span.traceparent) or task.traceparent

    def _ended_with(
        self, started: Task, error: BaseException | None, result: KeptResult = NO_RESULT
    ) -> Ended:
        action, now = self._actions[started.action], self._context.now()
        if result.error and error is None:
            self._context.log(LogLine.RESULT_NOT_KEPT, id=started.id, error=result.error)
        return after_attempt(started, error, action, now=now, keep=self._keep, result=result)

    def record(self, attempts: Sequence[Attempt]) -> None:
        """Record the outcomes of these attempts, and add the follow-ups that their tasks owe then."""
        with_follow_up = []
        for attempt, recorded in self._save([(one, one.ended) for one in attempts if one.ended]):
            if (
                isinstance(recorded, Ended)
                and recorded.task.owes
                and recorded.outcome is not Outcome.SUPERSEDED
            ):
                attempt.recorded = recorded
                with_follow_up.append((attempt, recorded))
            else:
                attempt.set_over(recorded)
        if not with_follow_up:
            return
        try:
            tasks = self.follow_ups.add([recorded.task for _, recorded in with_follow_up])
        except BaseException as error:  # noqa: BLE001 (the process is told to end; the run must not wait)
            for attempt, _ in with_follow_up:
                attempt.set_over(error)
        else:
            for (attempt, recorded), task in zip(with_follow_up, tasks, strict=True):
                attempt.set_over(recorded._replace(task=task))

    def _save(
        self, ended: Sequence[tuple[Attempt, Ended]]
    ) -> Iterator[tuple[Attempt, Ended | BaseException | None]]:
        """Write the outcomes; one whose task was changed meanwhile is superseded."""
        kept = [one.task if one.task.is_kept(self._keep) else None for _, one in ended]
        stored = [attempt.stored[-1] for attempt, _ in ended]
        saved = self._lanes.save(list(zip(stored, kept, strict=True)))
        for (attempt, one), new, result in zip(ended, kept, saved, strict=True):
            if result is False and attempt.stored[1:]:  # it was not recorded as begun
                [result] = self._lanes.save([(attempt.stored[0], new)])  # noqa: PLW2901
            if isinstance(result, bool):
                yield attempt, one if result else one._replace(outcome=Outcome.SUPERSEDED)
            else:
                yield attempt, result

    def leave(self, attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, Ended | BaseException | None]]:
        """Call no more actions, and end these attempts; return how they are recorded.

        Attempts that still run are recorded as failed. Tasks that were claimed and not started are given
        back, and their attempts do not count.
        """
        with self._lock:
            self._has_left = True
        ended, to_give_back = [], []
        for attempt in attempts:
            if attempt.recorded:
                yield attempt, attempt.recorded
            elif attempt.stored:
                if one := self._ended_by_leaving(attempt):
                    ended.append((attempt, one))
                else:
                    to_give_back.append((attempt, attempt.stored[0]))
        while to_give_back:
            saved = self._lanes.save([(task, task.given_back()) for _, task in to_give_back])
            for (attempt, _), result in zip(to_give_back, saved, strict=True):
                yield attempt, result if isinstance(result, BaseException) else None
            # The last attempt of some of them may have been recorded as begun meanwhile.
            newest = [(attempt, attempt.stored[-1]) for attempt, _ in to_give_back]
            to_give_back = [new for new, old in zip(newest, to_give_back, strict=True) if new != old]
        yield from self._save(ended)

    def _ended_by_leaving(self, attempt: Attempt) -> Ended | None:
        """Return the end of this attempt, Unfinished if it still runs; None if it was not begun."""
        if attempt.ended is None and attempt.started:
            if host := self._context.host:
                host.unfinished += 1
            return self._ended_with(attempt.started, Unfinished(is_process=host is not None))
        return attempt.ended or self._ended_without(attempt)


def _spans_of(tasks: Sequence[Task]) -> "Sequence[AttemptSpan]":
    """The spans of attempts at these tasks; none where the application does not use OpenTelemetry."""
    if "opentelemetry.trace" not in sys.modules:
        return ()
    from duebell_shared.tracing import AttemptSpan  # noqa: PLC0415 (few applications have traces)

    return [AttemptSpan(task) for task in tasks]


def _end(spans: "Sequence[AttemptSpan]", errors: Sequence[BaseException | None]) -> None:
    for span, error in zip(spans, errors, strict=False):
        span.end(None if isinstance(error, Snooze) else error)
