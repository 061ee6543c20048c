"""Everything that the parts of one run share: its id, its actions, its places and its end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import RESERVE
from duebell_shared.tasks.task import Task
from duebell_worker.actions.action import Action
from duebell_worker.log import LogLine, emit
from duebell_worker.metrics import Metrics

if TYPE_CHECKING:
    from duebell_shared.deliveries.delivery import Delivery

    from .attempt import Attempt, Wake


class Pool(Protocol):
    """Runs calls side by side. A simulation has its own, in simulated time."""

    def submit(self, call: Callable[..., None], /, *arguments: Any) -> Future[None]:
        """Start the call; an error that it raises is in the future."""

    def wait(self, futures: Collection[Future[Any]], patience: timedelta) -> Collection[Future[Any]]:
        """Wait until one of these has ended, at most this long; return the ended ones."""

    def close(self) -> None:
        """Start nothing more, and do not wait for the calls under way."""


class ThreadPool(ThreadPoolExecutor):
    """A pool of threads, at most this many at a time."""

    def __init__(self, size: int) -> None:
        super().__init__(size, thread_name_prefix="duebell-action")

    def wait(self, futures: Collection[Future[Any]], patience: timedelta) -> Collection[Future[Any]]:
        """Wait in real time."""
        seconds = max(patience.total_seconds(), 0)
        return wait(futures, timeout=seconds, return_when=FIRST_COMPLETED).done

    def close(self) -> None:
        """Do not wait for actions that hang; their threads end with the process."""
        self.shutdown(wait=False, cancel_futures=True)


class Host(Protocol):
    """The long-running process that a run belongs to, as far as the run uses it: see Process."""

    stop_at: datetime | None
    leave_at: datetime | None
    unfinished: int

    def note_contact(self) -> None: ...
    def note_lost_places(self) -> None: ...


Deliver = Callable[[Sequence[tuple["Delivery", Task]]], Sequence[BaseException | None]]


class RunContext(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One run: its limits, and where it works.

    id        its id, and the owner of its lease
    actions   the actions by name, including those that every worker has
    places    the most tasks that are under way at a time, in `pool`
    wake      its start, from which the parts of lateness are computed
    ends      its `stop_at` and `leave_at`, unless a long-running process is its host
    metrics   None if no metrics are wanted
    deliver   sends the tasks of one target and returns their errors; None if no action is a delivery
    host      the long-running process of the run; None if it has none
    overrunning  the attempts of this process that went on after their time-out or after their run; some may
                 have returned

    A run without a time limit runs tasks that are due now or in a moment. It does not wait for others, and
    shares nothing with further runs.
    """

    id: str
    backend: Backend
    actions: Mapping[str, Action[..., Any]]
    pool: Pool
    places: int
    random: Random
    wake: "Wake"
    ends: tuple[datetime | None, datetime | None] = (None, None)
    metrics: Metrics | None = None
    deliver: Deliver | None = None
    host: Host | None = None
    overrunning: "list[Attempt]" = msgspec.field(default_factory=list)

    @property
    def stop_at(self) -> datetime | None:
        """From then on no task is started; None for a run that has no time limit."""
        return self.host.stop_at if self.host else self.ends[0]

    @property
    def leave_at(self) -> datetime | None:
        """Attempts that still run then are ended as failed, and retried later."""
        return self.host.leave_at if self.host else self.ends[1]

    @property
    def free_places(self) -> int:
        """The places, without those kept by attempts that have outlived their run or their time-out."""
        return self.places - sum(attempt.keeps_place for attempt in self.overrunning)

    @cached_property
    def now(self) -> Callable[[], datetime]:
        return self.backend.clock

    @property
    def waits_for_due(self) -> bool:
        """True if the run stays for tasks that are due soon: in a process, or with precision "second"."""
        to_the_second = bool(self.backend.settings.head_start) and self.stop_at is not None
        return to_the_second or self.host is not None

    @property
    def is_out_of_time(self) -> bool:
        return self.stop_at is not None and self.now() >= self.stop_at

    def log(self, line: LogLine, *, level: int | None = None, **fields: Any) -> None:
        emit(line, level=level, run=self.id, **fields)

    def warn(self, line: LogLine, error: Exception, **fields: Any) -> None:
        """Log an error that does not end the run."""
        self.log(line, error=str(error), **fields)


def end_of_run(now: datetime, time_left: timedelta | None) -> tuple[datetime | None, datetime | None]:
    """The `stop_at` and `leave_at` of a run that has so much time left; None without a limit of time."""
    if time_left is None:
        return None, None
    reserve = min(RESERVE, time_left / 5)
    stop_at = now + time_left - reserve
    return stop_at, stop_at + reserve / 2
