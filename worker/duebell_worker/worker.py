"""The worker: a set of actions, and the run that the rule's ring starts."""

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from itertools import count
from random import Random, random
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, Unpack, overload

import msgspec

from duebell_shared.aws.aws_session import client_maker
from duebell_shared.backend import Backend
from duebell_shared.backoff import pause
from duebell_shared.bell.run_rules import RESERVE
from duebell_shared.errors import AwsUnavailable, InvalidSettings, NotArmed
from duebell_shared.instants import parse, time_text
from duebell_shared.quoting import quoted
from duebell_shared.settings import Settings
from duebell_shared.tasks.checks import RESERVED, is_reserved
from duebell_shared.tasks.fields import DeclaredFields
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.worker_record import DeclaredTask

from .actions.action import Action
from .actions.handles import (
    BUILT_IN,
    ActionDecorator,
    ActionOptions,
    ArgumentsAction,
    PayloadAction,
    declared_task,
    delivery_action,
    name_of,
    new_action,
)
from .actions.registration import Registration
from .log import LogLine, emit, invocation
from .metrics import Metrics
from .run.attempt import Attempt, Wake
from .run.context import Deliver, Host, Pool, RunContext, ThreadPool, end_of_run
from .run.lease import new_run_id
from .run.report import RunReport
from .run.run import execute

if TYPE_CHECKING:
    import boto3

    from duebell_editor.library.editor import Editor
    from duebell_shared.deliveries.delivery import Delivery, DeliveryOptions

_A = ParamSpec("_A")
_R = TypeVar("_R")
_T = TypeVar("_T")
_Action = TypeVar("_Action", bound=Action[..., Any])


#: The environment variable that declares deliveries; the module that reads it is loaded where it is set.
_DELIVERIES = "DUEBELL_DELIVERIES"

#: The sources of the events of rules and of schedules.
_BELLS = {"aws.events", "aws.scheduler"}

#: The times that a run is tried again in one invocation, if AWS is unavailable.
_MORE_TRIES = 5


class LambdaContext(Protocol):
    """The context that Lambda gives a handler, as far as the worker uses it."""

    def get_remaining_time_in_millis(self) -> int:
        """The time until Lambda ends this invocation, in milliseconds."""


