"""Forecasts what the queue will do until a time, as it is and after a change: `Editor.simulate`.

The forecast reads the queue once, writes nothing, and plays a copy in memory (playing.py). The length of an
attempt is the median of the past attempts of its action that the table still has.
"""

import bisect
import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from duebell_editor.library.known_worker import check_is_known
from duebell_editor.listing.filters import check_choice, check_flag, check_instant, check_limit
from duebell_editor.status.action_limits import declared_limit
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import HEAD_START
from duebell_shared.errors import InvalidQuery, TaskConflict
from duebell_shared.instants import MILLISECOND, Instant, to_utc
from duebell_shared.limits.limits import Limit, Limits, Semaphore
from duebell_shared.queue.places import Past
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import as_argument, quoted, shortened
from duebell_shared.settings import Precision
from duebell_shared.tasks.checks import check_name
from duebell_shared.tasks.fields import checked
from duebell_shared.tasks.history import Result
from duebell_shared.tasks.recurrence import MAX_SPREAD, delay_of
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import STARTS_WITHIN, Task
from duebell_shared.tasks.worker_record import WorkerRecord

from .cost import measured, run_cost
from .playing import Conditions, Played, Start

#: The most tasks that are read, and the most ended tasks whose attempts are measured.
MOST_TASKS, _MEASURED = 200_000, 400

#: The longest that is simulated.
_LONGEST = timedelta(days=62)

#: Assumed: the actions that a run has at a time, and the worker's memory in MB.
_CONCURRENCY, _MEMORY = 16, 512

#: Occurrences of one task that `flatten` looks at.
_MOST_TIMES = 10_000

#: Spreads that `flatten` tries, the shortest first.
_SPREADS = tuple(timedelta(minutes=minutes) for minutes in (5, 10, 15, 30, 60, 120, 240, 480, 1440))

_MINUTE = timedelta(minutes=1)


