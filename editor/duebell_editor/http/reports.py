"""What the API says of the scheduler as a whole."""

from typing import Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from duebell_editor import Precision, ProblemKind, SchedulerStatus
from duebell_editor.change_many import ChangeReport
from duebell_editor.history import TaskHistory
from duebell_editor.timeline import Bucket

from .fields import Instant
from .problems import kind_of

__all__ = ["BulkView", "HistoryView", "PreviewView", "StatusView", "TimelineView", "ZonesView"]


class ProblemView(BaseModel):
    """One thing that is wrong."""

    kind: ProblemKind
    what: str
    way_out: str
    mendable: bool = Field(description="Whether `duebell doctor --fix`, or `POST /api/doctor`, mends it")


class RestingLaneView(BaseModel):
    """A lane that runs leave alone for a while."""

    lane: int
    since: Instant = Field(description="Since when AWS has refused its calls, or not answered")


class LastRunView(BaseModel):
    """What came of the run that ended last."""

    run: str = Field(description="Its id, as in the log and on the tasks it ran")
    finished_at: Instant
    done: int
    retried: int
    failed: int
    expired: int
    lateness_max_ms: int | None = Field(description="The latest start after its due; null when none started")
    tzdata: str | None = Field(description="The release of the worker's time zones; null if it did not say")
    resting: list[RestingLaneView] = Field(description="The lanes it left alone: AWS refused their calls")


class LateRingView(BaseModel):
    """A ring that brought no run in time."""

    minute: Instant = Field(description="The minute that the rule was set to")
    came_at: Instant = Field(description="When the next run came")


class StatusView(BaseModel):
    """How the scheduler stands; the fields are those of the library's `SchedulerStatus`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "healthy": True,
                    "problems": [],
                    "rule": "duebell",
                    "table": "duebell",
                    "expression": "cron(0,4,12,27 0-23 30,31 12 ? 2026)",
                    "enabled": True,
                    "rings_at": "2026-12-31T00:00:00.000Z",
                    "next_due": "2026-12-31T00:00:00.000Z",
                    "armed": True,
                    "precision": "minute",
                    "last_run": {
                        "run": "5f0c3a2e9d7b4c61a8f0e2d4b6c8a0e1",
                        "finished_at": "2026-12-30T00:00:21.482Z",
                        "done": 12,
                        "retried": 0,
                        "failed": 1,
                        "expired": 0,
                        "lateness_max_ms": 20914,
                        "tzdata": "2026f",
                        "resting": [],
                    },
                    "late_ring": {
                        "minute": "2026-12-24T18:30:00.000Z",
                        "came_at": "2026-12-24T18:34:18.260Z",
                    },
                    "lanes": 4,
                    "running": 0,
                    "overdue": 0,
                    "failed": 1,
                    "tzdata": "2026f",
                }
            ]
        }
    )

    healthy: bool = Field(description="Whether nothing is wrong")
    problems: list[ProblemView] = Field(description="What is wrong, each with the way out")
    rule: str
    table: str
    expression: str = Field(description="The rule's cron expression, as EventBridge has it")
    enabled: bool = Field(description="Whether the rule rings at all")
    rings_at: Instant | None = Field(description="The minute the rule rings at; null when it is parked")
    next_due: Instant | None = Field(description="When the earliest task is looked at; null when none waits")
    armed: bool = Field(description="Whether the rule is confirmed to be where the queue needs it")
    precision: Precision = Field(description="How near to their due date tasks start")
    last_run: LastRunView | None = Field(description="What came of the run that ended last")
    late_ring: LateRingView | None = Field(
        description="The last ring that brought no run in time; an echo of it did"
    )
    lanes: int
    running: int = Field(description="How many lanes a run holds now")
    overdue: int = Field(
        description="Tasks that were to start five minutes ago or before and have not ended; 1,000 if more"
    )
    failed: int | None = Field(
        description="Tasks that have failed and are kept; 1,000 if more, null if the table cannot tell"
    )
    tzdata: str = Field(description="The release of this editor's time zones")

    @classmethod
    def of(cls, status: SchedulerStatus) -> Self:
        """The status as it was read."""
        problems = [msgspec.structs.asdict(problem) for problem in status.problems]
        last = status.last_run and {
            **msgspec.structs.asdict(status.last_run),
            "resting": [msgspec.structs.asdict(lane) for lane in status.last_run.resting],
        }
        late = status.late_ring and msgspec.structs.asdict(status.late_ring)
        plain = {
            **msgspec.structs.asdict(status),
            "problems": problems,
            "last_run": last,
            "late_ring": late,
        }
        return cls.model_validate({**plain, "healthy": status.healthy})


class ZonesView(BaseModel):
    """The time zones that schedules can be in."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tzdata": "2026f", "names": ["Europe/Berlin", "UTC"]}]}
    )

    tzdata: str = Field(description="Their release, as IANA numbers it")
    names: list[str]


