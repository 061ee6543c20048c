"""What a run watches while it waits: tasks that are added, and other runs that wait as well.

Problem: several runs that shared a burst would each wait for what is due soon in its own lanes, as long as
anything comes, and each of them is paid for. Solution: the first of them that has room says in the arming
record that it takes lanes over. Each of the others gives it its lanes when it has nothing to do but wait, or
when its time is over.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from duebell_shared.errors import AwsError, NotArmed

from .lease import Lease
from .log import emit

__all__ = ["Watch"]

#: While a run waits for the next due date, how often it looks at the arming record.
_WATCH = timedelta(seconds=0.25)


class Watch:
    """Looks at the arming record now and then; `at` says when next."""

    def __init__(self, run: str, lease: Lease, clock: Callable[[], datetime]) -> None:
        self.at = clock()
        self._run = run
        self._lease = lease
        self._clock = clock

    def finds(self, until: datetime, *, is_idle: bool, has_room: bool) -> bool:
        """Whether there is something to do before `until`: a task was added, or the lanes can be given away.

        is_idle   the run has nothing to do but wait: another one can do that as well
        has_room  the run can do with more lanes

        Raises LeaseLost.
        """
        if self._clock() < self.at:
            return False
        self.at = self._clock() + _WATCH
        try:
            next_due = self._lease.next_due()
            if is_idle and (self._lease.must_leave or self._lease.has_taker()):
                return True
            if has_room:
                self._lease.take_over()
            if next_due >= until:
                return False
            self._lease.clear()
        except (AwsError, NotArmed) as error:
            emit("not_watched", level=logging.WARNING, run=self._run, error=str(error))
            return False
        return True

    def stop_taking_over(self) -> None:
        """Let other runs keep their lanes: this one has all that it can do."""
        try:
            self._lease.stop_taking_over()
        except (AwsError, NotArmed) as error:
            emit("not_watched", level=logging.WARNING, run=self._run, error=str(error))
