"""The arming mends itself, or says at once what would: after lost answers, foreign edits, missing things."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import msgspec
import pytest
from botocore.exceptions import ClientError

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import HOLD, PATIENCE, Armer
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.errors import AwsUnavailable, NotArmed
from duebell_shared.instants import NEVER
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from tests.shared.on_moto import at_put_rule, rings_at, swap, unanswered
from tests.support import NOON, Calls, Clock

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

HOUR = timedelta(hours=1)
SOON = NOON + HOUR
LATER = NOON + 2 * HOUR


@pytest.fixture
def armer(backend: Backend) -> Armer:
    return backend.armer


def write(backend: Backend, id: str, due: datetime, *, lane: int = 0) -> None:
    """A task written behind the armer's back."""
    task = msgspec.structs.replace(
        new_task(id=id, action="act", due=due, payload=None, now=backend.clock()), lane=lane
    )
    assert backend.store.insert(task)


# Answers that do not come.


def test_without_an_answer_it_is_unknown_until_the_next_call_heals_it(
    armer: Armer, backend: Backend, clock: Clock
) -> None:
    # Given EventBridge that does not answer for as long as anyone waits
    at_put_rule(backend, *[unanswered(clock)] * 6)
    # When a task is added
    with pytest.raises(
        NotArmed, match=r"could not be confirmed .*: call ensure_armed\(\) to try again$"
    ) as it:
        armer.ensure(armer.lower({0: SOON}))
    # Then it was tried for as long as promised, and where the rule stands is unknown
    assert isinstance(it.value.__cause__, AwsUnavailable)
    assert clock() >= NOON + PATIENCE
    assert armer.read().armed is None
    # And once EventBridge answers again, any call sets it
    clock.advance(timedelta(minutes=2))
    armer.ensure()
    assert rings_at(backend) == SOON


def test_a_lost_answer_is_as_none(armer: Armer, backend: Backend, clock: Clock, calls: Calls) -> None:
    # Given PutRules that take effect, each with its answer lost
    at_put_rule(backend, *[unanswered(clock)] * 3, when="after")
    # When a task is added
    armer.ensure(armer.lower({0: SOON}))
    # Then the rule is set until an answer confirms it
    assert calls["PutRule"] == 4
    assert rings_at(backend) == armer.read().armed == SOON


def test_after_an_unanswered_try_the_hold_is_kept(armer: Armer, backend: Backend, clock: Clock) -> None:
    # Given a PutRule that was not answered within the hold
    at_put_rule(backend, *[unanswered(clock)] * 3)
    armer.ensure(armer.lower({0: SOON}))
    # Then it was not begun anew before the hold's end, since it might land until then
    assert clock() >= NOON + HOLD


# What someone else changed.


@pytest.mark.parametrize("expression", [SENTINEL, "rate(1 minute)", "cron(0 9 1 1 ? 2199)"])
def test_verify_sets_a_rule_right_that_someone_changed(
    armer: Armer, backend: Backend, events: "EventBridgeClient", expression: str
) -> None:
    armer.ensure(armer.lower({0: SOON}))
    write(backend, "one", SOON)
    events.put_rule(Name="duebell", ScheduleExpression=expression)
    # `ensure` trusts the record, and costs one read.
    armer.ensure()
    assert backend.rule.read().expression == expression
    # `verify` looks at the rule itself.
    armer.verify()
    assert rings_at(backend) == SOON


def test_verify_finds_what_the_record_has_forgotten(armer: Armer, backend: Backend) -> None:
    # Given tasks, and a record that someone has raised
    for lane, due in enumerate([LATER, SOON]):
        write(backend, f"in-{lane}", due, lane=lane)
    swap(backend, lambda record: ArmingRecord(lanes=(Lane(),) * 4, rev=record.rev))
    armer.ensure()
    assert rings_at(backend) is None
    # Then a look at the queue finds them
    assert armer.verify().armed == SOON
    assert rings_at(backend) == SOON