class PreviewView(BaseModel):
    """What a schedule means."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "words": "every weekday at 09:00, Europe/Berlin",
                    "occurrences": ["2026-11-23T08:00:00.000Z", "2026-11-24T08:00:00.000Z"],
                }
            ]
        }
    )

    words: str
    occurrences: list[Instant]


class BucketView(BaseModel):
    """Tasks that are looked at from `start` on and before `end`."""

    start: Instant
    end: Instant
    count: int
    is_estimate: bool = Field(description="True: about so many, by one lane of the queue")


class TimelineView(BaseModel):
    """How many tasks are to come, bucket by bucket."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "buckets": [
                        {
                            "start": "2026-12-31T00:00:00.000Z",
                            "end": "2026-12-31T01:00:00.000Z",
                            "count": 12,
                            "is_estimate": False,
                        }
                    ]
                }
            ]
        }
    )

    buckets: list[BucketView]

    @classmethod
    def of(cls, buckets: tuple[Bucket, ...]) -> Self:
        """The buckets as they were counted."""
        return cls(buckets=[BucketView(**msgspec.structs.asdict(bucket)) for bucket in buckets])


class EndedView(BaseModel):
    """What ended from `start` on and before `end`, and how late it was started."""

    start: Instant
    end: Instant
    done: int
    failed: int
    skipped: int
    lateness_median_ms: int | None
    lateness_max_ms: int | None


class HistoryView(BaseModel):
    """What has been, bucket by bucket."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "buckets": [
                        {
                            "start": "2026-12-31T00:00:00.000Z",
                            "end": "2026-12-31T01:00:00.000Z",
                            "done": 11,
                            "failed": 1,
                            "skipped": 0,
                            "lateness_median_ms": 20914,
                            "lateness_max_ms": None,
                        }
                    ],
                    "is_all": True,
                }
            ]
        }
    )

    buckets: list[EndedView]
    is_all: bool = Field(description="False: there is more history than was looked at")

    @classmethod
    def of(cls, history: TaskHistory) -> Self:
        """The history as it was read."""
        buckets = [EndedView(**msgspec.structs.asdict(bucket)) for bucket in history.buckets]
        return cls(buckets=buckets, is_all=history.is_all)


class BulkFailureView(BaseModel):
    """One task that was not changed, and why."""

    id: str
    type: str = Field(description="What kind of problem, as in a problem document")
    detail: str


class BulkView(BaseModel):
    """What became of many tasks."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"found": 134, "is_all": True, "dry_run": True, "changed": [], "failures": []},
                {
                    "found": 2,
                    "is_all": True,
                    "dry_run": False,
                    "changed": ["sale-42"],
                    "failures": [
                        {
                            "id": "sale-43",
                            "type": "urn:duebell:task-not-found",
                            "detail": "there is no task 'sale-43' (finished tasks are forgotten after the "
                            "retention time)",
                        }
                    ],
                },
            ]
        }
    )

    found: int = Field(description="How many it is about, at most the limit")
    is_all: bool = Field(description="False: there are more than the limit")
    dry_run: bool
    changed: list[str] = Field(description="The ids of those that were changed")
    failures: list[BulkFailureView] = Field(description="Those that could not be changed")

    @classmethod
    def of(cls, found: int, report: ChangeReport, *, is_all: bool) -> Self:
        """What was done."""
        failures = [
            BulkFailureView(id=one.id, type=kind_of(one.error), detail=str(one.error))
            for one in report.failures
        ]
        changed = [task.id for task in report.changed]
        return cls(found=found, is_all=is_all, dry_run=False, changed=changed, failures=failures)
