"""The long-running process that runs belong to, as they see it: how often it looks, and when it is to end."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import NEVER

if TYPE_CHECKING:
    from duebell_worker.run.attempt import Attempt

#: A process claims lanes this long before something is due in them: time enough to set the rule, and to try
#: that again.
_AHEAD = timedelta(seconds=10)

#: A run that has nothing under way ends after this time, even if the next one begins at once: only the end of
#: a run measures the queue, and says in the arming record and the log what came of it.
_LONGEST_STAY = timedelta(minutes=5)

#: However seldom it looks, a process notices within this time that it is to end.
_NOTICE = timedelta(seconds=1)


@dataclass(eq=False)
class Host:
    """The state of a process that its runs share. Another thread may call `drain`.

    clock       the process's clock
    look_every  the time between two reads of the arming record
    looked_at   when the arming record was read or written last
    stop_at     from then on no task is started; None until the process is told to end
    leave_at    attempts that still run then are ended as failed, and retried later
    unfinished  how many attempts were ended so
    """

    clock: Callable[[], datetime]
    look_every: timedelta
    looked_at: datetime | None = None
    stop_at: datetime | None = None
    leave_at: datetime | None = None
    unfinished: int = 0
    _outliving: "list[Attempt]" = field(default_factory=list)

    @property
    def outliving(self) -> "list[Attempt]":
        """The attempts that still run, although their run lost its lease. Their outcomes are not recorded.

        Problem: no run waits for them. Solution: they keep their places, so that the process never runs more
        actions at a time than it has places; and when it ends, they have the time that others have.
        """
        self._outliving = [attempt for attempt in self._outliving if attempt.is_running]
        return self._outliving

    @property
    def kept_places(self) -> int:
        """The number of places that attempts keep whose run lost its lease."""
        return sum(attempt.has_place for attempt in self.outliving)

    def keep(self, attempts: "Iterable[Attempt]") -> None:
        """Note the attempts that are under way in a run that lost its lease."""
        self._outliving += attempts

    def looked(self) -> None:
        """Note that the arming record was read or written now."""
        self.looked_at = self.clock()

    def drain(self, patience: timedelta) -> None:
        """Start no task from now on, and leave what still runs after this time."""
        # In this order: a run that sees the first looks at the second.
        self.leave_at = self.clock() + patience
        self.stop_at = self.leave_at - patience

    def wake_at(self, now: datetime) -> datetime:
        """The time until which a run may wait before it checks whether the process is to end."""
        return now + _NOTICE

    def claim_at(self, record: ArmingRecord, now: datetime) -> datetime:
        """The time to claim the lanes that are free: before something is due in them.

        With precision "second", the rule rings ahead of due dates: the process comes before that, or else the
        Lambda would hold the lanes.
        """
        due = NEVER if record.is_relaned(now) else record.free_due(now)
        ahead = self.ahead(record)
        return max(due - ahead, now)

    def ahead(self, record: ArmingRecord) -> timedelta:
        """The time between the claim of a lane and what is due in it."""
        return record.head_start + _AHEAD

    def is_long(self, began: datetime) -> bool:
        """Tell whether a run that began then is to end once nothing is under way."""
        return self.clock() >= began + _LONGEST_STAY
