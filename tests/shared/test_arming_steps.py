"""The order of steps between the arming record and the rule, when one process does them."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.bell.armer import HOLD, PATIENCE, Armer
from duebell_shared.bell.bell import CALL_LIMIT
from duebell_shared.bell.expression import LEAD
from duebell_shared.errors import NotArmed
from tests.shared.fake_events import FakeEvents, refusal, silence
from tests.shared.shared_store import SharedStore
from tests.support import NOON, Clock, SetFor, minute_of

HOUR = timedelta(hours=1)
DUE = NOON + HOUR


def test_the_hold_is_longer_than_its_calls_and_shorter_than_the_lead() -> None:
    assert 2 * CALL_LIMIT < HOLD < LEAD
    assert PATIENCE > 2 * HOLD


# The record.


def test_a_record_that_keeps_changing_is_given_up_on(armer: Armer, store: SharedStore, clock: Clock) -> None:
    record = armer.read()
    store.getting_in_first = [lambda: store.now_holds(record)] * 1000
    with pytest.raises(NotArmed, match=r"kept changing: call ensure_armed\(\) to try again"):
        armer.lower({0: NOON})
    assert PATIENCE - timedelta(seconds=10) <= clock.now - NOON <= PATIENCE + timedelta(seconds=2)


# The rule.


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


# Trouble.


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


# Who calls a run directly: of all who want one at the same moment, one, and nobody once a run has come.
