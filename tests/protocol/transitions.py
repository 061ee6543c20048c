"""The real transitions of the arming record, in model time; what `Armer` and `Lease` pass to `change`."""

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.expression import ring_minute

from .world import HOLD, instant


def lowered(record: ArmingRecord, lane: int, due: int) -> ArmingRecord:
    """`Armer.lower`."""
    return record.lowered({lane: instant(due)})


def claimed(
    record: ArmingRecord, owner: str, now: int, until: int, only: tuple[int, ...] | None
) -> ArmingRecord:
    """`Lease.__init__`."""
    return record.claimed(owner, now=instant(now), until=instant(until), only=only)


def renewed(record: ArmingRecord, owner: str, until: int) -> ArmingRecord:
    """`Lease.renew`."""
    return record.renewed(owner, until=instant(until))


def cleared(record: ArmingRecord, owner: str) -> ArmingRecord:
    """`Lease.clear`."""
    return record.cleared(owner)


def released(
    record: ArmingRecord, owner: str, heads: tuple[tuple[int, int], ...], now: int, even_if_due: bool
) -> ArmingRecord:
    """`Lease.release`: unchanged if something is due already, unless told to."""
    given_back = record.released(owner, {lane: instant(head) for lane, head in heads})
    is_due = any(given_back.lanes[lane].due <= instant(now) for lane, _ in heads)
    return record if is_due and not even_if_due else given_back


def given_back(
    record: ArmingRecord, owner: str, heads: tuple[tuple[int, int], ...], now: int, even_if_due: bool
) -> ArmingRecord:
    """`Lease.release` by the last look: unchanged, too, if anything was added since the claim."""
    is_added = record.untouched(owner) != {lane for lane, _ in heads}
    return record if is_added else released(record, owner, heads, now, even_if_due)


def handed_over(record: ArmingRecord, owner: str, lane: int, head: int) -> ArmingRecord:
    """`Lease.hand_over`, of one lane."""
    return record.released(owner, {lane: instant(head)})


def applying(record: ArmingRecord, applier: str, now: int) -> ArmingRecord:
    """`Armer._apply`, before PutRule."""
    return record.applying(applier, until=instant(now + HOLD))


def put_done(
    record: ArmingRecord, applier: str, target: int, times: tuple[int, int], may_land_again: bool
) -> ArmingRecord:
    """`Armer._apply`, after a PutRule that was answered; `times`: when it applied, and was answered."""
    applied_at, answered_at = map(instant, times)
    return record.confirmed(
        applier,
        instant(target),
        ring_minute(instant(target), applied_at),
        now=answered_at,
        may_land_again=may_land_again,
    )


def put_refused(record: ArmingRecord, applier: str) -> ArmingRecord:
    """`Armer._apply`, after a PutRule that was refused."""
    return record.unheld() if record.applier == applier else record
