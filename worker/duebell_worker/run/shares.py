"""Shares of a run's lanes, handed to further runs when more is due than one can do in time."""

import math
from datetime import datetime, timedelta

from duebell_shared.bell.run_rules import MEASURING, done_in_time
from duebell_shared.errors import AwsError, NotArmed
from duebell_shared.instants import NEVER

from .attempts import Attempts
from .context import RunContext
from .lanes import Lanes
from .lease import Lease

#: The longest wait for tasks under way in the lanes of a share, before the run gives up on sharing.
_PATIENCE = timedelta(seconds=30)


def dealt(lanes: tuple[int, ...], runs: int) -> list[tuple[int, ...]]:
    """Deal the lanes out to this many runs, or to one for each lane if there are fewer."""
    return [lanes[first::runs] for first in range(min(runs, len(lanes)))]


class Shares:
    """Decides that a run needs help, and hands lanes over as soon as nothing is under way in them."""

    def __init__(self, context: RunContext, lease: Lease, lanes: Lanes, attempts: Attempts) -> None:
        self._context = context
        self._function = context.backend.function
        # A process needs no function: others claim free lanes, and the rule rings for those that are free.
        can_share = bool(context.host or (self._function and context.stop_at))
        self._most = context.backend.settings.parallel_runs if can_share else 0
        self._lease = lease
        self._lanes = lanes
        self._attempts = attempts
        self._measured_from = context.now(), 0  # the time, and the attempts that had ended by then
        self._shares: list[tuple[int, ...]] = []
        self._share_by = NEVER
        self._handed_over: list[tuple[int, ...]] = []

    @property
    def lanes(self) -> set[int]:
        """The lanes that are about to be handed over: nothing more is started in them."""
        return {lane for share in self._shares for lane in share}

    def measure_from_now(self) -> None:
        """Measure from now on how fast the run is."""
        self._measured_from = self._context.now(), self._attempts.tally.attempts

    def change_lanes(self) -> bool:
        """Choose lanes to hand over if this run needs help, or hand over those chosen before.

        Returns whether the run must read its lanes anew.
        """
        return self._choose() or self.hand_over()

    def _choose(self) -> bool:
        """Choose the lanes for further runs if what is due takes this run too long."""
        now, ended = self._context.now(), self._attempts.tally.attempts
        since, ended_before = self._measured_from
        if not self._most or self._shares or now < since + MEASURING:
            return False
        self.measure_from_now()
        most = min(1 + self._runs_to_spare(now), len(self._lease.lanes))
        if most == 1:
            return False
        in_time = done_in_time(ended - ended_before, now - since)
        enough = math.ceil(in_time * most) + 1  # a backlog that needs more runs: counting can stop there
        backlog = sum(self._lanes.counts(self._lease.lanes, before=now, most=enough).values())
        runs = min(most, math.ceil((backlog - len(self._attempts)) / in_time))
        if self._context.host and not self._attempts.has_place and ended == ended_before:
            runs = max(runs, 2)  # actions that may take hours have all places
        if runs <= 1:
            return False
        _, *self._shares = dealt(self._lease.lanes, runs)
        busy = {key.lane for key in self._attempts.under_way()}
        idle = tuple(lane for lane in self._lease.lanes if lane not in busy)
        if self._context.host and idle and busy:  # what is under way may take hours
            self._shares = dealt(idle, runs - 1)
        self._share_by = now + _PATIENCE
        return True

    def _runs_to_spare(self, now: datetime) -> int:
        """Return how many more runs may be started, beside those that hold lanes or are about to."""
        try:
            lanes = self._context.backend.armer.read().lanes
        except (AwsError, NotArmed) as error:
            self._context.warn("not_shared", error)
            return 0
        owners = {lane.owner for lane in lanes if not lane.is_free(now)} - {self._context.id}
        to_come = [share for share in self._handed_over if all(lanes[number].due <= now for number in share)]
        return max(self._most - 1 - len(owners) - len(to_come), 0)

    def hand_over(self) -> bool:
        """Hand over the shares in whose lanes nothing is under way, and start a run for each.

        Returns whether the run must read its lanes anew: it has fewer of them, or tasks were added.
        """
        if not self._shares:
            return False
        now = self._context.now()
        busy = {key.lane for key in self._attempts.under_way()}
        ready = [share for share in self._shares if busy.isdisjoint(share)]
        if not ready:
            if now < self._share_by:
                return False
            # A task in these lanes takes long, and the others wait.
            self._shares, self._most = [], self._most if self._context.host else 0
            return True
        self._shares = [share for share in self._shares if share not in ready]
        ready = ready[: self._runs_to_spare(now)]  # other runs may have come since
        lanes = tuple(lane for share in ready for lane in share)
        if not lanes:
            return True
        try:
            self._lease.clear()
            self._lease.hand_over(self._lanes.heads(lanes))
        except (AwsError, NotArmed) as error:
            self._context.warn("not_shared", error, lanes=lanes)
        if set(lanes).isdisjoint(self._lease.lanes):
            self._handed_over += ready
            self._context.log("shared", lanes=lanes, runs=len(ready))
            for share in ready:
                if self._function:
                    self._function.start(share)
        return True
