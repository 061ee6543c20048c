"""A process that dies at its n-th AWS call, and what happens by itself after that."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import boto3

from duebell import AwsError, Editor, NotArmed, ProblemKind, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import SENTINEL, is_set_for
from duebell_shared.queue.table import DynamoTable
from duebell_shared.settings import Settings
from tests.quick_aws import quick_aws
from tests.support import REGION, Clock, create_rule, create_table, minute_of
from tests.worker.stage import Stage
from tests.worker.starting import CONTEXT

#: More rings than any of the scenarios needs, and more calls than any of their processes makes.
_MOST_RINGS, _MOST_CALLS = 12, 90


class Death(BaseException):
    """The process has died. It makes no call any more, not even in a handler of this."""


class Moment(StrEnum):
    """When in its last call a process dies."""

    BEFORE = "before it takes effect"
    AFTER = "after it took effect"


class Processes:
    """One session on moto, for one process after the other: making one costs more than a test's calls.

    Only one process is at work at a time. If it is to die, it dies at its n-th call and at every further one.
    """

    def __init__(self) -> None:
        self._session = boto3.Session(region_name=REGION)
        self._session.events.register("before-call", self._before)
        self._session.events.register("after-call", self._after)
        self._dynamodb, self._events = self._session.client("dynamodb"), self._session.client("events")
        self._dies_at: int | None = None
        self._moment = Moment.BEFORE
        self._made = 0

    def connect(self, clock: Clock, *, dies_at: int | None = None, moment: Moment = Moment.BEFORE) -> Backend:
        """Another process's connection to the scheduler; the one before it makes no more calls."""
        self._dies_at, self._moment, self._made = dies_at, moment, 0
        rule = Rule("duebell", self._events, clock=clock, sleep=clock.sleep)
        store = DynamoTable("duebell", self._dynamodb)
        return Backend(
            Settings(lanes=2), store, rule, clock=clock, sleep=clock.sleep, client=self._session.client
        )

    @contextmanager
    def another(self) -> Iterator[None]:
        """Calls in here belong to another process, which does not die."""
        kept = self._dies_at, self._made
        self._dies_at = None
        yield
        self._dies_at, self._made = kept

    def expression(self) -> str:
        """The time that the rule is set to."""
        return self._events.describe_rule(Name="duebell")["ScheduleExpression"]

    def create_stack(self) -> None:
        """The table and the rule, as the stack has them."""
        create_table(self._session)
        create_rule(self._session)

    def _before(self, **_: Any) -> None:
        self._made += 1
        last = None if self._dies_at is None else self._dies_at + (self._moment is Moment.AFTER)
        if last is not None and self._made >= last:
            raise Death

    def _after(self, **_: Any) -> None:
        is_last = self._dies_at is not None and self._made >= self._dies_at
        if is_last and self._moment is Moment.AFTER:
            raise Death


class World:
    """A scheduler on AWS in memory with a clock, a process in it that dies, and what ran when.

    ran    each start: the id of the task, and the time
    lived  whether the process came to its end, since it makes fewer calls than that at which it is to die
    """

    #: From the one call to the next at which a process dies.
    step = 1

    #: Limits of the action `note`.
    limits: Mapping[str, Any] = {}

    def __init__(self, processes: Processes, number: int, moment: Moment) -> None:
        processes.create_stack()
        self.processes = processes
        self.number, self.moment = number, moment
        self.clock = Clock()
        self.editor = Editor(backend=processes.connect(self.clock))
        self.editor.ensure_armed()
        self.ran: list[tuple[str, datetime]] = []
        self.lived = False
        self.stage = Stage(self.clock)

    def actions(self, worker: Worker) -> None:
        """Declares the action `note`."""

        @worker.action("note", attempts=3, keep_result=True, **self.limits)
        def note(payload: dict[str, Any], task: Task) -> object:
            self.ran.append((task.id, self.clock.now))
            return self.note(payload, task)

    def note(self, payload: dict[str, Any], task: Task) -> object:
        """The body of the action."""
        return None

    def starts(self, id: str) -> int:
        """The number of starts of this task."""
        return [one for one, _ in self.ran].count(id)

    def statuses(self, *ids: str) -> set[Status]:
        """The statuses of these tasks."""
        return {self.editor.get(id).status for id in ids}

    def calls(self, call: Callable[[Editor], object]) -> None:
        """A process makes this call, and dies."""
        backend = self.processes.connect(self.clock, dies_at=self.number, moment=self.moment)
        with suppress(Death):
            call(Editor(backend=backend))
            self.lived = True
        self.processes.connect(self.clock)

    def runs(self, after: timedelta, *, then: Callable[[], object] = lambda: None) -> None:
        """The rule rings after so long, the run dies, and all happens that happens by itself then.

        `then` is called by another process in between.
        """
        self.clock.advance(after + timedelta(seconds=7))
        self.lived = self.invoke(self.processes.connect(self.clock, dies_at=self.number, moment=self.moment))
        if not self.lived:
            self._retry()
        self.processes.connect(self.clock)
        then()
        self.rings()

    def invoke(self, backend: Backend) -> bool:
        """One invocation; whether it ended well."""
        worker = Worker(backend=backend, pool=self.stage)
        self.actions(worker)
        try:
            worker.handler(None, CONTEXT)
        except (Death, AwsError, NotArmed):
            return False
        return True

    def _retry(self) -> None:
        """Lambda's retries of a failed invocation: two more, after one and two minutes."""
        for minutes in (1, 2):
            self.clock.advance(timedelta(minutes=minutes))
            if self.invoke(self.processes.connect(self.clock)):
                return

    def rings(self) -> None:
        """Whatever the rule is set to happens, until it is parked."""
        for _ in range(_MOST_RINGS):
            backend = self.processes.connect(self.clock)
            minute = self._next_ring(backend)
            if minute is None:
                break
            self.clock.now = max(self.clock.now, minute + timedelta(seconds=7))
            if not self.invoke(backend):
                self._retry()
        assert self.processes.expression() == SENTINEL

    def _next_ring(self, backend: Backend) -> datetime | None:
        """The minute that the rule rings in; one that was over before is never rung for.

        Nor is an echo of it, but for the one that the arming record counts on.
        """
        expression, record = self.processes.expression(), backend.armer.read()
        minute = minute_of(expression, self.clock.now)
        if record.echo_of and record.rings_at and is_set_for(expression, record.echo_of):
            minute = record.rings_at
        return minute if minute and minute + timedelta(minutes=1) > self.clock.now else None

    def ends_well(self, *done: str) -> None:
        """These tasks are done, and nothing else is wrong than tasks that failed."""
        assert self.statuses(*done) <= {Status.DONE}, [self.editor.get(id) for id in done]
        assert {problem.kind for problem in self.editor.status().problems} <= {ProblemKind.FAILED_TASKS}


_WorldT = TypeVar("_WorldT", bound=World)


@contextmanager
def worlds() -> Iterator[Callable[[type[_WorldT]], Iterator[_WorldT]]]:
    """A new world for each call of the process in it, before and after it takes effect, until one lives."""
    with ExitStack() as running:
        running.enter_context(quick_aws())
        processes = Processes()

        def each_call(kind: type[_WorldT]) -> Iterator[_WorldT]:
            for number in range(1, _MOST_CALLS, kind.step):
                for moment in Moment:
                    running.close()
                    running.enter_context(quick_aws())
                    yield (world := kind(processes, number, moment))
                    if world.lived:
                        return
            raise AssertionError("it makes more calls than expected")

        yield each_call
