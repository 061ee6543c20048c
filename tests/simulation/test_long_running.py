"""Histories with long-running processes beside the Lambda, which die, drain and come back."""

import pytest

from duebell_shared.settings import Precision, Settings
from tests.simulation.faults import Faults
from tests.simulation.history import Over
from tests.simulation.lateness import lateness
from tests.simulation.long_running import LongRunning
from tests.simulation.weather import CALM, ONE_LANE_OUT, ROUGH

pytestmark = pytest.mark.slow

#: Seconds: between two looks; until a run has claimed its lanes and set the rule, where a call takes up to
#: twenty milliseconds; and until the last of sixteen tasks of one moment is started, on four places.
LOOK, CLAIM, PROMPT = 1.0, 1.0, 2.5

#: Seconds until an invocation runs that an editor made: it may come first.
DELIVERED = 20.0


def play(seeds: range, faults: Faults, *, over: Over = Over.TWIN) -> list[LongRunning]:
    histories = [LongRunning(seed, faults, over=over).run() for seed in seeds]
    broken = {history.seed: problems for history in histories if (problems := history.problems())}
    assert not broken
    # They are about processes as well as about the Lambda
    assert sum(history.in_processes for history in histories) > len(histories)
    assert sum(history.invocations for history in histories) > len(histories) / 2
    return histories


def test_what_duebell_promises_holds_with_processes_that_die_and_drain() -> None:
    histories = play(range(20), ROUGH)
    assert sum(history.drained for history in histories) > 5


def test_it_holds_over_the_wire() -> None:
    play(range(3), ROUGH, over=Over.WIRE)


def test_it_holds_with_actions_that_hang_until_processes_are_worn_out() -> None:
    histories = [
        LongRunning(seed, ROUGH, actions=("hangs", "hangs", "slow", "quick"), times_out=True).run()
        for seed in range(6)
    ]
    assert not [history.problems() for history in histories if history.problems()]
    assert any(history.worn_out for history in histories)
    timings = [history.timing_out for history in histories if history.timing_out]
    assert sum(len(timing.late) for timing in timings) > len(histories)
    assert any(timing.stopped for timing in timings)


def test_it_holds_while_a_lane_is_out() -> None:
    play(range(5), ONE_LANE_OUT)


def test_a_process_starts_tasks_to_the_second_whatever_the_lambda_does() -> None:
    for precision in Precision:
        settings = Settings(precision=precision)
        for seed in range(5):
            history = LongRunning(
                seed, CALM, actions=("quick",), settings=settings, lives=1, look_every=LOOK, start_within=0
            ).run()
            assert not history.problems()
            assert not history.ran_twice()
            assert max(lateness(history), default=0) <= LOOK + CLAIM + PROMPT, f"seed {seed}"
            # The rule rings for the Lambda only where it is set so near that the process is first
            assert history.in_processes == len(history.starts)


def test_a_lambda_that_is_called_beside_it_hinders_nobody() -> None:
    settings = Settings(function="worker")
    for seed in range(5):
        history = LongRunning(seed, CALM, actions=("quick", "slow"), settings=settings, lives=1).run()
        assert not history.problems()
        assert not history.ran_twice()


def test_nothing_is_started_twice_where_processes_only_drain_in_time() -> None:
    for seed in range(5):
        history = LongRunning(seed, CALM, actions=("quick",), processes=2).run()
        assert not history.problems()
        assert not history.ran_twice()