def test_verify_leaves_what_is_right_alone(armer: Armer, backend: Backend, calls: Calls) -> None:
    write(backend, "one", SOON)
    before = armer.verify()
    calls.clear()
    assert armer.verify() == before
    assert (calls["PutRule"], calls["PutItem"]) == (0, 0)


def test_verify_does_not_wait_for_a_hold_or_a_lease_that_nobody_can_have(
    armer: Armer, backend: Backend, clock: Clock
) -> None:
    # Given a record in which a run and an applier have until next year
    write(backend, "one", SOON)
    until = NOON + timedelta(days=365)
    swap(backend, lambda record: record.claimed("run", now=NOON, until=until).applying("me", until=until))
    # When it is verified
    record = armer.verify()
    # Then it is made anew from the queue
    assert (record.armed, record.lanes_of("run"), clock()) == (SOON, (), NOON)


# What cannot be mended from here.


def test_a_missing_rule_is_not_waited_for(session: boto3.Session, clock: Clock) -> None:
    # Given no rule
    armer = Backend.connect(Settings(rule="other"), session, clock=clock, sleep=clock.sleep).armer
    # When a task is added
    with pytest.raises(NotArmed) as raised:
        armer.ensure(armer.lower({0: SOON}))
    # Then it is said at once, with the way out, and nobody need wait for our hold
    assert "there is no EventBridge rule 'other' in eu-central-1: run `duebell deploy`" in str(raised.value)
    assert clock() == NOON
    assert armer.read().applier is None


def test_a_refusal_is_not_waited_for(armer: Armer, backend: Backend, clock: Clock) -> None:
    def refuse() -> None:
        denied = {"Error": {"Code": "AccessDeniedException", "Message": "may not events:PutRule"}}
        raise ClientError(denied, "PutRule")  # type: ignore[arg-type]

    at_put_rule(backend, refuse)
    with pytest.raises(NotArmed, match=r"the rule could not be set: .*may not events:PutRule"):
        armer.ensure(armer.lower({0: SOON}))
    assert (clock(), armer.read().applier) == (NOON, None)
    # Once the permission is there, the next call sets it.
    armer.ensure()
    assert rings_at(backend) == SOON


def test_a_rule_that_cannot_be_looked_at(armer: Armer, backend: Backend, events: "EventBridgeClient") -> None:
    armer.ensure()
    events.remove_targets(Rule="duebell", Ids=["worker"])
    events.delete_rule(Name="duebell")
    with pytest.raises(NotArmed, match="the rule could not be read: there is no EventBridge rule"):
        armer.verify()


# The record's own life.


def test_the_record_is_made_with_the_first_call(armer: Armer, calls: Calls) -> None:
    record = armer.read()
    assert record == ArmingRecord(lanes=(Lane(),) * 4, rev=1)
    assert (calls["PutItem"], armer.read()) == (1, record)


def test_a_queue_that_outlived_its_record_gets_one_with_all_its_lanes(
    session: boto3.Session, backend: Backend, clock: Clock
) -> None:
    # Given tasks in six lanes, and no record
    write(backend, "in-5", LATER, lane=5)
    write(backend, "in-1", SOON, lane=1)
    # When a process comes that is set up with two lanes
    settings = Settings(lanes=2)
    two = Backend.connect(settings, session, clock=clock, sleep=clock.sleep).armer
    # Then the lanes that are in use count, each due at its head
    assert [lane.due for lane in two.read().lanes] == [NEVER, SOON, NEVER, NEVER, NEVER, LATER]
    assert two.ensure().armed == SOON


def test_a_record_that_cannot_be_read_is_made_anew(armer: Armer, backend: Backend) -> None:
    armer.ensure()
    write(backend, "one", SOON)
    client: Any = boto3.client("dynamodb", region_name="eu-central-1")
    key = {"lane": {"S": "arming"}, "id": {"S": "arming"}}
    client.put_item(TableName="duebell", Item={**key, "record": {"S": "{"}, "rev": {"N": "9"}})
    record = armer.read()
    assert (record.rev, record.target, len(record.lanes)) == (10, SOON, 4)
    assert armer.ensure().armed == SOON
