"""The limits of actions as they are now, and how many tasks wait for them.

Tasks of a paused action wait at times at which no other task is due, so they are counted in the index. For
tasks that wait for a rate or for a number at a time, the action's semaphore has an estimate.
"""

from collections.abc import Collection, Iterator
from datetime import datetime

import msgspec
from msgspec.structs import asdict, replace

from duebell_editor.listing.queue_counts import MOST_COUNTED
from duebell_shared.backend import Backend
from duebell_shared.instants import Instant, render
from duebell_shared.limits.limits import (
    LEAST_PER_SECOND,
    MOST_AT_A_TIME,
    MOST_PER_SECOND,
    Limit,
    Limits,
    Semaphore,
    reopening,
)
from duebell_shared.quoting import as_argument, quoted
from duebell_shared.tasks.worker_record import WorkerRecord

#: The meanings of the limits that can be set, for the command line and the API.
LIMITS = {
    "at_most": f"Attempts at a time, up to {MOST_AT_A_TIME:,}; 0 pauses the action",
    "per_second": f"Attempts that are started a second, {LEAST_PER_SECOND} to {MOST_PER_SECOND:,}; 0 pauses "
    "the action",
    "closed": "Hours in which nothing starts, such as 22:00-06:00 Europe/Berlin; `never` for none",
}


class ActionLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The limit of an action, over all runs together.

    action      the action's name
    at_most     attempts at a time; None for no limit, 0 while it is paused
    per_second  attempts that are started a second; None for no limit, 0 while it is paused
    paused      whether none of its tasks is started
    closed      the hours in which none of its tasks is started; None if it has none
    closed_until  when it opens; None if it is open, and in the answer of `limit`
    declared_at_most, declared_per_second, declared_closed  what its code declares; None for no limit
    since       when a limit was set in place of the declared one; None if it is as declared
    changed_by  who set it, if that is known; None if it is as declared
    waiting     how many tasks wait for it. If it is paused or closed: tasks put back, at most 1,000. Else an
                estimate, as cancelled tasks may count for a day. None in the answer of `limit`
    """

    action: str
    at_most: int | None
    per_second: float | None
    paused: bool
    declared_at_most: int | None = None
    declared_per_second: float | None = None
    closed: str | None = None
    closed_until: Instant | None = None
    declared_closed: str | None = None
    since: Instant | None = None
    changed_by: str | None = None
    waiting: int | None = None


def limit_words(at_most: int | None, per_second: float | None, closed: str | None) -> str:
    """A limit in words: `5 at a time, 2 a second, closed sat, sun UTC`."""
    parts = [f"{at_most:,} at a time"] if at_most is not None else []
    parts += [f"{per_second:g} a second"] if per_second is not None else []
    parts += ["never closed" if closed == "never" else f"closed {closed}"] if closed is not None else []
    return ", ".join(parts) or "no limit"


def pause_of(limit: ActionLimit) -> tuple[str, str]:
    """The pause of an action in words, and what to do to end it."""
    by = f" by {limit.changed_by}" if limit.changed_by else ""
    since = f" since {render(limit.since)}{by}" if limit.since else ""
    options = {"another `--at-most`": limit.at_most, "another `--per-second`": limit.per_second}
    other = " and ".join(option for option, value in options.items() if value == 0)
    way_out = f"`duebell limit --as-declared {as_argument(limit.action)}`, or {other}, ends the pause"
    return f"action {quoted(limit.action)} is paused{since}", way_out


def read_limits(
    backend: Backend, record: WorkerRecord | None, limits: Limits, *, lanes: int, now: datetime
) -> Iterator[ActionLimit]:
    """Read the limits of all actions that have some, declared or set, by name, with their waiting tasks.

    Makes one read for each action, and for a paused or closed one up to four queries of each lane.
    """
    known = record.worker.actions if record and record.worker else ()
    declared = {one.name for one in known if declared_limit(one.name, record).is_any}
    overridden = {name for name, one in limits.overrides.items() if one.is_any}
    for name in sorted(declared | overridden):
        limit = action_limit(name, record, limits)
        opens = Limit(closed=limit.closed).closed_until(now)
        parked = [at for at, one in limits.parked(now).items() if one == name] if limit.paused else []
        parked += [reopening(name, opens, now)] if opens else []
        waiting = _parked(backend, parked, lanes)
        if limit.paused or not opens:  # those in the line of a paused action are parked when their turn comes
            waiting = max(waiting, in_line(backend, name, now))
        yield replace(limit, waiting=waiting, closed_until=opens)


def declared_limit(action: str, record: WorkerRecord | None) -> Limit:
    """The limit that the code of the worker declares."""
    known = record.worker.action(action) if record and record.worker else None
    return Limit(**{name: getattr(known, name) for name in asdict(Limit())}) if known else Limit()


def action_limit(action: str, record: WorkerRecord | None, limits: Limits) -> ActionLimit:
    """The limit of one action, without the number of waiting tasks."""
    declared = declared_limit(action, record)
    limit, override = limits.of(action, declared), limits.overrides.get(action)
    is_set = override is not None and override.is_any
    return ActionLimit(
        action=action,
        **asdict(limit),
        **{f"declared_{name}": value for name, value in asdict(declared).items()},
        paused=limit.is_paused,
        since=override.since if override and is_set else None,
        changed_by=override.by if override and is_set else None,
    )


def _parked(backend: Backend, times: Collection[datetime], lanes: int) -> int:
    """Count the tasks that were put back to these times."""
    places = [(lane, at) for at in times for lane in range(lanes)]

    def count(place: tuple[int, datetime]) -> int:
        lane, at = place
        return backend.store.count(lane, after=at, before=at, most=MOST_COUNTED)

    return min(sum(backend.parallel.all(count, places)), MOST_COUNTED)


def in_line(backend: Backend, action: str, now: datetime) -> int:
    """About how many tasks wait for the limit of this action. Cancelled tasks may count for a day."""
    semaphore = backend.store.read(Semaphore, action)
    return semaphore.waiting if semaphore and max(semaphore.line, semaphore.late) > now else 0
