"""Django's priorities are duebell's, and those of the results are Django's again."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import HOUR, SHOP, TASKS

# isort: split
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import override_settings

from duebell.contrib.django.results import stored_priority
from duebell.testing import Rehearsal
from tests.contrib.shop import tasks

EVERY = range(-100, 101)


@contextmanager
def default_priority(priority: int) -> Iterator[None]:
    options = {**TASKS["OPTIONS"], "default_priority": priority}
    with override_settings(TASKS={"default": {**TASKS, "OPTIONS": options}}):
        yield


@pytest.mark.parametrize(
    ("default", "stored"),
    [
        (0, {-100: 0, -1: 0, 0: 0, 1: 1, 11: 1, 12: 2, 50: 5, 89: 9, 100: 9}),
        (5, {-100: 0, -81: 0, -80: 1, -1: 4, 0: 5, 1: 6, 25: 6, 26: 7, 100: 9}),
        (9, {-100: 0, -1: 8, 0: 9, 1: 9, 100: 9}),
    ],
)
def test_priorities_share_what_is_above_and_below_the_default(default: int, stored: dict[int, int]) -> None:
    assert {priority: stored_priority(priority, default=default) for priority in stored} == stored
    every = [stored_priority(priority, default=default) for priority in EVERY]
    assert every == sorted(every)
    assert set(every) == set(range(10))


def test_a_priority_is_stored_and_told(rehearsal: Rehearsal) -> None:
    result = tasks.mail.using(priority=50).enqueue(7)
    assert result.task.priority == 50
    assert rehearsal.editor.get(result.id).priority == 5
    assert tasks.mail.get_result(result.id) == result
    # And still when the task is done
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    assert (result.status, result.task.priority) == ("SUCCESSFUL", 50)
    # And it is that with which the task was enqueued, also if the stored one is changed
    other = tasks.mail.using(priority=50).enqueue(7)
    rehearsal.editor.update(other.id, priority=9)
    assert tasks.mail.get_result(other.id).task.priority == 50


def test_a_task_of_the_default_priority_is_stored_as_without(rehearsal: Rehearsal) -> None:
    stored = rehearsal.editor.get(tasks.mail.enqueue(7).id)
    assert (stored.priority, sorted(stored.payload)) == (0, ["args", "backend", "kwargs", "queue_name"])
    # And one that was added by hand has it, too
    rehearsal.editor.add(f"{SHOP}.mail", due=HOUR, payload={"args": [7]}, id="by hand")
    assert tasks.mail.get_result("by hand").task.priority == 0


def test_the_option_leaves_room_below_the_default(rehearsal: Rehearsal) -> None:
    with default_priority(5):
        results = [tasks.mail.using(priority=priority).enqueue(priority) for priority in (-50, 0, 50)]
        assert [rehearsal.editor.get(one.id).priority for one in results] == [2, 5, 7]
        assert [tasks.mail.get_result(one.id).task.priority for one in results] == [-50, 0, 50]
    without = tasks.mail.using(priority=-50).enqueue(7)
    assert rehearsal.editor.get(without.id).priority == 0
    assert tasks.mail.get_result(without.id).task.priority == -50
