"""Django's priorities are duebell's, and those of the results are Django's again."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import HOUR, SHOP

# isort: split
from duebell.contrib.django.results import stored_priority
from duebell.testing import Rehearsal
from tests.contrib.shop import tasks


def test_positive_priorities_share_those_of_duebell() -> None:
    told = {-100: 0, -1: 0, 0: 0, 1: 1, 11: 1, 12: 2, 50: 5, 89: 9, 100: 9}
    assert {priority: stored_priority(priority) for priority in told} == told


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