class Worker:
    """A set of actions and how to run them. Making one makes no call and needs no AWS settings yet."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        session: "boto3.Session | None" = None,
        backend: Backend | None = None,
        concurrency: int = 16,
        pool: Callable[[int], Pool] = ThreadPool,
    ) -> None:
        """Settings default to the environment's, the session to the AWS SDK's own.

        concurrency  the most actions that run at a time
        backend      replaces settings and session, for tests with a clock of their own
        pool         makes the pool of threads that actions run in; also for tests
        """
        if concurrency < 1:
            raise ValueError(f"concurrency must be 1 or more, not {concurrency}")
        self._settings = settings
        self._session = session
        self._given_backend = backend
        self._concurrency = concurrency
        self._make_pool = pool
        self._actions: dict[str, Action[..., Any]] = {}
        self._has_declared_deliveries = False
        self._declared: dict[str, DeclaredTask] = {}
        self._is_registered = False
        self._editor: Editor | None = None
        self._deliver: Deliver | None = None
        self._overrunning: list[Attempt] = []

    @classmethod
    def from_env(cls) -> Self:
        """A worker set up by the `DUEBELL_…` variables and the AWS SDK's own, read when it first runs."""
        return cls()

    def over(
        self, backend: Backend, *, pool: Callable[[int], Pool] = ThreadPool, deliver: Deliver | None = None
    ) -> Self:
        """A worker with the same actions over another queue and rule, for tests.

        deliver  stands in for the services that deliveries are sent to
        """
        other = type(self)(backend=backend, concurrency=self._concurrency, pool=pool)
        other._actions, other._declared = self._actions, self._declared  # noqa: SLF001 (its own class)
        other._deliver = deliver  # noqa: SLF001
        return other

    def reuse(self, backend: Backend) -> None:
        """Use this backend, made of the environment, unless this worker has settings or a session of its own.

        Another one would make a cold start a tenth of a second longer.
        """
        if self._settings or self._session or self._given_backend or "backend" in vars(self):
            return
        if Settings.from_env() == backend.settings:
            vars(self)["backend"] = backend

    def register(self, registration: Registration | None = None) -> None:
        """Make the actions known in the queue, for clients and pages; `handler` does so at its first call.

        registration  the start of this worker, if it was begun before the actions were imported

        Raises InvalidSettings.
        """
        started = registration or Registration(self.backend)
        started.succeed(self._actions, self._declared.values())
        self._is_registered = True

    @cached_property
    def backend(self) -> Backend:
        """The queue and the rule, connected at the first use. Raises InvalidSettings."""
        return self._given_backend or Backend.connect(self._settings or Settings.from_env(), self._session)

    @property
    def editor(self) -> "Editor":
        """The editor that the actions' `add` uses: over this worker's queue, unless another was set.

        Raises InvalidSettings.
        """
        if self._editor is None:
            from duebell_editor.library.editor import Editor  # noqa: PLC0415 (a worker that adds nothing loads no editor)

            self._editor = Editor(backend=self.backend)
        return self._editor

    def set_editor(self, editor: "Editor | None") -> "Editor | None":
        """Have the actions' `add` use another editor: one that says who adds, or one over another queue.

        Returns the editor that was set before. None stands for the worker's own editor.
        """
        before, self._editor = self._editor, editor
        return before

    @overload
    def action(self, name: str | None = None, **options: Unpack[ActionOptions]) -> ActionDecorator: ...

    # The function itself, as in ActionDecorator.
    @overload
    def action(self, name: Callable[[object], _R], /) -> PayloadAction[Any, [Any], _R]: ...  # type: ignore[overload-overlap]

    @overload
    def action(self, name: Callable[[_T, Task], _R], /) -> PayloadAction[_T, [_T, Task], _R]: ...  # type: ignore[overload-overlap]

    @overload
    def action(  # type: ignore[overload-overlap]
        self, name: Callable[Concatenate[Task, _A], _R], /
    ) -> ArgumentsAction[_A, Concatenate[Task, _A], _R]: ...

    @overload
    def action(self, name: Callable[[_T], _R], /) -> PayloadAction[_T, [_T], _R]: ...

    @overload
    def action(self, name: Callable[_A, _R], /) -> ArgumentsAction[_A, _A, _R]: ...

    def action(self, name: str | Callable[..., Any] | None = None, **options: Unpack[ActionOptions]) -> Any:
        """Register a function as the action of this name. It stays callable as it is, and can `add` tasks.

        Without a name, or bare as `@worker.action`, the action has the name of the function.

        It is called with the payload and the task, or the payload, or nothing. Without a payload, it may take
        the task, and the payload's fields by keyword: `def put_on_sale(task: Task, *, item: int)`. It may be
        `async`. Tasks run at least once, so make it idempotent: `task.id` and `task.attempt` help.

        An error that it raises is a failed attempt. It is retried after the `backoff`, until all `attempts`
        are used up; there are five by default. `Retry` and `Abort` decide otherwise. A task that has failed
        for good is given to the action or delivery `on_failed`, unless the task says otherwise: see
        `Editor.add`.

        An attempt that takes longer than `timeout` has failed then, as `TimedOut`. A later result is not
        recorded. A coroutine is cancelled; another function keeps its thread and place until it returns. An
        attempt of a `stoppable` action is told when it must stop: see `stopping`.

        With `keep_result`, its return value is kept as `task.result`, if that is at most 4 KB as JSON. If it
        cannot be kept, `task.result_error` says why, and the task is done all the same.

        At most `at_most` attempts are under way at a time, and `per_second` started a second, over all runs
        together. Nothing starts in hours that are `closed`, such as "22:00-06:00 Europe/Berlin" or "sat,sun".
        `Editor.limit` overrides all three. Tasks that may not start wait, and use up no attempt.

        Raises ValueError, TypeError or InvalidTask if it cannot be an action. Names that start with
        `duebell.` are reserved.
        """

        def register(function: Callable[..., Any]) -> Action[..., Any]:
            chosen = name_of(function) if name is None or callable(name) else name
            return self._add(new_action(chosen, function, lambda: self.editor, **options))

        return register(name) if callable(name) else register

    def deliver(
        self, name: str, to: str, **options: "Unpack[DeliveryOptions]"
    ) -> PayloadAction[Any, [Any], None]:
        """Register an action of this name that sends its tasks to a service, instead of calling a function.

        to           the ARN of a queue, topic, event bus, Lambda function, state machine or ECS task
                     definition; or an https URL
        form         "payload" or "envelope"; if not given, the envelope for buses and the payload for others
        attempts     the most attempts at a task, with `backoff` between; 5 if not given
        secret       for https: ARN of the secret, or of the SSM parameter, whose text is the signature's key
        detail_type  for buses: the detail-type of the events
        keep_answers  for https: whether a failed attempt tells how the answer begins
        run          for task definitions: the cluster, subnets and the like, see docs/deliveries.md
        at_most, per_second, closed, on_failed  as of `action`

        A task is done when the service has accepted it. Returns an action that takes any payload.
        Raises ValueError if the name is taken, and InvalidSettings for what cannot be delivered.
        """
        from duebell_shared.deliveries.delivery import delivery_of  # noqa: PLC0415 (most have no delivery)

        delivery = delivery_of({"name": name, "to": to, **options})
        return self._add(delivery_action(delivery, lambda: self.editor))

    @property
    def deliveries(self) -> "tuple[Delivery, ...]":
        """The deliveries that are registered."""
        return tuple(action.delivery for action in self._actions.values() if action.delivery)

    def add_declared_deliveries(self) -> None:
        """Register the deliveries that DUEBELL_DELIVERIES declares, once. Raises InvalidSettings."""
        text = "" if self._has_declared_deliveries else os.environ.get(_DELIVERIES, "")
        if text:
            from duebell_shared.deliveries.delivery import deliveries_in  # noqa: PLC0415

            for delivery in deliveries_in(text).values():
                try:
                    self._add(delivery_action(delivery, lambda: self.editor))
                except ValueError as error:
                    raise InvalidSettings(_DELIVERIES, f"{error}; rename one of the two") from None
        self._has_declared_deliveries = True

    def _add(self, action: _Action) -> _Action:
        """Register an action, or the one of a delivery. Raises ValueError if its name is not free."""
        name = action.name
        if is_reserved(name):
            raise ValueError(
                f"action {quoted(name)}: names that start with {quoted(RESERVED)} are duebell's own"
            )
        if name in self._actions:
            raise ValueError(f"there is an action {quoted(name)} already")
        self._actions[name] = action
        return action

    def _deliverer(self) -> Deliver | None:
        """The sender of the deliveries; None if there are none."""
        if self._deliver is None and self.deliveries:
            from duebell_worker.deliveries.deliverer import Deliverer  # noqa: PLC0415

            self._deliver = Deliverer(self.backend.client or client_maker(None), self.backend.clock)
        return self._deliver

    def recurring(
        self, schedule: str, *, id: str | None = None, **options: Unpack[DeclaredFields]
    ) -> Callable[[_Action], _Action]:
        """Declare a recurring task of the action below; its id is the action's name if none is given.

        It stands above `@worker.action`: `@worker.recurring("cron(0 9 ? * * *)", timezone="Asia/Tokyo")`.
        `duebell deploy`, `duebell sync` and `Editor.sync` make the queue as the code declares it. They add
        and change tasks, and cancel tasks that are no longer declared. A paused task stays paused. The other
        arguments are those of `Editor.add`, without `start`, `end`, `max_runs` and those of one-off tasks.

        Raises TypeError, ValueError, InvalidTask and InvalidSchedule.
        """

        def declare(action: _Action) -> _Action:
            if not isinstance(action, Action) or self._actions.get(action.name) is not action:
                raise TypeError("@worker.recurring stands above @worker.action of the same worker")
            task = declared_task(action, id=id, schedule=schedule, **options)
            if task.id in self._declared:
                raise ValueError(
                    f"a recurring task {quoted(task.id)} is declared twice: give each an id of its own"
                )
            self._declared[task.id] = task
            return action

        return declare

    def run(self, *, time_left: timedelta | None = None) -> RunReport:
        """Run everything that is due, and re-arm the rule. Returns what was done.

        time_left  stop in good time before this is over; the next run does the rest. Until then, wait for
                   tasks due soon if the precision is "second", and hand lanes over if too much is due

        Raises AwsError, NotArmed and NotDeployed; the tasks that are left are then run when the lease ends.
        """
        return self._run(uuid.uuid4().hex, self.backend, time_left)

    def handler(self, event: object, context: LambdaContext) -> dict[str, Any]:
        """The Lambda handler: one run within the invocation's time, of the lanes that the event says, or all.

        The run's id is `<request id>.<nonce>`. If another try of the same request holds lanes, that try has
        most often died. Then this one first waits for the end of that lease: about a minute, when Lambda
        tries again. If AWS is unavailable, the run is tried again: the ring that started it does not come
        twice, and Lambda invokes only three times. Raises AwsError, NotArmed and NotDeployed in the end.
        """
        with invocation(getattr(context, "aws_request_id", None)):
            if not self._is_registered:
                self.register()
            # All tries are one run. A context that stands in for Lambda's may have no request id.
            id = new_run_id(getattr(context, "aws_request_id", "") or uuid.uuid4().hex)
            for tries in count():
                try:
                    time_left, lanes = _time_left(context), lanes_in(event)
                    report = self._run(id, self.backend, time_left, lanes, rang_at=rang_at(event))
                    break
                except (AwsUnavailable, NotArmed) as error:
                    if tries == _MORE_TRIES or _time_left(context) < 2 * RESERVE:
                        raise  # and Lambda invokes again
                    wait = pause(tries, 2.0, 32.0, 4.0)
                    emit(LogLine.RUN_FAILED, run=id, error=str(error), trying_again_in=wait)
                    self.backend.sleep(wait)
        answer: dict[str, Any] = msgspec.to_builtins(report, enc_hook=time_text)
        return answer

    @property
    def kept_places(self) -> int:
        """The number of places in this process that are kept by attempts for which no run waits any more."""
        return sum(attempt.keeps_place for attempt in self._overrunning)

    @property
    def lost_places(self) -> int:
        """The number of `kept_places` whose attempts have gone on after their time-out."""
        now = self.backend.clock()
        return sum(attempt.has_lost_place(now) for attempt in self._overrunning)

    def _run(
        self,
        id: str,
        backend: Backend,
        time_left: timedelta | None,
        lanes: tuple[int, ...] | None = None,
        *,
        host: Host | None = None,
        rang_at: datetime | None = None,
    ) -> RunReport:
        settings = backend.settings
        context = RunContext(
            id=id,
            backend=backend,
            actions={**BUILT_IN, **self._actions},
            pool=self._make_pool(self._concurrency),
            # At least one free place: a process of Lambda that has lost all others goes on with it.
            places=self._concurrency if host else max(self._concurrency, self.kept_places + 1),
            overrunning=self._overrunning,
            random=Random(random()),
            wake=Wake(backend.clock(), rang_at),
            ends=end_of_run(backend.clock(), time_left),
            host=host,
            metrics=Metrics(settings.rule, actions=self._actions) if settings.metrics else None,
            deliver=self._deliverer(),
        )
        return execute(context, lanes)


def _time_left(context: LambdaContext) -> timedelta:
    return timedelta(milliseconds=context.get_remaining_time_in_millis())


def lanes_in(event: object) -> tuple[int, ...] | None:
    """The lanes that `Function.start` put into the event; None for all, and for the event of a ring.

    A run for no lanes at all only sets the rule.
    """
    ours = event.get("duebell") if isinstance(event, dict) else None
    lanes = ours.get("lanes") if isinstance(ours, dict) else None
    if not isinstance(lanes, list) or not all(isinstance(lane, int) for lane in lanes):
        return None
    return tuple(lanes)


def rang_at(event: object) -> datetime | None:
    """The time of the ring, if this is the event of one; else None.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
    """
    if not isinstance(event, dict) or event.get("source") not in _BELLS:
        return None
    with suppress(ValueError):
        return parse(str(event.get("time")))
    return None
