"""Notes that runs leave in the arming record, for people and for the next run."""

import msgspec

from .instants import Instant

__all__ = ["Fullest", "LastRun", "LateRing", "RestingLane"]


class RestingLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane that runs leave alone for a while: since `since`, AWS refuses its calls or does not answer."""

    lane: int
    since: Instant


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the run that gave lanes back last.

    run              its id
    finished_at      when it did
    done, retried, failed, expired   attempts with this outcome
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
