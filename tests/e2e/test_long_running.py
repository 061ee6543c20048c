"""Workers killed for real, in the Lambda and as `duebell worker`: nothing is lost, and little done twice."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import pytest

from duebell import Editor, Status, Task
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.instants import utc_now
from tests.e2e.support import ACTIONS, COMMAND, HERE, wait_for

pytestmark = pytest.mark.e2e

#: Seconds: a lease's end, the minute after it, and all that a busy machine adds.
PATIENCE = 420.0


class Hosted:
    """The command as a process, with what it logs; it is gone at the end of the block."""

    def __init__(self, stack: EmbeddedStack, log: Path, *options: str) -> None:
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [*COMMAND, "worker", "--actions", ACTIONS, "--health-port", "0", *options],
                cwd=HERE,
                env={**os.environ, **stack.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        wait_for(lambda: self.lines("process_started") or self.process.poll() is not None)
        assert self.process.poll() is None, self._log.read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def lines(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == event]


def add(editor: Editor, folder: Path, name: str, due: timedelta) -> Task:
    """A task that notes its start in a file of this name, and waits for the gate's file."""
    payload = {"starts": str(folder / name), "gate": str(folder / f"{name}-gate")}
    return editor.add("pass_gate", due=utc_now() + due, payload=payload, id=name)


def processes(folder: Path, name: str) -> list[int]:
    """The processes in which the task of this name was started."""
    file = folder / name
    return [int(line.split()[1]) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_process_starts_tasks_to_the_second_and_the_lambda_takes_over(
    stack: EmbeddedStack, tmp_path: Path
) -> None:
    # The editor calls no Lambda: what it adds is for the process, or for the rule.
    settings = type(stack.settings)(table=stack.settings.table, rule=stack.settings.rule)
    editor = Editor(settings, session=stack.session)
    with Hosted(stack, tmp_path / "first.log") as first:
        # Given a task that is due sooner than the rule could ring: it starts in the process, before the ring
        task = add(editor, tmp_path, "prompt", timedelta(seconds=8))
        rings_at = editor.status().rings_at
        wait_for(lambda: processes(tmp_path, task.id) == [first.process.pid])
        [served] = first.lines("health_served")
        with urllib.request.urlopen(f"http://127.0.0.1:{served['port']}/") as answer:
            assert (answer.status, json.load(answer)["state"]) == (200, "running")
        (tmp_path / "prompt-gate").touch()
        wait_for(lambda: editor.get(task.id).status is Status.DONE)
        done = editor.get(task.id)
        assert done.started_at
        assert rings_at
        assert done.due <= done.started_at < rings_at

        # When the process is killed while it runs another one
        task = add(editor, tmp_path, "taken-over", timedelta(seconds=5))
        wait_for(lambda: processes(tmp_path, task.id))
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        (tmp_path / "taken-over-gate").touch()
        # Then the rule rings for the end of its lease, and the Lambda runs the task
        wait_for(lambda: editor.get(task.id).status is Status.DONE, patience=PATIENCE)
        [died, other] = processes(tmp_path, task.id)
        assert died == first.process.pid != other

    # When another one is told to end, with an action at work that takes too long
    with Hosted(stack, tmp_path / "second.log", "--drain-seconds", "1") as second:
        task = add(editor, tmp_path, "cut-off", timedelta(seconds=3))
        wait_for(lambda: processes(tmp_path, task.id) == [second.process.pid])
        second.process.send_signal(signal.SIGTERM)
        # Then it ends, and says so by its exit status; the task is retried later
        assert second.process.wait(60) == 7
        assert second.lines("process_ended")[0]["unfinished"] == 1
        cut_off = editor.get(task.id)
        assert cut_off.status is Status.SCHEDULED
        assert cut_off.failure
        assert "--drain-seconds" in cut_off.failure.message
        record = editor.queue.store.read_record()
        assert record
        assert not [lane for lane in record.lanes if lane.owner]
        (tmp_path / "cut-off-gate").touch()
        editor.cancel(task.id)

    # And one that has nothing to do ends well
    with Hosted(stack, tmp_path / "third.log") as third:
        third.process.send_signal(signal.SIGINT)
        assert third.process.wait(60) == 0


#: Actions that a worker runs at a time, tasks of the batch, and those of them that wait for no gate.
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
