"""Notes that runs leave in the arming record, for people and for the next run."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from duebell_shared.instants import MOST_SKEW, Instant
from duebell_shared.queue.lane_sizes import GIGABYTE

from .expression import ECHOES

#: A run that comes this long after the ring's minute, or later, was started by an echo. That is sooner than
#: the first echo, for clocks differ.
_ECHO = timedelta(minutes=ECHOES[0]) - MOST_SKEW


class RestingLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane that runs leave alone for a while: since `since`, AWS refuses its calls or does not answer."""

    lane: int
    since: Instant


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the run that gave lanes back last.

    run              its id
    finished_at      when it did
    done, retried, failed, expired, snoozed   attempts with this outcome
    lateness_max_ms  the latest start, in milliseconds after it was due; None when nothing was started
    tzdata           the release of the worker's time zones; None if it did not say
    resting          the lanes that it left alone: AWS refused their calls or did not answer
    """

    run: str
    finished_at: Instant
    done: int = 0
    retried: int = 0
    failed: int = 0
    expired: int = 0
    snoozed: int = 0
    lateness_max_ms: int | None = None
    tzdata: str | None = None
    resting: tuple[RestingLane, ...] = ()


class LateRing(msgspec.Struct, frozen=True, kw_only=True):
    """A ring that started no run in time, so that a later one did, most likely its echo. Times are UTC.

    minute   the minute that the rule was set to
    came_at  when the next run claimed its lanes
    """

    minute: Instant
    came_at: Instant


class Fullest(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest lane as it was measured last: DynamoDB measures whole GB, with a write, now and then.

    bytes        of its item collection: tasks that wait and history; the index of the past is no part of it
    measured_at  when
    """

    lane: int
    bytes: int
    measured_at: Instant


def fuller(known: Fullest | None, sizes: Mapping[int, int], now: datetime) -> Fullest | None:
    """The fullest lane, by what is known and by `sizes` in bytes; `known` itself if it holds as many GB."""
    sizes = {known.lane: known.bytes, **sizes} if known else sizes
    lane, size = max(sizes.items(), key=lambda lane_size: lane_size[1], default=(0, 0))
    if size // GIGABYTE == (known.bytes if known else 0) // GIGABYTE:
        return known
    return Fullest(lane=lane, bytes=size, measured_at=now)


def late_ring(rings_at: datetime | None, now: datetime) -> LateRing | None:
    """The ring that should have started a run before the one that comes now, if there is one."""
    if rings_at is None or now < rings_at + _ECHO:
        return None
    return LateRing(minute=rings_at, came_at=now)
