"""The article's single rule does what it says on whole minutes, and has the faults that its design has."""

from datetime import timedelta

from alternatives.design import Task
from alternatives.single_rule import NEVER, SingleRule

from .stage import HOUR, MINUTE, Stage


def expression(stage: Stage) -> str:
    rule = stage.account.services["events"].describe_rule(Name="single-rule")
    return str(rule["ScheduleExpression"])


def test_it_rings_for_the_earliest_and_is_parked_when_there_is_none() -> None:
    stage = Stage(SingleRule)
    assert expression(stage) == NEVER
    stage.adds("second", 2 * HOUR)
    stage.adds("first", HOUR)
    stage.adds("third", 3 * HOUR)
    assert expression(stage) == "cron(0 14 21 11 ? 2026)"
    stage.passes_until(HOUR + MINUTE)
    assert stage.done("first") == 1
    assert expression(stage) == "cron(0 15 21 11 ? 2026)"
    stage.passes_until(4 * HOUR)
    assert stage.done("third") == 1
    assert expression(stage) == NEVER


def test_it_cuts_off_the_seconds_so_that_a_task_is_rung_for_too_soon_and_never_again() -> None:
    stage = Stage(SingleRule)
    stage.adds("half-past", HOUR + timedelta(seconds=30))
    stage.passes_until(5 * HOUR)
    assert not stage.started("half-past")
    # Then it stands first, and no add sets the rule any more
    stage.adds("later", 6 * HOUR)
    stage.passes_until(10 * HOUR)
    assert not stage.started("later")


def test_a_failing_task_stops_the_rule_once_the_queue_runs_empty() -> None:
    stage = Stage(SingleRule)
    stage.adds("fails", HOUR, payload={"fails": -1})
    stage.adds("with-it", HOUR)
    stage.passes_until(2 * HOUR)
    assert stage.done("with-it") == 1
    stage.adds("later", 3 * HOUR)
    stage.passes_until(10 * HOUR)
    assert not stage.started("later")
    assert len(stage.started("fails")) == 1


def test_deploying_again_sets_the_rule_back() -> None:
    stage = Stage(SingleRule)
    stage.adds("one", HOUR)
    stage.does(lambda design: design.deploy())
    assert expression(stage) == NEVER
    stage.passes_until(5 * HOUR)
    assert not stage.started("one")


def test_of_two_services_that_add_at_once_the_later_date_may_win_the_rule() -> None:
    stage = Stage(SingleRule)
    near, far = Task(id="near", due=stage.begin + HOUR), Task(id="far", due=stage.begin + 2 * HOUR)
    stage.account.run(lambda machine: SingleRule(machine).add(near))
    stage.account.run(lambda machine: SingleRule(machine).add(far))
    stage.passes_until(5 * HOUR)
    assert stage.started("near")[0] > 2 * HOUR


def test_what_is_added_while_the_worker_finds_the_queue_empty_is_never_rung_for() -> None:
    # Given a run that has read the table, and acts for its one task
    stage = Stage(SingleRule)
    stage.adds("one", HOUR)
    stage.passes_until(HOUR + timedelta(seconds=5.4))
    assert stage.started("one")
    # When a service adds another before the run parks the rule
    while_it_runs = Task(id="while", due=stage.begin + 2 * HOUR)
    stage.account.run(lambda machine: SingleRule(machine).add(while_it_runs))
    stage.passes_until(10 * HOUR)
    assert stage.done("one") == 1
    assert expression(stage) == NEVER
    assert not stage.started("while")


def test_lambdas_own_retry_saves_it_when_its_worker_dies() -> None:
    stage = Stage(SingleRule)
    for id in ("one", "two"):
        stage.adds(id, HOUR)
    stage.dies_after("one")
    stage.passes_until(2 * HOUR)
    assert (stage.done("one"), stage.done("two")) == (2, 1)
