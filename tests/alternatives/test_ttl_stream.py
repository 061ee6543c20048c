"""Expiring items: who deleted one says what it was, and a failing one holds up those behind it."""

from datetime import timedelta

from alternatives.simulated.manners import PROMISED_TTL
from alternatives.ttl_stream import DelegatingTtlStream, TtlStream

from .stage import DAY, HOUR, MINUTE, Stage


def test_only_what_the_service_deletes_is_done() -> None:
    # Given items that are put, changed, deleted by hand, and expired
    stage = Stage(TtlStream)
    for id in ("deleted", "expired"):
        stage.adds(id, HOUR)
    stage.adds("expired", HOUR)
    stage.does(lambda design: design.cancel("deleted"))
    stage.passes_until(DAY)
    assert not stage.started("deleted")
    assert stage.done("expired") == 1


def test_the_payload_is_read_from_the_item_as_it_was() -> None:
    stage = Stage(TtlStream)
    stage.adds("one", HOUR, payload={"fails": 1})
    stage.passes_until(DAY)
    assert len(stage.started("one")) == 2


def test_a_task_is_as_late_as_the_deletion() -> None:
    stage = Stage(TtlStream)
    stage.adds("one", HOUR)
    stage.passes_until(DAY)
    assert HOUR + 10 * MINUTE <= stage.started("one")[0] <= HOUR + 11 * MINUTE


def test_within_48_hours_is_all_that_is_promised() -> None:
    stage = Stage(TtlStream, PROMISED_TTL)
    for number in range(100):
        stage.adds(f"task-{number}", 3 * HOUR)
    stage.passes_until(3 * DAY)
    starts = [stage.started(f"task-{number}")[0] - 3 * HOUR for number in range(100)]
    assert max(starts) > timedelta(hours=40)
    assert max(starts) <= timedelta(hours=48, minutes=1)


def test_a_failing_task_holds_up_what_is_behind_it_for_a_day_and_its_batch_is_done_again() -> None:
    stage = Stage(TtlStream)
    stage.adds("before", HOUR)
    stage.adds("fails", HOUR, payload={"fails": -1})
    stage.adds("behind", 2 * HOUR)
    stage.passes_until(3 * DAY)
    assert stage.started("behind")[0] > DAY
    assert stage.done("before") > 1 or stage.done("behind") == 1
    assert len(stage.started("fails")) > 1000


def test_delegated_a_failing_task_holds_up_nobody_and_is_dropped_after_three_starts() -> None:
    stage = Stage(DelegatingTtlStream)
    stage.adds("fails", HOUR, payload={"fails": -1})
    stage.adds("behind", 2 * HOUR)
    stage.passes_until(3 * DAY)
    assert stage.started("behind")[0] < 3 * HOUR
    assert len(stage.started("fails")) == 3
    assert stage.account.functions.dropped == 1


def test_delegated_the_function_that_the_item_names_acts() -> None:
    stage = Stage(DelegatingTtlStream)
    stage.account.functions.deploy(
        "ttl-delegating-target", lambda event, machine: machine.act("by-target", {})
    )
    stage.adds("one", HOUR)
    stage.passes_until(3 * HOUR)
    assert stage.done("by-target") == 1
    assert not stage.started("one")
