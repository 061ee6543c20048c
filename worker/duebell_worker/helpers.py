"""The further runs that a run starts, and gives lanes to, when more is due than it can do in time."""

import logging
from datetime import datetime, timedelta

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, NotArmed
from duebell_shared.instants import NEVER

from .attempts import Attempts
from .lane_reader import LaneReader
from .lease import Lease
from .log import emit
from .sharing import Pace, shares

__all__ = ["Helpers"]

#: How long lanes that are to be handed over wait for tasks under way in them, before that is given up.
_PATIENCE = timedelta(seconds=30)


class Helpers:
    """The runs that help one run, `most` with it; 0 if there are to be none."""

    def __init__(
        self,
        run: str,
        backend: Backend,
        lease: Lease,
        reader: LaneReader,
        attempts: Attempts,
        *,
        most: int,
    ) -> None:
        self._id = run
        self._backend = backend
        self._clock = backend.clock
        self._lease = lease
        self._reader = reader
        self._attempts = attempts
        self._most = most
        self._pace = Pace(backend.clock(), 0)
        self._shares: list[tuple[int, ...]] = []
        self._share_by = NEVER
        self._handed_over: list[tuple[int, ...]] = []

    @property
    def lanes(self) -> set[int]:
        """The lanes that are about to be handed over: nothing more is started in them."""
        return {lane for share in self._shares for lane in share}

    def begin(self) -> None:
        """Measure from now on how fast the run is."""
        self._pace = Pace(self._clock(), self._attempts.tally.attempts)

    def are_needed(self) -> bool:
        """Whether what is due takes this run so long that others are to share it, from now on.

        That takes some time to tell, and to have a function to start them, and lanes to hand over.
        """
        now, ended = self._clock(), self._attempts.tally.attempts
        if not self._most or self._shares or not self._pace.can_be_told(now):
            return False
        pace, self._pace = self._pace, Pace(now, ended)
        runs = min(1 + self._room(now), len(self._lease.lanes))
        if runs == 1:
            return False
        most = pace.most_counted(now, ended, runs=runs)
        backlog = sum(self._reader.counts(self._lease.lanes, before=now, most=most).values())
        runs = min(runs, pace.runs_needed(backlog - len(self._attempts), now, ended))
        if runs <= 1:
            return False
        _, *self._shares = shares(self._lease.lanes, runs)
        self._share_by = now + _PATIENCE
        return True

    def _room(self, now: datetime) -> int:
        """How many more runs there may be, beside those that hold lanes and those that are about to come."""
        try:
            lanes = self._backend.armer.read().lanes
        except (AwsError, NotArmed) as error:
            emit("not_shared", level=logging.WARNING, run=self._id, error=str(error))
            return 0
        owners = {lane.owner for lane in lanes if not lane.is_free(now)} - {self._id}
        to_come = [share for share in self._handed_over if all(lanes[number].due <= now for number in share)]
        return max(self._most - 1 - len(owners) - len(to_come), 0)

    def take_lanes(self) -> bool:
        """Start further runs for the shares whose lanes have nothing under way, and give them these.

        Whether there are other lanes to look into now, or tasks that were added to those that are left.
        """
        if not self._shares or not self._backend.function:
            return False
        busy = {key.lane for key in self._attempts.under_way()}
        ready = [share for share in self._shares if busy.isdisjoint(share)]
        if not ready and self._clock() >= self._share_by:  # something there takes long, and holds up the rest
            self._shares, self._most = [], 0
            return True
        if not ready:
            return False
        self._shares = [share for share in self._shares if share not in ready]
        ready = ready[: self._room(self._clock())]  # other runs may have come since
        if not ready:
            return True
        lanes = tuple(lane for share in ready for lane in share)
        try:
            self._lease.clear()
            self._lease.hand_over(self._reader.heads(lanes))
        except (AwsError, NotArmed) as error:
            emit("not_shared", level=logging.WARNING, run=self._id, lanes=lanes, error=str(error))
        if set(lanes).isdisjoint(self._lease.lanes):
            self._handed_over += ready
            emit("shared", run=self._id, lanes=lanes, runs=len(ready))
            for share in ready:
                self._backend.function.start(share)
        return True
