"""A lane that is nearly full: what is in it runs and ends, while nothing can be added."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, Retry, Status, Task, Then, Worker
from duebell_shared.errors import QueueFull
from duebell_shared.queue.lane_sizes import GIGABYTE
from tests.simulation.wire.dynamodb import DynamoDb, LaneSizes
from tests.support import Clock

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def sizes(tables: Mapping[str, DynamoDb]) -> LaneSizes:
    """The bytes that lanes hold, and the most that they may hold."""
    return tables["duebell"].sizes


def fill(editor: Editor, sizes: LaneSizes) -> None:
    """Have every lane hold nine gigabytes, and the editor know it."""
    for lane in range(4):
        sizes.of[f"{lane}"] += 9 * GIGABYTE
    for number in range(20):
        with suppress(QueueFull):
            editor.add("done", due=timedelta(days=9), id=f"far-{number}")


@pytest.fixture
def seen(worker: Worker) -> Counter[str]:
    """The calls of an action that is done, and of one that is retried twice; another one always fails."""
    seen: Counter[str] = Counter()

    @worker.action("done")
    def done() -> None:
        seen["done"] += 1

    @worker.action("retried", attempts=5)
    def retried(payload: object, task: Task) -> None:
        seen["retried"] += 1
        if task.attempt < 3:
            raise Retry("not yet" * 100, after=MINUTE)

    @worker.action("failing", attempts=2)
    def failing() -> None:
        raise ValueError("\x00\U0001d11e" * 1_000)

    return seen


def test_a_queue_that_is_nearly_full_is_worked_off(
    editor: Editor, worker: Worker, clock: Clock, sizes: LaneSizes, seen: Counter[str]
) -> None:
    # Given tasks that are done, retried, given up, and that recur
    for number in range(3):
        for action in ("done", "retried", "failing"):
            editor.add(action, due=HOUR, id=f"{action}-{number}")
    editor.add("failing", schedule="rate(1 hour)", id="recurring")
    clock.advance(HOUR + 5 * MINUTE)
    # When all lanes are nearly full, and half a day goes by
    fill(editor, sizes)
    for _ in range(12 * 4):
        worker.run()
        clock.advance(15 * MINUTE)
    # Then each has run as often as it should
    for number in range(3):
        assert editor.get(f"done-{number}").status is Status.DONE
        assert editor.get(f"retried-{number}").attempt == 3
        assert editor.get(f"failing-{number}").status is Status.FAILED
    assert seen == {"done": 3, "retried": 3 * 3}
    assert editor.get("recurring").runs == editor.get("recurring").consecutive_failures == 12
    # And nothing can be added
    with pytest.raises(QueueFull):
        editor.add("done", due=HOUR, id="done-3")
    assert editor.add("done", due=HOUR, id="done-2", if_exists="keep").status is Status.DONE


@pytest.mark.parametrize("recurs", [False, True], ids=["once", "recurring"])
def test_a_task_whose_lane_takes_no_follow_up_ends_and_says_so(  # noqa: PLR0917
    editor: Editor, worker: Worker, clock: Clock, sizes: LaneSizes, seen: Counter[str], recurs: bool
) -> None:
    # Given tasks with follow-ups, whose lanes are nearly full when they are due
    ids = {"done", "failing"}
    for action in ids:
        when: dict[str, Any] = {"schedule": "rate(1 hour)", "max_runs": 3} if recurs else {"due": HOUR}
        editor.add(action, id=action, then=Then("done"), on_failed="done", **when)
    clock.advance(HOUR)
    # When time goes by
    fill(editor, sizes)
    for _ in range(20):
        worker.run()
        clock.advance(15 * MINUTE)
    # Then each has run as often as it should, ended, and says so
    assert seen["done"] == (3 if recurs else 1)
    for id in ids:
        task = editor.get(id)
        assert task.status is (Status.DONE if id == "done" else Status.FAILED)
        assert task.owes is None
        assert "holds nearly 10 GB" in (task.follow_up_error or "")
