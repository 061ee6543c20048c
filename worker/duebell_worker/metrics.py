"""Metrics in CloudWatch's embedded metric format: JSON lines in the log that CloudWatch turns into metrics.

No call is made for them and no library is loaded: aws-lambda-powertools would cost 35 ms of each cold start.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import MILLISECOND, NEVER
from duebell_shared.tasks.task import STARTS_WITHIN

from .log import LogLine, emit
from .run.report import PARTS, Outcome

NAMESPACE = "duebell"

#: Stands for every action that the worker does not have. CloudWatch charges for each value of a dimension,
#: and anybody who may add tasks can name actions without end.
UNKNOWN = "(unknown)"

#: The format takes no more values of one metric in a line.
_MOST_VALUES = 100

#: Keys that each count of the queue reads at most, in all lanes together.
_MOST_READ = 2_000

#: Outcomes whose metric is only written where there are some. CloudWatch charges for each metric.
_RARE = {Outcome.SNOOZED}

#: Outcomes that are no attempts.
_NOT_TOLD = {Outcome.SUPERSEDED, Outcome.LIMITED}

#: Each metric: its unit, and its meaning for the docs. The first six have the dimension `Action`, too.
METRICS = {
    "Lateness": ("Milliseconds", "the time from when an attempt was to start until it started"),
    "Done": ("Count", "attempts that succeeded"),
    "Retried": ("Count", "attempts that failed and are tried again"),
    "Failed": ("Count", "tasks that failed for good"),
    "Expired": ("Count", "tasks that were too late to be run"),
    "Snoozed": ("Count", "attempts that asked to be called again later; written only if there are some"),
    **{
        f"Lateness{part.capitalize()}": (
            "Milliseconds",
            f"the part `{part}` of the lateness of attempts that start a second late or later",
        )
        for part in PARTS
    },
    "RunDuration": ("Milliseconds", "the duration of a run"),
    "PutRuleCalls": ("Count", "calls of a run that set the rule"),
    "DeadRuns": (
        "Count",
        "runs that died before they gave their lanes back; written when a later run finds them",
    ),
    "LaneTrouble": ("Count", "lanes that rest at the end of a run; written only if there are some"),
    "QueueDepth": ("Count", f"tasks in the queue, {_MOST_READ:,} at most; resting lanes are left out"),
    "Overdue": ("Count", f"overdue tasks, and ended ones whose follow-up is missing; {_MOST_READ:,} at most"),
    "LaneBytes": ("Bytes", "the size of the fullest lane, in steps of a gigabyte"),
}


class Metrics:
    """The metrics of one run, written to the log as they come."""

    def __init__(self, scheduler: str, *, actions: Collection[str]) -> None:
        """`scheduler` is the rule's name, a dimension of each metric. `actions` are those of the worker."""
        self._scheduler = scheduler
        self._actions = actions
        self._lateness: defaultdict[str, list[int]] = defaultdict(list)
        self._outcomes: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
        self._parts: defaultdict[str, list[int]] = defaultdict(list)

    def count(
        self, action: str, outcome: Outcome, lateness_ms: int, parts: Mapping[str, int], now: datetime
    ) -> None:
        """Count an attempt of this action with its outcome, its lateness and the parts of its lateness."""
        action = action if action in self._actions else UNKNOWN
        self._outcomes[action][outcome] += 1
        self._lateness[action].append(lateness_ms)
        if len(self._lateness[action]) == _MOST_VALUES:
            self._flush(action, now)
        for part, value in parts.items():
            self._parts[f"Lateness{part.capitalize()}"].append(value)
        if parts and len(self._parts["LatenessDelay"]) == _MOST_VALUES:
            self._flush_parts(now)

    def end(self, now: datetime, **values: int) -> None:
        for action in list(self._outcomes):
            self._flush(action, now)
        self._flush_parts(now)
        self.write(now, **values)

    def write(self, now: datetime, **values: int) -> None:
        """Write these metrics of the run as a whole at once."""
        self._write(now, {"Scheduler": self._scheduler}, values)

    def _flush(self, action: str, now: datetime) -> None:
        counts = self._outcomes.pop(action)
        told = (one for one in Outcome if one not in _NOT_TOLD)
        values = {one.capitalize(): counts[one] for one in told if counts[one] or one not in _RARE}
        dimensions = {"Scheduler": self._scheduler, "Action": action}
        self._write(now, dimensions, {"Lateness": self._lateness.pop(action), **values})

    def _flush_parts(self, now: datetime) -> None:
        """Write the parts that are not all 0. CloudWatch computes their percentiles."""
        there = {name: values for name, values in self._parts.items() if any(values)}
        self._parts.clear()
        if there:
            self._write(now, {"Scheduler": self._scheduler}, there)

    def _write(self, now: datetime, dimensions: Mapping[str, str], values: Mapping[str, Any]) -> None:
        """Log a line with the metrics, by all the dimensions and by the first alone."""
        names = list(dimensions)
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [names[:1], names] if names[1:] else [names],
            "Metrics": [{"Name": name, "Unit": METRICS[name][0]} for name in values],
        }
        stamp = {"Timestamp": round(now.timestamp() * 1000), "CloudWatchMetrics": [directive]}
        fields: dict[str, Any] = {"_aws": stamp, **dimensions, **values}
        emit(LogLine.METRICS, **fields)


def queue_metrics(
    counts: Callable[..., Mapping[int, int]],
    record: ArmingRecord,
    *,
    heads: Mapping[int, datetime],
    sizes: Mapping[int, int],
    now: datetime,
) -> dict[str, int]:
    """Measure QueueDepth, Overdue and LaneBytes; those that cannot be read are left out.

    counts  counts the tasks of lanes, as `Lanes.counts`
    heads  when the lanes that were just read must be read next: lanes in which nothing waits, or nothing is
           due, are not counted
    sizes  bytes of the lanes that answers to the run's writes gave

    A count is paid for by the keys that it reads. So it reads a bounded number of them, and the arming record
    lets one run in five minutes count.
    """
    lanes = range(len(record.lanes))
    most = max(_MOST_READ // len(lanes), 1)
    waiting = [lane for lane in lanes if heads.get(lane, now) != NEVER]
    due = [lane for lane in waiting if heads.get(lane, now) <= now]
    depths = counts(waiting, most=most)
    overdue = counts(due, before=now - STARTS_WITHIN - MILLISECOND, most=most)
    size = record.fullest.bytes if record.fullest else max(sizes.values(), default=None)
    return {
        **({"QueueDepth": sum(depths.values())} if depths or not waiting else {}),
        **({"Overdue": sum(overdue.values())} if overdue or not due else {}),
        **({"LaneBytes": size} if size is not None else {}),
    }