class ActionForecast(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a forecast about one action.

    starts       attempts that are started
    late         of these, how many start late: more than three and a half minutes after their time
    lateness_max_ms  the largest lateness, in milliseconds
    duration_ms  the assumed length of an attempt, in milliseconds: the median of past attempts
    measured     the number of these past attempts; 0 if there are none, and a second is assumed
    """

    action: str
    starts: int
    late: int
    lateness_max_ms: int
    duration_ms: int
    measured: int


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The starts, the runs and the cost of a queue until the end of the simulation.

    starts     attempts that are started
    waiting    tasks that are due by the end and wait for a limit, the end of a pause or the next ring
    expired    tasks that came too late to be started
    late       starts that are late: more than three and a half minutes after their time
    lateness_p50_ms, lateness_p90_ms, lateness_p99_ms, lateness_max_ms  of all starts, in milliseconds
    at_once    the most attempts under way at a time
    peak       the most attempts that are due in one minute
    peak_at    that minute; None if none is due
    rings      runs that a ring of the rule starts
    runs       all runs, including runs that another run calls
    dollars    the cost: writes, reads, the worker's time and its log; without free tiers
    actions    the same by action, the one with the most starts first
    first      the first starts, as many as were asked for
    """

    starts: int
    waiting: int
    expired: int
    late: int
    lateness_p50_ms: int
    lateness_p90_ms: int
    lateness_p99_ms: int
    lateness_max_ms: int
    at_once: int
    peak: int
    peak_at: Instant | None
    rings: int
    runs: int
    dollars: float
    actions: tuple[ActionForecast, ...]
    first: tuple[Start, ...]


class Flattening(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring task to move out of the peak.

    spread   the spread to give it
    command  the command that sets this spread
    """

    id: str
    spread: timedelta
    command: str


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """A forecast of the queue, for the time from `start` to `until`.

    today    the queue as it is
    changed  the queue with the changes; None if none are given
    flatten  the recurring tasks to move so that the peak halves; `changed` has them moved
    """

    start: Instant
    until: Instant
    today: Forecast
    changed: Forecast | None = None
    flatten: tuple[Flattening, ...] = ()


def simulate(
    backend: Backend,
    queue: Queue,
    given_until: datetime | timedelta,
    *,
    add: Sequence[Task],
    limits: object,
    pause: object,
    spread: object,
    precision: object,
    flatten: object,
    most_starts: int,
) -> Simulation:
    """Do what `Editor.simulate` does. The tasks to add are already checked."""
    check_limit(most_starts, field="most_starts", most=1_000_000)
    proposed = _limits_of(limits, pause)
    spreads = {check_name("spread", id): checked("spread", one) for id, one in _mapping("spread", spread)}
    wanted = None if precision is None else check_choice("precision", precision, Precision)
    is_flattened = check_flag("flatten", flatten)
    now, record = backend.clock(), backend.armer.read()
    until = _end_of(given_until, now)
    known = (backend.store.read(Limits) if record.limits else None) or Limits()
    released = known.released(now)
    parked = {**known.parked(now), **released}
    worker = backend.store.read(WorkerRecord)
    declared = {one.name for one in worker.worker.actions} if worker and worker.worker else set()
    limited = {
        name: known.of(name, declared_limit(name, worker)) for name in known.overrides.keys() | declared
    }
    semaphores = {
        name: found
        for name, one in limited.items()
        if one.is_counted and (found := backend.store.read(Semaphore, name))
    }
    openings = [opens for one in limited.values() if (opens := one.closed_until(until))]
    held_to = max([until, *openings, *(one.line for one in semaphores.values())])
    tasks = _read(queue, len(record.lanes), until, [at for at in parked if at > until], held_to)
    tasks = [_due_now(one, now) if released.get(one.queued or now) == one.action else one for one in tasks]
    limits_now = {one.action: limited.get(one.action, Limit()) for one in (*tasks, *add)}
    for action in proposed.keys() - limits_now.keys():
        check_is_known(action, worker)
    if unknown := sorted(spreads.keys() - {task.id for task in tasks if task.recurrence}):
        raise InvalidQuery("spread", f"{quoted(unknown[0])} is no recurring task that is due until then")
    took = _durations(queue, len(record.lanes), tasks)
    head_start = HEAD_START if record.head_start or backend.settings.head_start else timedelta(0)
    conditions_now = Conditions(
        head_start=head_start,
        concurrency=_CONCURRENCY,
        runs=min(backend.settings.parallel_runs, len(record.lanes)) if backend.function else 1,
        is_called=backend.function is not None,
        limits={name: one for name, one in limits_now.items() if one.is_any},
        semaphores=semaphores,
        durations={name: timedelta(milliseconds=statistics.median(those)) for name, those in took.items()},
    )
    expression = backend.rule.read().expression
    running = [task for task in tasks if task.status is Status.RUNNING]
    waiting = [task for task in tasks if task.status is Status.SCHEDULED]

    def play(tasks: list[Task], conditions: Conditions, added: int = 0) -> Forecast:
        ends = [((task.started_at or task.due) + conditions.duration(task.action), task) for task in running]
        played = Played(
            tasks, conditions, now=now, until=until, record=record, expression=expression, running=ends
        )
        return _forecast(played, conditions, took, until=until, added=added, most_starts=most_starts)

    today = play(waiting, conditions_now)
    if not (add or proposed or spreads or wanted or is_flattened):
        return Simulation(start=now, until=until, today=today)
    limits_then = {name: limits_now.get(name, Limit()).under(one) for name, one in proposed.items()}
    limited_anew = {name for name, limit in limits_then.items() if limit != limits_now.get(name, Limit())}
    if wanted:
        head_start = HEAD_START if wanted is Precision.SECOND else timedelta(0)
    all_limits = {name: limit for name, limit in {**limits_now, **limits_then}.items() if limit.is_any}
    flattening = _flattening(waiting, now, until) if is_flattened else ()
    spreads |= {one.id: one.spread for one in flattening}
    spread_anew = [_spread(task, spreads, now) for task in waiting]
    changed = [
        _due_now(one, now) if one.limited_since and one.action in limited_anew else one for one in spread_anew
    ]
    changed += [task for task in add if (task.queued or until) <= until]
    return Simulation(
        start=now,
        until=until,
        today=today,
        changed=play(changed, replace(conditions_now, limits=all_limits, head_start=head_start), len(add)),
        flatten=flattening,
    )


def _mapping(field: str, given: object) -> Iterable[tuple[Any, Any]]:
    """The items of a mapping; no items for None. Raises InvalidQuery."""
    if not isinstance(given, Mapping | None):
        raise InvalidQuery(field, f"must be a mapping, not {type(given).__name__}")
    return given.items() if given else ()


def _limits_of(limits: object, pause: object) -> dict[str, Limit]:
    """The limits that are proposed, by action. Raises InvalidQuery, InvalidTask."""
    if isinstance(pause, str | bytes) or not isinstance(pause, Iterable):
        raise InvalidQuery("pause", f"must be names of actions, not {type(pause).__name__}")
    names, found = Limit.__struct_fields__, {}
    for name, given in _mapping("limits", limits):
        if not isinstance(given, Mapping) or not given.keys() <= set(names):
            raise InvalidQuery("limits", f"must be mappings with {', '.join(names)}, not {quoted(given)}")
        found[check_name("limits", name)] = Limit(**given).checked()
    return found | {check_name("pause", name): Limit(at_most=0) for name in pause}


def _end_of(until: object, now: datetime) -> datetime:
    """The end of the simulation. Raises InvalidQuery."""
    ahead = until if isinstance(until, timedelta) else check_instant("until", until) - now
    if not timedelta(0) < ahead <= _LONGEST:
        raise InvalidQuery("until", f"must be within {_LONGEST.days} days from now, not {shortened(until)}")
    return to_utc(now + ahead)


def _read(
    queue: Queue, lanes: int, until: datetime, parked: Sequence[datetime], held_to: datetime
) -> list[Task]:
    """Read the tasks that are queued until then, and tasks that wait longer: paused, or for a limit.

    held_to  the latest time to which limits and closed hours have put tasks back
    """

    def read(lane: int) -> list[Task]:
        keys = queue.store.queued(lane, before=until, page_size=1_000)
        more = (queue.store.queued(lane, after=at, before=at) for at in parked)
        found = itertools.islice(itertools.chain(keys, *more), MOST_TASKS + 1)
        tasks = [task for _, task in queue.tasks_at(found)]
        if held_to > until:
            held = queue.store.queued(lane, after=until + MILLISECOND, before=held_to, page_size=1_000)
            keys = itertools.islice((key for key in held if key.queued not in parked), MOST_TASKS + 1)
            tasks += [task for _, task in queue.tasks_at(keys) if task.limited_since]
        return tasks

    tasks = [task for those in queue.parallel.all(read, range(lanes)) for task in those]
    if len(tasks) > MOST_TASKS:
        raise InvalidQuery(
            "until", f"has more than {MOST_TASKS:,} tasks in the queue by then: choose an earlier one"
        )
    return [task.follow_up_settled() if task.owes else task for task in tasks]


def _durations(queue: Queue, lanes: int, tasks: Iterable[Task]) -> dict[str, list[float]]:
    """The milliseconds that past attempts took, by action: of occurrences, and of the tasks done last."""
    took: defaultdict[str, list[float]] = defaultdict(list)
    for task in tasks:
        for one in task.occurrences:
            if one.started_at and one.result is Result.DONE:
                took[task.action].append((one.finished_at - one.started_at) / MILLISECOND)

    def read(lane: int) -> list[Task]:
        keys = queue.store.past(lane, Past.DONE, latest_first=True, page_size=_MEASURED)
        return [task for _, task in queue.tasks_of(itertools.islice(keys, _MEASURED // lanes))]

    for task in itertools.chain.from_iterable(queue.parallel.all(read, range(lanes))):
        if task.started_at and task.finished_at:
            took[task.action].append((task.finished_at - task.started_at) / MILLISECOND)
    return took


def _spread(task: Task, spread: Mapping[str, timedelta], now: datetime) -> Task:
    """The task with the spread that is proposed for it."""
    given = spread.get(task.id)
    if given is None or not task.recurrence:
        return task
    try:
        return task.updated(now=now, spread=given)
    except TaskConflict:
        return task


def _due_now(task: Task, now: datetime) -> Task:
    """The task, due now, as what it waited for has changed or ended: runs start it once its limit allows."""
    return replace(task, queued=to_utc(now))


def _forecast(
    played: Played,
    conditions: Conditions,
    took: Mapping[str, Sequence[float]],
    *,
    until: datetime,
    added: int,
    most_starts: int,
) -> Forecast:
    starts = [one for one in played.starts if one.at <= until]
    late = sorted(one.lateness_ms for one in starts)
    minutes = Counter(one.due.replace(second=0, microsecond=0) for one in starts)
    peak_at = min(minutes, key=lambda minute: (-minutes[minute], minute), default=None)
    recurring = sum(one.recurs for one in starts)
    seconds = sum((min(run.ended, until) - run.began).total_seconds() for run in played.runs)
    cost = run_cost(
        added=added,
        tasks=len(starts) - recurring,
        occurrences=recurring,
        runs=len(played.runs),
        seconds=seconds,
        waits=bool(conditions.head_start),
        memory_mb=_MEMORY,
        of=measured(),
    )

    def percentile(share: float) -> int:
        return late[math.ceil(share * len(late)) - 1] if late else 0

    return Forecast(
        starts=len(starts),
        waiting=played.waiting,
        expired=played.expired,
        late=sum(one * MILLISECOND > STARTS_WITHIN for one in late),
        lateness_p50_ms=percentile(0.5),
        lateness_p90_ms=percentile(0.9),
        lateness_p99_ms=percentile(0.99),
        lateness_max_ms=percentile(1),
        at_once=_most_at_once(starts),
        peak=minutes[peak_at] if peak_at else 0,
        peak_at=peak_at,
        rings=sum(run.is_rung for run in played.runs),
        runs=len(played.runs),
        dollars=round(cost.dollars, 6),
        actions=_by_action(starts, conditions, took),
        first=tuple(starts[:most_starts]),
    )


def _most_at_once(starts: Sequence[Start]) -> int:
    """The most attempts that are under way at a time."""
    ends = sorted(one.ends_at for one in starts)
    under_way = (number - bisect.bisect_right(ends, one.at) for number, one in enumerate(starts, start=1))
    return max(under_way, default=0)


def _by_action(
    starts: Iterable[Start], conditions: Conditions, took: Mapping[str, Sequence[float]]
) -> tuple[ActionForecast, ...]:
    late: defaultdict[str, list[int]] = defaultdict(list)
    for one in starts:
        late[one.action].append(one.lateness_ms)
    found = (
        ActionForecast(
            action=action,
            starts=len(those),
            late=sum(one * MILLISECOND > STARTS_WITHIN for one in those),
            lateness_max_ms=max(those),
            duration_ms=conditions.duration(action) // MILLISECOND,
            measured=len(took.get(action, ())),
        )
        for action, those in late.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.starts, one.action)))


def _flattening(tasks: Sequence[Task], now: datetime, until: datetime) -> tuple[Flattening, ...]:
    """Spreads for recurring tasks, so that no minute has more than half of the peak's occurrences.

    Each task in a minute with too many gets the shortest spread that moves it to minutes with space. A task
    stays if it runs once, has a spread already, or would be due again before the spread is over.
    """
    due = Counter[datetime]()
    of_task: dict[str, list[datetime]] = {}
    for task in tasks:
        times = [task.queued] if task.queued else []
        if task.recurrence and task.recurrence.next_due:
            occurrences = task.recurrence.schedule.occurrences(task.recurrence.next_due - MILLISECOND)
            coming = itertools.takewhile(lambda at: at <= until, occurrences)
            times += itertools.islice(coming, _MOST_TIMES)
            if not task.spread:
                of_task[task.id] = times
        due.update(_minute(at) for at in times)
    target = max(due.values(), default=0) // 2
    found = []
    for id, times in sorted(of_task.items()):
        if not any(due[_minute(at)] > target for at in times):
            continue
        interval = min((b - a for a, b in itertools.pairwise(times)), default=MAX_SPREAD)
        for spread in _SPREADS:
            later = delay_of(id, spread)
            moved = Counter(_minute(at + later) for at in times)
            is_elsewhere = moved.keys().isdisjoint(map(_minute, times))
            if later < interval and is_elsewhere and all(due[at] + n <= target for at, n in moved.items()):
                due.subtract(_minute(at) for at in times)
                due.update(moved)
                command = f"duebell update --spread {spread // _MINUTE}m {as_argument(id)}"
                found.append(Flattening(id=id, spread=spread, command=command))
                break
    return tuple(found)


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
