"""What a run measures of the whole queue for CloudWatch.

Problem: a count is paid for by what it counts, and each run made two of each lane. Solution: one run in five
minutes counts, as the arming record says, and reads a bounded number of keys.
"""

from collections.abc import Mapping
from datetime import datetime

from duebell_shared.arming import ArmingRecord
from duebell_shared.instants import NEVER

from .lane_reader import LaneReader

__all__ = ["measure"]

#: Keys that each count reads at most, in all lanes together.
_MOST_READ = 2_000


def measure(
    reader: LaneReader,
    record: ArmingRecord,
    *,
    heads: Mapping[int, datetime],
    sizes: Mapping[int, int],
    now: datetime,
) -> dict[str, int]:
    """The metrics QueueDepth, Overdue and LaneBytes, but for those that cannot be told.

    heads  when the lanes that were just read must be looked at: where nothing waits nothing is counted, and
           where nothing is due nothing is overdue
    sizes  bytes that lanes hold, as far as the run's writes told
    """
    lanes = range(len(record.lanes))
    most = max(_MOST_READ // len(lanes), 1)
    waiting = [lane for lane in lanes if heads.get(lane, now) != NEVER]
    due = [lane for lane in waiting if heads.get(lane, now) <= now]
    depths = reader.counts(waiting, most=most)
    overdue = reader.counts(due, before=now, most=most)
    size = record.fullest.bytes if record.fullest else max(sizes.values(), default=None)
    return {
        **({"QueueDepth": sum(depths.values())} if depths or not waiting else {}),
        **({"Overdue": sum(overdue.values())} if overdue or not due else {}),
        **({"LaneBytes": size} if size is not None else {}),
    }
