"""A change of the record that begins without a read, and that takes hold of the rule by the same write."""

from datetime import timedelta

import pytest

from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import MOST_SKEW
from tests.shared.fake_events import FakeEvents, silence
from tests.shared.shared_store import SharedStore
from tests.support import NOON, Clock, SetFor

SECOND = timedelta(seconds=1)
DUE = NOON + timedelta(hours=1)
LATER = NOON + timedelta(days=1)


def lower(record: ArmingRecord) -> ArmingRecord:
    return record.lowered({0: DUE})


@pytest.fixture
def seen(armer: Armer, store: SharedStore, eventbridge: FakeEvents) -> ArmingRecord:
    """The record of an empty queue, whose rule is parked; nothing is counted yet."""
    record = armer.ensure()
    store.reads = store.swaps = 0
    eventbridge.put.clear()
    return record


# `change` begins with the record as it was seen last.


def test_a_change_of_a_record_that_others_changed_is_tried_again_at_once_on_the_newest(
    armer: Armer, seen: ArmingRecord, store: SharedStore, clock: Clock
) -> None:
    # Given another process that has changed it
    store.now_holds(seen.lowered({1: LATER}))
    # When the change begins with what was seen before
    changed = armer.change(lower, seen=seen)
    # Then both changes are in the record, and nobody has waited
    assert [lane.due for lane in changed.lanes] == [DUE, LATER]
    assert changed == armer.read()
    assert clock.now == NOON


# `change` takes hold of the rule, and `ensure` goes on from there.


def test_one_write_changes_the_record_and_takes_hold_of_the_rule(
    armer: Armer, seen: ArmingRecord, store: SharedStore, eventbridge: FakeEvents
) -> None:
    # When a change takes hold of the rule
    held = armer.change(lower, seen=seen, applier="me")
    # Then one write has done both, and the rule's minute counts as unknown from now on
    assert (held.target, held.applier, held.applier_until) == (DUE, "me", NOON + HOLD)
    assert (held.armed, held.rings_at) == (None, None)
    # And setting the rule reads nothing, and writes only what it has confirmed
    settled = armer.ensure(held, applier="me")
    assert (settled.armed, settled.applier) == (DUE, None)
    assert (store.reads, store.swaps, len(eventbridge.put)) == (0, 2, 1)
    assert eventbridge.expression == SetFor(DUE)


@pytest.mark.parametrize("behind", [timedelta(0), MOST_SKEW - SECOND])
def test_no_hold_is_taken_of_a_rule_that_another_process_is_setting(
    armer: Armer,
    seen: ArmingRecord,
    store: SharedStore,
    eventbridge: FakeEvents,
    clock: Clock,
    *,
    behind: timedelta,
) -> None:
    # Given another process that has just taken hold of the rule, perhaps by a clock that is behind
    until = NOON + HOLD - behind
    theirs = store.now_holds(seen.applying("other", until=until))
    # When the record is changed
    changed = armer.change(lower, seen=theirs, applier="me")
    # Then the hold is still the other's, and the rule is set once that is over
    assert (changed.applier, changed.applier_until) == ("other", until)
    assert armer.ensure(changed, applier="me").armed == DUE
    assert clock.now >= NOON + HOLD
    assert len(eventbridge.put) == 1


@pytest.mark.parametrize("ensure", [True, False], ids=["by itself", "by another"])
def test_a_call_without_an_answer_keeps_the_hold_to_its_end(
    armer: Armer,
    seen: ArmingRecord,
    eventbridge: FakeEvents,
    clock: Clock,
    *,
    ensure: bool,
) -> None:
    # Given a rule whose setting is not answered
    held = armer.change(lower, seen=seen, applier="me")
    rule_set_at: list[timedelta] = []

    def note() -> None:
        rule_set_at.append(clock.now - NOON)

    def note_and_be_silent() -> None:
        note()
        silence(clock)()

    eventbridge.troubles["PutRule"] = [note_and_be_silent, note_and_be_silent, note]
    # When it is set all the same
    settled = armer.ensure(held, applier="me") if ensure else _ensure_after(armer, held)
    # Then that was not before the hold ended, within which the call may have taken effect
    assert settled.armed == DUE
    *_, last = rule_set_at
    assert HOLD <= last <= 2 * HOLD
    assert len(rule_set_at) == 3


def _ensure_after(armer: Armer, held: ArmingRecord) -> ArmingRecord:
    """Have another process set the rule when the first has given up."""
    own_sleep, armer._sleep = armer._sleep, _give_up
    with pytest.raises(GivenUp):
        armer.ensure(held, applier="me")
    armer._sleep = own_sleep
    return armer.ensure()


class GivenUp(BaseException):
    """The process ends while it waits."""


def _give_up(_: float) -> None:
    raise GivenUp


def test_a_write_whose_answer_was_lost_is_not_taken_for_another_processs(
    armer: Armer, seen: ArmingRecord, store: SharedStore, clock: Clock, eventbridge: FakeEvents
) -> None:
    # Given a write that takes effect, and is refused when the SDK tries it again
    tries: list[ArmingRecord] = []
    swap_record = store.swap_record

    def swap(old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        store.swap_record = swap_record  # type: ignore[method-assign]
        assert swap_record(old, new)
        return None

    store.swap_record = swap  # type: ignore[method-assign]

    def change(record: ArmingRecord) -> ArmingRecord:
        tries.append(record)
        return lower(record)

    # When the record is changed by it, and the rule is to be set
    held = armer.change(change, seen=seen, applier="me")
    settled = armer.ensure(held, applier="me")
    # Then the change is made once, and the rule is set at once: the hold is its own
    assert len(tries) == 1
    assert settled.armed == DUE
    assert clock.now < NOON + SECOND
    assert len(eventbridge.put) == 1
