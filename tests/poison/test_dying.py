"""Actions that take their process along: it really dies, and its watchdog wakes the next one."""

import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from duebell import Status
from duebell_shared.bell.expression import SENTINEL
from tests.support import NOON

from .mortal import DIED, Queue
from .shared_memory import ring_till_parked

pytestmark = pytest.mark.slow

SOON = timedelta(minutes=10)
GOOD = [f"good-{number}" for number in range(12)]


def run(queue: Path, now: datetime) -> int:
    """One run in a process of its own; its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.poison.mortal", str(queue), now.isoformat()],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode


def ring(path: Path) -> list[int]:
    """Let it ring for as long as it does; the exit statuses."""
    statuses: list[int] = []
    queue = Queue(path)

    def one(minute: datetime) -> None:
        statuses.append(run(path, minute))
        queue.rule.expression = Queue(path).rule.expression

    ring_till_parked(queue.rule, one, now=NOON)
    return statuses


def fill(path: Path, poison: str) -> None:
    queue = Queue(path)
    editor = queue.editor()
    for id in ("poison", *GOOD):
        editor.add("good" if id in GOOD else poison, due=SOON, id=id)
    queue.read_record()


def test_an_action_that_ends_the_process_is_failed_and_the_others_are_done(tmp_path: Path) -> None:
    # Given a task that kills its process, among others
    path = tmp_path / "queue"
    fill(path, "die")

    # When the rule rings, and every dead run's watchdog does
    statuses = ring(path)

    # Then it died as often as it has attempts, and all others are done nevertheless
    assert statuses.count(DIED) == 2
    queue = Queue(path)
    editor = queue.editor(NOON + timedelta(days=1))
    assert {editor.get(id).status for id in GOOD} == {Status.DONE}
    poison = editor.get("poison")
    assert (poison.status, poison.attempt) == (Status.FAILED, 2)
    assert poison.failure
    assert poison.failure.type == "WorkerDied"
    assert queue.rule.expression == SENTINEL
    # And nobody was made to pay with more than the deaths that were around
    assert max(editor.get(id).attempt for id in GOOD) <= 3


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says how much memory a process has, and stops it"
)
def test_an_action_that_eats_all_memory_is_failed_and_the_others_are_done(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    fill(path, "devour")

    statuses = ring(path)

    queue = Queue(path)
    editor = queue.editor(NOON + timedelta(days=1))
    assert {editor.get(id).status for id in GOOD} == {Status.DONE}
    poison = editor.get("poison")
    assert poison.status is Status.FAILED
    assert poison.failure
    assert poison.failure.type in {"MemoryError", "WorkerDied"}
    assert queue.rule.expression == SENTINEL
    assert 0 in statuses
