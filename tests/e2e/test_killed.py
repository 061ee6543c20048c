"""Processes killed for real, with SIGKILL, in the middle of their work: nothing lost, little done twice."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duebell import Editor, Status
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.instants import utc_now
from tests.e2e.support import HERE, wait_for

pytestmark = pytest.mark.e2e

#: Seconds: a lease's end, the minute after it, and all that a busy machine adds.
PATIENCE = 420.0

#: How many actions a worker runs at a time.
PLACES = 16

SMALL, LARGE = 40, 300


class Scene:
    """Tasks that note their starts in a file, some of which wait for a gate to open."""

    def __init__(self, stack: EmbeddedStack, folder: Path, name: str) -> None:
        self.stack = stack
        self.name = name
        self.starts = folder / "starts"
        self.gate = folder / "gate"
        self.starts.touch()

    @property
    def editor(self) -> Editor:
        return Editor(self.stack.settings, session=self.stack.session)

    def tasks(self, count: int, *, free: int) -> list[dict[str, Any]]:
        """So many tasks, of which the first few need not wait for the gate."""
        return [
            {
                "action": "pass_gate",
                "id": f"{self.name}-{number}",
                "payload": {
                    "starts": str(self.starts),
                    **({} if number < free else {"gate": str(self.gate)}),
                },
            }
            for number in range(count)
        ]

    def ring(self) -> None:
        """As the rule would, in a minute or two."""
        name = self.stack.settings.table
        self.stack.session.client("lambda").invoke(FunctionName=name, InvocationType="Event")

    def started(self) -> list[tuple[str, int]]:
        """The ids that were started, and in which processes."""
        lines = self.starts.read_text().splitlines()
        return [(id, int(process)) for id, process in (line.split() for line in lines)]

    def is_in_the_middle(self) -> bool:
        """Whether some are done, some run, and some have not started."""
        return len({id for id, _ in self.started()}) == PLACES + SMALL // 4

    def wait_till_done(self, ids: Iterable[str]) -> None:
        """Until each is done; what was done twice is printed."""
        left = set(ids)

        def all_done() -> bool:
            left.difference_update(
                [id for id in sorted(left)[:50] if self.editor.get(id).status is Status.DONE]
            )
            return not left

        wait_for(all_done, patience=PATIENCE)

    def duplicates(self) -> int:
        """How many starts there were beyond the first of each task; they are reported."""
        starts = Counter(id for id, _ in self.started())
        beyond = starts.total() - len(starts)
        print(f"{self.name}: {len(starts)} tasks, {beyond} of them started twice or more often")
        return beyond


def add_small_batch(scene: Scene) -> list[str]:
    """A batch of which a quarter is done before the rest waits for the gate; in order of due."""
    free = SMALL // 4
    tasks = scene.tasks(SMALL, free=free)
    for task in tasks:
        task["due"] = timedelta(0)
    first = scene.editor.add_many(tasks[:free])  # what is due at once runs in the order it was added in
    return [*first.added, *scene.editor.add_many(tasks[free:]).added]


def test_a_worker_killed_in_the_middle_of_a_batch(stack: EmbeddedStack, tmp_path: Path) -> None:
    # Given a run that is in the middle of a batch
    scene = Scene(stack, tmp_path, "worker-killed")
    ids = add_small_batch(scene)
    scene.ring()
    wait_for(scene.is_in_the_middle)

    # When its process is killed
    _, process = scene.started()[-1]
    assert process not in {os.getpid(), os.getppid()}
    os.kill(process, signal.SIGKILL)
    scene.gate.touch()

    # Then the watchdog wakes another one, and every task comes to its end
    scene.wait_till_done(ids)
    assert {id for id, _ in scene.started()} == set(ids)
    assert len({process for _, process in scene.started()}) > 1
    # Only what was running then was started again
    assert scene.duplicates() <= PLACES


def test_an_editor_killed_in_the_middle_of_add_many(stack: EmbeddedStack, tmp_path: Path) -> None:
    # Given a process that is in the middle of adding many tasks
    scene = Scene(stack, tmp_path, "editor-killed")
    tasks = scene.tasks(LARGE, free=LARGE)
    file = tmp_path / "tasks"
    file.write_text(json.dumps(tasks))
    adding = subprocess.Popen(
        [sys.executable, str(HERE / "adding_process.py"), str(file), str(LARGE // 75)],
        env={**os.environ, **stack.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert adding.stdout
        assert adding.stdout.readline() == "in the middle\n"
    finally:
        # When it is killed
        adding.kill()
        adding.communicate()

    # Then some of them are stored, and the same call again completes them
    there = len(scene.editor.list(action="pass_gate", limit=1000).tasks) + len(scene.started())
    assert 0 < there < LARGE
    report = scene.editor.add_many([{**task, "due": utc_now()} for task in tasks], if_exists="keep")
    assert len(report.added) == LARGE
    assert not report.failures

    # And each of them runs
    scene.wait_till_done(report.added)
    assert {id for id, _ in scene.started()} == set(report.added)
    assert scene.duplicates() == 0
