"""A worker killed for real, with SIGKILL, in the middle of a batch: nothing lost, little done twice."""

import os
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Editor, Status
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import wait_for

pytestmark = pytest.mark.e2e

#: Seconds: a lease's end, the minute after it, and all that a busy machine adds.
PATIENCE = 420.0

#: How many actions a worker runs at a time; the tasks of the batch; those that need not wait for the gate.
PLACES, TASKS, FREE = 16, 40, 10


def test_a_worker_killed_in_the_middle_of_a_batch(
    stack: EmbeddedStack, stack_editor: Editor, tmp_path: Path
) -> None:
    # Given a batch that notes its starts in a file. A quarter is done before the rest waits for a gate
    starts, gate = tmp_path / "starts", tmp_path / "gate"
    starts.touch()

    def started() -> list[tuple[str, int]]:
        """The ids that were started, and in which processes."""
        return [(id, int(process)) for id, process in map(str.split, starts.read_text().splitlines())]

    def add(first: int, end: int, **payload: str) -> list[str]:
        given = {"action": "pass_gate", "due": timedelta(0), "payload": {"starts": str(starts), **payload}}
        tasks = [{**given, "id": f"worker-killed-{number}"} for number in range(first, end)]
        return list(stack_editor.add_many(tasks).added)

    ids = [*add(0, FREE), *add(FREE, TASKS, gate=str(gate))]  # what is due at once runs in this order
    stack.session.client("lambda").invoke(FunctionName=stack.settings.table, InvocationType="Event")
    # And a run that is in the middle of it: some are done, some run, and some have not started
    wait_for(lambda: len({id for id, _ in started()}) == PLACES + FREE)

    # When its process is killed
    _, process = started()[-1]
    assert process not in {os.getpid(), os.getppid()}
    os.kill(process, signal.SIGKILL)
    gate.touch()

    # Then the watchdog wakes another one, and every task comes to its end
    left = set(ids)

    def all_done() -> bool:
        done = [id for id in sorted(left)[:50] if stack_editor.get(id).status is Status.DONE]
        left.difference_update(done)
        return not left

    wait_for(all_done, patience=PATIENCE)
    assert {id for id, _ in started()} == set(ids)
    assert len({process for _, process in started()}) > 1
    # Only what was running then was started again
    counts = Counter(id for id, _ in started())
    assert counts.total() - len(counts) <= PLACES
