"""The protocol with one ingredient removed, each of which the explorer must find out."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Self

from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.expression import echo_after

from .world import Ingredients


class _NoLock(ArmingRecord, frozen=True, kw_only=True):
    """Whoever wants to calls PutRule."""

    def is_being_applied(self, now: datetime, **_: Any) -> bool:
        return False


class _NoWatchdog(ArmingRecord, frozen=True, kw_only=True):
    """A held lane is not rung for at its lease's end."""

    @property
    def target(self) -> datetime:
        return min(lane.due for lane in self.lanes)


class _KnownWhileApplying(ArmingRecord, frozen=True, kw_only=True):
    """The rule counts as armed as it was until another setting is confirmed."""

    def applying(self, applier: str, *, until: datetime) -> Self:
        return replace(self, applier=applier, applier_until=until)


class _LeaseCountsAsLook(ArmingRecord, frozen=True, kw_only=True):
    """A held lane's due is not lowered when its run's watchdog rings as early: but the run may live on."""

    def lowered(self, dues: Mapping[int, datetime]) -> Self:
        record = self
        for number, due in dues.items():
            lane = record.lanes[number]
            if due < min(lane.wake(record.head_start), lane.due):
                record = record._with({number: replace(lane, due=due)})
        return record


class _OneLaneAtATime(ArmingRecord, frozen=True, kw_only=True):
    """A run claims only the most urgent free lane: then another lane's due says nothing of this one's."""

    def claimed(self, owner: str, *, now: datetime, until: datetime, **_: Any) -> Self:
        free = [(lane.due, number) for number, lane in enumerate(self.lanes) if lane.is_free(now)]
        if not free:
            return self
        first = min(free)[1]
        return replace(self._with({first: Lane(owner=owner, until=until)}), armed=None, rings_at=None)


class _TheRestKeepsItsDue(ArmingRecord, frozen=True, kw_only=True):
    """A run that is to claim some of the free lanes leaves the others' dues as they are."""

    def claimed(self, owner: str, **given: Any) -> Self:
        claimed = super().claimed(owner, **given)
        mine = claimed.lanes_of(owner)
        return claimed._with({number: lane for number, lane in enumerate(self.lanes) if number not in mine})


class _ReleaseForgets(ArmingRecord, frozen=True, kw_only=True):
    """A run releases its lanes due at what it has read, whatever was added since."""

    def released(self, owner: str, heads: Mapping[int, datetime], **_: Any) -> Self:
        mine = [number for number in self.lanes_of(owner) if number in heads]
        return self._with({number: Lane(due=heads[number]) for number in mine})


class _QuietForEver(ArmingRecord, frozen=True, kw_only=True):
    """A lane in which nothing was due is not read again, whatever was added to it since."""

    def untouched(self, owner: str) -> set[int]:
        return set(self.lanes_of(owner))


class _LateCallsCount(ArmingRecord, frozen=True, kw_only=True):
    """Who was answered after its hold was over confirms, if nobody else came."""

    def confirmed(self, *given: Any, now: datetime, **more: Any) -> Self:
        early = now if self.applier_until > now else self.applier_until - timedelta(microseconds=1)
        return super().confirmed(*given, now=early, **more)


class _NoDispute(ArmingRecord, frozen=True, kw_only=True):
    """Who confirms after its hold is over changes nothing."""

    def disputed(self) -> Self:
        return self


class _HoldEndsWithTheAnswer(ArmingRecord, frozen=True, kw_only=True):
    """The hold ends with the answer to a second try, though the first may land yet."""

    def confirmed(self, *given: Any, **more: Any) -> Self:
        return super().confirmed(*given, **more | {"may_land_again": False})


class _AnyEcho(ArmingRecord, frozen=True, kw_only=True):
    """Any later echo is a watchdog."""

    def echoing(self, minute: datetime, lease_end: datetime) -> Self:
        echo = echo_after(minute, lease_end)
        return replace(self, armed=lease_end, rings_at=echo, echo_of=minute) if echo else self.unarmed()


class _EchoOfAnEcho(ArmingRecord, frozen=True, kw_only=True):
    """An echo that has rung is taken for a minute that the rule is set to."""

    def rung(self, now: datetime, lease_end: datetime) -> Self:
        return replace(self, echo_of=None)._rung_again(now, lease_end)

    def _rung_again(self, now: datetime, lease_end: datetime) -> Self:
        return super().rung(now, lease_end)


class _EchoForAll(ArmingRecord, frozen=True, kw_only=True):
    """An echo counts as the ring for what is due, too."""

    def is_settled(self, now: datetime) -> bool:
        return replace(self, echo_of=None, armed=self.armed and self.target).is_settled_as_set(now)

    def is_settled_as_set(self, now: datetime) -> bool:
        return super().is_settled(now)


BROKEN = {
    "lock": Ingredients(record=_NoLock),
    "watchdog": Ingredients(record=_NoWatchdog),
    "clear before read": Ingredients(clear_first=False),
    "write before lower": Ingredients(write_first=False),
    "unknown while applying": Ingredients(record=_KnownWhileApplying),
    "a lease is no look": Ingredients(record=_LeaseCountsAsLook),
    "all free lanes claimed": Ingredients(record=_OneLaneAtATime),
    "what is left free is due when any was": Ingredients(record=_TheRestKeepsItsDue),
    "release heeds what was added": Ingredients(record=_ReleaseForgets),
    "a lane that was added to is read again": Ingredients(record=_QuietForEver),
    "late calls do not count": Ingredients(record=_LateCallsCount),
    "dispute": Ingredients(record=_NoDispute),
    "echoes": Ingredients(echoes=False),
    "an unanswered try keeps the hold": Ingredients(record=_HoldEndsWithTheAnswer),
    "an echo that comes soon": Ingredients(record=_AnyEcho),
    "an echo that there is": Ingredients(record=_EchoOfAnEcho),
    "an echo is for leases": Ingredients(record=_EchoForAll),
    "what is put back counts": Ingredients(put_back=False),
    "what was changed while it ran is looked for": Ingredients(superseded=False),
}
