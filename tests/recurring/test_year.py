"""Every nominal occurrence of a year is accounted for, none is doubled but by a death."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from duebell import ProblemKind
from duebell_shared.tasks.history import Occurrence, Result
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.task import Task
from tests.recurring.year import END, START, Year

pytestmark = pytest.mark.slow


def test_a_year_of_recurring_tasks() -> None:
    # It is one test, for a year takes long to play, and processes that share tests would each play it
    year = Year(seed=2027).play()
    the_year_was_a_rough_one(year)
    every_occurrence_is_accounted_for(year)
    none_is_doubled_but_by_a_death_or_a_retry(year)
    none_ran_early_and_all_are_made_up_for_where_that_is_wanted(year)
    wrong = {problem.kind for problem in year.editor.status().problems}
    assert wrong <= {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}


def nominal(task: Task, until: datetime) -> list[datetime]:
    """All that the schedule says, after it was added and up to `until`."""
    assert task.recurrence
    return task.recurrence.schedule.latest(START, until, 10_000)


def over(year: Year, task: Task) -> list[Occurrence]:
    """What is over of the task's occurrences, by when they were due."""
    return sorted((one for id, one in year.store.over if id == task.id), key=lambda one: one.due)


def the_year_was_a_rough_one(year: Year) -> None:
    assert len(year.tasks) == 200
    assert year.store.deaths > 20
    assert len(year.starts) > 10_000
    assert any(one.missed for _, one in year.store.over)
    assert {one.result for _, one in year.store.over} == set(Result)


def every_occurrence_is_accounted_for(year: Year) -> None:
    for task in year.tasks:
        dues = nominal(task, END + timedelta(days=200))
        at = 0
        for one in over(year, task):
            # Each is the schedule's next, or stands for those between
            assert one.due == dues[at + one.missed], (task.id, one)
            at += one.missed + 1
        # And what is left is the one it stands at
        assert task.status.is_finished if at == len(dues) else task.due == dues[at], task.id


def none_is_doubled_but_by_a_death_or_a_retry(year: Year) -> None:
    starts = Counter((start.id, start.due) for start in year.starts)
    attempts = Counter((id, one.due) for id, one in year.store.over for _ in range(one.attempts))
    beyond = starts - attempts
    assert beyond.total() <= year.store.deaths
    assert not [occurrence for occurrence, count in (attempts - starts).items() if count > year.store.deaths]


def none_ran_early_and_all_are_made_up_for_where_that_is_wanted(year: Year) -> None:
    for task in year.tasks:
        assert task.recurrence
        for one in over(year, task):
            assert one.lateness_ms is None or one.lateness_ms >= 0
            if task.recurrence.missed is Missed.ALL:
                assert one.missed == 0
                assert one.result is not Result.SKIPPED
