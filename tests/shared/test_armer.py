"""The order of steps between the arming record and the rule, by one process and by several."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.bell.armer import HOLD, PATIENCE, Armer
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.bell import CALL_LIMIT
from duebell_shared.bell.expression import LEAD, SENTINEL
from duebell_shared.errors import NotArmed
from duebell_shared.instants import MOST_SKEW
from tests.shared.conftest import SharedStore
from tests.shared.fake_events import FakeEvents, refusal, silence
from tests.support import NOON, Clock, SetFor, minute_of

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
DUE, EARLIER = NOON + HOUR, NOON + HOUR / 2
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


def test_a_lane_that_the_queue_does_not_have_is_refused(armer: Armer, seen: ArmingRecord) -> None:
    with pytest.raises(NotArmed, match="the queue has fewer lanes than it had: restart this process"):
        armer.lower({len(seen.lanes): DUE})


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


def test_a_call_without_an_answer_keeps_the_hold_to_its_end(
    armer: Armer, seen: ArmingRecord, eventbridge: FakeEvents, clock: Clock
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
    settled = armer.ensure(held, applier="me")
    # Then that was not before the hold ended, within which the call may have taken effect
    assert settled.armed == DUE
    assert len(rule_set_at) == 3
    assert HOLD <= rule_set_at[-1] <= 2 * HOLD


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


@pytest.mark.parametrize("behind", [1, 60])
def test_a_hold_lasts_as_long_as_it_was_meant_to_whatever_the_clocks_say(
    armer: Armer, store: SharedStore, clock: Clock, behind: int
) -> None:
    # Given a process that has just begun to set the rule, by a clock that is behind this one's
    record = armer.change(lower)
    store.now_holds(record.applying("other", until=NOON + HOLD - timedelta(seconds=behind)))
    # When this one comes, then it waits until that must be over
    assert armer.ensure().armed == DUE
    assert HOLD <= clock.now - NOON <= HOLD + timedelta(seconds=1)


def test_the_hold_is_longer_than_its_calls_and_shorter_than_the_lead() -> None:
    assert 2 * CALL_LIMIT < HOLD < LEAD
    assert PATIENCE > 2 * HOLD


def test_a_record_that_keeps_changing_is_given_up_on(
    armer: Armer, seen: ArmingRecord, store: SharedStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a record that others change before each swap
    def change_first(*_: object) -> None:
        store.now_holds(seen)

    monkeypatch.setattr(store, "swap_record", change_first)
    with pytest.raises(NotArmed, match=r"kept changing: call ensure_armed\(\) to try again"):
        armer.lower({0: NOON})
    assert PATIENCE - timedelta(seconds=10) <= clock.now - NOON <= PATIENCE + timedelta(seconds=2)


@pytest.mark.parametrize("late", [HOLD, HOLD + HOUR])
def test_a_rule_that_was_set_after_the_hold_is_set_again(
    armer: Armer, eventbridge: FakeEvents, clock: Clock, late: timedelta
) -> None:
    # Given a process that stands still in the middle of PutRule
    eventbridge.troubles["PutRule"].append(lambda: clock.advance(late))
    # When it goes on, the minute that it set may be over
    record = armer.ensure(armer.lower({0: NOON}))
    # Then it is set to one that is to come
    assert len(eventbridge.put) == 2
    assert record.rings_at
    assert record.rings_at >= clock.now + LEAD
    assert minute_of(eventbridge.expression, clock.now) == record.rings_at


@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [
        ("DescribeRule", "AccessDeniedException", "AccessDenied"),
        ("PutRule", "ResourceNotFoundException", "run `duebell deploy`"),
    ],
)
def test_waiting_does_not_mend_what_is_refused(  # noqa: PLR0917
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, clock: Clock, call: str, code: str, reason: str
) -> None:
    eventbridge.troubles[call].append(refusal(code))
    with pytest.raises(NotArmed, match=f"the {eventbridge.kind} could not be set: .*{reason}"):
        armer.ensure(armer.lower({0: DUE}))
    # It is said at once, and the next one may try at once.
    assert clock.now == NOON
    assert store.record
    assert (store.record.armed, store.record.applier) == (None, None)
    assert armer.ensure().armed == DUE
    assert clock.now == NOON


def test_a_silent_eventbridge_is_given_up_on_in_the_end(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, clock: Clock
) -> None:
    eventbridge.troubles["PutRule"] = [silence(clock)] * 1000
    with pytest.raises(NotArmed, match=r"could not be confirmed \(.*Read timeout.*\): call ensure_armed\(\)"):
        armer.ensure(armer.lower({0: DUE}))
    assert PATIENCE <= clock.now - NOON <= PATIENCE + HOLD
    # Nobody knows where the rule is; when EventBridge is back, it is set.
    eventbridge.troubles.clear()
    assert store.record
    assert store.record.armed is None
    assert armer.ensure().armed == DUE


def test_nobody_else_sets_the_rule_while_a_call_may_land_yet(
    armer: Armer, eventbridge: FakeEvents, clock: Clock
) -> None:
    # Given a rule that was set at the second try, and nobody knows about the first
    eventbridge.troubles["PutRule"] = [silence(clock)]
    record = armer.ensure(armer.lower({0: DUE}))
    assert record.is_settled(clock.now)
    held_until = record.applier_until
    # When an earlier task comes
    before = len(eventbridge.put)
    at: list[datetime] = []
    eventbridge.troubles["PutRule"] = [lambda: at.append(clock.now)]
    armer.ensure(armer.lower({1: DUE - HOUR / 2}))
    # Then the rule is set for it after the hold
    assert len(eventbridge.put) == before + 1
    assert at[0] >= held_until
    assert eventbridge.expression == SetFor(DUE - HOUR / 2)


# `verify`: a look at the queue and at the rule itself, for what others may have done to them.


def test_while_all_is_well_it_only_reads(armer: Armer, store: SharedStore, eventbridge: FakeEvents) -> None:
    store.wait_in_queue(0, DUE)
    armer.verify()
    before = store.swaps
    armer.verify()
    assert store.swaps == before
    assert len(eventbridge.put) == 1


@pytest.mark.parametrize("expression", [SENTINEL, "cron(0 13 21 11 ? 2030)"])
def test_a_rule_that_someone_changed_is_set_right(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, expression: str
) -> None:
    # Given an armed rule that someone changed by hand, or a deployment that reset it
    store.wait_in_queue(1, DUE)
    armer.verify()
    eventbridge.rule["ScheduleExpression"] = expression
    # When nobody looks, all seems well
    armer.ensure()
    assert eventbridge.expression == expression
    # Then it is found when somebody does
    armer.verify()
    assert eventbridge.expression == SetFor(DUE)


def test_a_rule_that_is_being_set_is_not_judged(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, clock: Clock
) -> None:
    # Given a rule that was confirmed, with a try that may land yet
    record = ArmingRecord(
        lanes=(Lane(due=DUE), Lane()),
        armed=DUE,
        rings_at=DUE,
        applier="other",
        applier_until=NOON + HOLD,
    )
    store.now_holds(record)
    # When somebody looks, it is left for after that
    armer.verify()
    assert eventbridge.described == 0
    clock.advance(HOLD + MOST_SKEW)
    armer.verify()
    assert eventbridge.expression == SetFor(DUE)


def test_an_unreadable_rule_is_not_armed(armer: Armer, store: SharedStore, eventbridge: FakeEvents) -> None:
    store.wait_in_queue(0, DUE)
    armer.verify()
    eventbridge.troubles["DescribeRule"] = [refusal("AccessDeniedException")]
    with pytest.raises(NotArmed, match=r"the rule could not be read: .*AccessDenied"):
        armer.verify()
