"""The health that a long-running process tells, and what editors know of it."""

from datetime import timedelta

from duebell_shared.errors import AwsUnavailable
from duebell_worker.process.process import Health, State
from duebell_worker.run.lease import LEASE
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted


def test_it_is_well_as_long_as_it_looks(hosted: Hosted) -> None:
    assert not hosted.process.health().is_well
    hosted.add("act", NOON + MINUTE)
    seen: list[Health] = []
    for seconds in (1, 55):
        hosted.at(NOON + seconds * SECOND, lambda: seen.append(hosted.process.health()))
    hosted.run_until(NOON + 10 * MINUTE)
    assert [health.state for health in seen] == [State.WAITING, State.RUNNING]
    assert all(health.is_well for health in seen)
    assert seen[1].run
    assert hosted.process.health().state is State.DRAINING
    hosted.clock.advance(LEASE + 2 * SECOND)
    assert not hosted.process.health().is_well


def test_it_is_not_well_when_it_could_not_look_for_the_time_of_a_lease(hosted: Hosted) -> None:
    look = hosted.store.on_read

    def out() -> None:
        look()
        if hosted.clock.now > NOON:
            raise AwsUnavailable("no answer")

    hosted.store.on_read = out
    seen: list[tuple[timedelta, Health]] = []
    for seconds in range(300):
        hosted.at(
            NOON + seconds * SECOND,
            lambda: seen.append((hosted.clock.now - NOON, hosted.process.health())),
        )
    hosted.run_until(NOON + 5 * MINUTE)
    assert {health.is_well for _, health in seen} == {True, False}
    assert all(health.is_well is (after < LEASE + SECOND) for after, health in seen if health.looked_at)
    assert "no answer" in (seen[-1][1].error or "")


def test_a_process_that_is_full_of_long_actions_is_well(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    for number in range(3):  # one more than it has places for
        hosted.add("long", NOON + number * SECOND)
    seen: list[bool] = []
    for minutes in range(1, 60):
        hosted.at(NOON + minutes * MINUTE, lambda: seen.append(hosted.process.health().is_well))
    hosted.run_until(NOON + 3 * HOUR)
    assert len(seen) == 59
    assert all(seen)


def test_its_actions_are_known_to_editors(hosted: Hosted) -> None:
    hosted.run_until(NOON + MINUTE)
    worker = hosted.editor.worker()
    assert worker
    assert "act" in {action.name for action in worker.actions}
