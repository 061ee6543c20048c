"""`verify`: a look at the queue and at the rule itself, for what others may have done to them."""

from datetime import timedelta

import pytest

from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.errors import NotArmed
from duebell_shared.instants import MOST_SKEW
from tests.shared.fake_events import FakeEvents, refusal
from tests.shared.shared_store import SharedStore
from tests.support import NOON, Clock, SetFor

DUE = NOON + timedelta(hours=1)


def test_when_all_is_well_nothing_is_written(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents
) -> None:
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


def test_a_hold_or_a_lease_that_nobody_can_have_is_not_waited_for(
    armer: Armer, store: SharedStore, clock: Clock
) -> None:
    # Given a record in which a run and an applier have until next year
    store.wait_in_queue(0, DUE)
    until = NOON + timedelta(days=365)
    store.now_holds(armer.read().claimed("run", now=NOON, until=until).applying("me", until=until))
    # When it is verified, then it is made anew from the queue
    record = armer.verify()
    assert (record.armed, record.lanes_of("run"), clock()) == (DUE, (), NOON)


@pytest.mark.parametrize(
    ("code", "reason"),
    [("ResourceNotFoundException", "run `duebell deploy`"), ("AccessDeniedException", "AccessDenied")],
)
def test_a_rule_that_cannot_be_read_is_not_armed(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, code: str, reason: str
) -> None:
    store.wait_in_queue(0, DUE)
    armer.verify()
    eventbridge.troubles["DescribeRule"] = [refusal(code)]
    with pytest.raises(NotArmed, match=f"the (rule|schedule) could not be read: .*{reason}"):
        armer.verify()
