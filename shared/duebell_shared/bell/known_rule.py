"""The one rule as the arming record knows it: its next ring, and who sets it. Pure; time is an argument."""

from datetime import datetime, timedelta
from typing import Self

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import MOST_SKEW, NEVER, Instant

from .ring_times import echo_after

__all__ = ["ECHO_SOON", "KnownRule"]

#: The longest time from the end of a lease to an echo that is its watchdog: the first echo is so soon after
#: the end of each lease that begins within the ring's minute.
ECHO_SOON = timedelta(minutes=2)


class KnownRule(msgspec.Struct, frozen=True, kw_only=True):
    """The rule, as far as it is confirmed.

    armed          the target that the rule is confirmed to ring for, or the end of a lease that an echo rings
                   for; None when unknown
    rings_at       the minute it will ring in; None at the sentinel, or when unknown
    echo_of        the minute it is set to, if `rings_at` is an echo of that; else None
    applier        who may call PutRule, until `applier_until`
    """

    armed: Instant | None = None
    rings_at: Instant | None = None
    echo_of: Instant | None = None
    applier: str | None = None
    applier_until: Instant = NEVER

    @property
    def set_to(self) -> datetime | None:
        """The minute that the rule is set to; None at the sentinel, or when unknown."""
        return self.echo_of or self.rings_at

    def is_being_applied(self, now: datetime, *, skew: timedelta = MOST_SKEW) -> bool:
        """Tell whether a PutRule may be under way at this moment, or may take effect yet.

        The clock of the process that holds the rule may be behind by `skew`.
        """
        return self.applier is not None and self.applier_until + skew > now

    def applying(self, applier: str, *, until: datetime) -> Self:
        """`applier` alone may call PutRule until then; where the rule stands is unknown meanwhile."""
        return replace(self.unarmed(), applier=applier, applier_until=until)

    def confirmed(
        self,
        applier: str,
        target: datetime,
        rings_at: datetime | None,
        *,
        now: datetime,
        may_land_again: bool,
    ) -> Self:
        """`applier` has set the rule for `target`, to ring at `rings_at`, and was answered before `now`.

        Within its hold that is certain, and it gives up its hold, unless a try of its call may still take
        effect. After its hold it is not: the minute may be over, or another process may have set the rule.
        """
        if self.applier != applier:
            return self.disputed()
        if self.applier_until <= now:
            return self.disputed().unheld()
        confirmed = replace(self, armed=target, rings_at=rings_at, echo_of=None)
        return confirmed if may_land_again else confirmed.unheld()

    def unheld(self) -> Self:
        """With no applier, so that another process may set the rule."""
        return replace(self, applier=None, applier_until=NEVER)

    def disputed(self) -> Self:
        """The rule's minute is unknown. A process that is setting it cannot confirm, but keeps its hold."""
        return replace(self.unarmed(), applier=self.applier and "disputed")

    def unarmed(self) -> Self:
        """The rule's minute is unknown."""
        return replace(self, armed=None, rings_at=None, echo_of=None)

    def rung(self, now: datetime, lease_end: datetime) -> Self:
        """The rule has rung. If that was in the minute it is set to, its echo may be the watchdog."""
        has_rung = self.rings_at is not None and self.rings_at <= now and self.echo_of is None
        return self.echoing(self.rings_at, lease_end) if self.rings_at and has_rung else self.unarmed()

    def echoing(self, minute: datetime, lease_end: datetime) -> Self:
        """The rule is set to `minute`, which is over: armed if an echo comes soon after the lease's end."""
        echo = echo_after(minute, lease_end)
        if echo is None or echo > lease_end + ECHO_SOON:
            return self.unarmed()
        return replace(self, armed=lease_end, rings_at=echo, echo_of=minute)
