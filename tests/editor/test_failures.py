"""Failed tasks and failing recurring tasks: in the status, in the list, and in groups."""

from datetime import timedelta

import pytest

from duebell import Failure, Task
from duebell_editor.listing import failures
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import KEEP, Scheduler
from tests.editor.paging import all_ids
from tests.support import NOON

HOUR = timedelta(hours=1)
TIMEOUT = Failure(type="TimeoutError", message="the bank\ndid not answer")
DECLINED = Failure(type="CardDeclined", message="no")


def fail(scheduler: Scheduler, task: Task, failure: Failure) -> Task:
    """The task as it is stored when an attempt failed for good, now."""
    after = task.failed(failure, now=scheduler.clock.now, keep=RetentionPolicy(retention=KEEP))
    assert scheduler.store.save(task, after)
    return after


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler in which five tasks failed, one of them recurring, within five hours."""
    scheduler = Scheduler.start()
    for number, (id, action, failure) in enumerate(
        [
            ("t-1", "charge", TIMEOUT),
            ("t-2", "charge", TIMEOUT),
            ("d-1", "charge", DECLINED),
            ("m-1", "mail", TIMEOUT),
        ]
    ):
        scheduler.clock.now = NOON + number * HOUR
        fail(scheduler, scheduler.editor.add(action, due=HOUR, id=id, payload={"n": id}), failure)
    scheduler.clock.now = NOON + 4 * HOUR
    hourly = scheduler.editor.add("charge", schedule="rate(1 hour)", id="hourly")
    fail(scheduler, hourly, TIMEOUT)
    scheduler.editor.add("charge", schedule="rate(1 hour)", id="well")
    return scheduler


def listed(scheduler: Scheduler, **which: object) -> list[str]:
    return [task.id for task in scheduler.editor.list(**which).tasks]  # type: ignore[arg-type]


def test_failures_are_grouped_by_action_and_error_the_largest_first(scheduler: Scheduler) -> None:
    found = scheduler.editor.failures()
    assert [(one.action, one.error, one.failed, one.failing) for one in found.groups] == [
        ("charge", "TimeoutError", 2, ("hourly",)),
        ("mail", "TimeoutError", 1, ()),
        ("charge", "CardDeclined", 1, ()),
    ]
    largest = found.groups[0]
    assert (largest.first_at, largest.last_at) == (NOON, NOON + 4 * HOUR)
    assert "\n" not in largest.message
    assert found.is_all


def test_a_bounded_look_says_so(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MOST_READ", 3)
    found = scheduler.editor.failures()
    # Then the recurring task, and the latest of the others
    assert [(one.action, one.error) for one in found.groups] == [
        ("charge", "TimeoutError"),
        ("mail", "TimeoutError"),
        ("charge", "CardDeclined"),
    ]
    assert found.groups[0].failing == ("hourly",)
    assert not found.is_all


def test_failing_tasks_are_listed_with_the_failed_ones_the_latest_of_all(scheduler: Scheduler) -> None:
    both = ["failed", "failing"]
    assert listed(scheduler, status=both, latest_first=True) == ["hourly", "m-1", "d-1", "t-2", "t-1"]
    assert listed(scheduler, status=both) == ["t-1", "t-2", "d-1", "m-1", "hourly"]
    assert listed(scheduler, status="failing") == ["hourly"]
    # And once, where they are asked for in two ways
    assert sorted(listed(scheduler, status=["scheduled", "failing"])) == ["hourly", "well"]
    assert sorted(listed(scheduler, status="scheduled")) == ["hourly", "well"]


@pytest.mark.parametrize("latest_first", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_go_on_through_failing_and_failed(
    scheduler: Scheduler, limit: int, *, latest_first: bool
) -> None:
    for number in range(3):
        task = scheduler.editor.add("act", schedule="rate(1 hour)", id=f"also-{number}")
        fail(scheduler, task, DECLINED)
    both = ["failed", "failing"]
    found = all_ids(scheduler.editor.list, status=both, latest_first=latest_first, limit=limit)
    assert len(found) == len(set(found)) == 8
    failing, failed = (found[:4], found[4:]) if latest_first else (found[4:], found[:4])
    assert sorted(failing) == ["also-0", "also-1", "also-2", "hourly"]
    assert failed == (["m-1", "d-1", "t-2", "t-1"] if latest_first else ["t-1", "t-2", "d-1", "m-1"])


def test_tasks_are_found_by_error_and_by_text_in_their_id_or_payload(scheduler: Scheduler) -> None:
    assert listed(scheduler, status="failed", error="CardDeclined") == ["d-1"]
    assert not listed(scheduler, status="failed", error="Card")
    assert listed(scheduler, status="failed", text='"n":"m') == ["m-1"]
    assert sorted(listed(scheduler, text="el")) == ["well"]
    assert not listed(scheduler, text="nothing")
