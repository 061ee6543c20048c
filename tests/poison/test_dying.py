"""Actions that take their process along: it really dies, and its watchdog wakes the next one.

python -m tests.poison.test_dying FILE TIME   is that process: one run, over a queue kept in a file
"""

import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from duebell import Editor, Status, Worker
from duebell_infra.testing import MemoryStore
from duebell_infra.testing.rehearsal import Bell
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import SENTINEL
from tests.support import NOON, Clock

from .shared_memory import backend_of, ring_till_parked

pytestmark = pytest.mark.slow

GOOD = [f"good-{number}" for number in range(12)]

#: The exit status of a process that an action ended.
DIED = 17

_HEADROOM = 1 << 30
_MORSEL = 64 << 20


class Queue(MemoryStore):
    """The queue and the rule, written to a file after each step: what a process leaves behind."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        state, self.bell = pickle.loads(path.read_bytes()) if path.exists() else ({}, Bell())
        vars(self).update(state)

    def write(self) -> None:
        state = {name: vars(self)[name] for name in vars(MemoryStore()) if name != "_lock"}
        written = self._path.with_suffix(".new")
        written.write_bytes(pickle.dumps((state, self.bell)))
        written.replace(self._path)

    def backend(self, now: datetime) -> Backend:
        clock = Clock(now)
        return backend_of(self, self.bell, clock, clock.sleep)


def _written(verb: Callable[..., Any]) -> Callable[..., Any]:
    def step(queue: Queue, *given: Any, **named: Any) -> Any:
        with queue._lock:
            result = verb(queue, *given, **named)
            queue.write()
            return result

    return step


for _name in ("swap_record", "swap", "insert", "save", "claim", "transact", "note", "relocate"):
    setattr(Queue, _name, _written(getattr(MemoryStore, _name)))


def main(path: Path, now: datetime) -> None:
    """One run; whatever is due."""
    queue = Queue(path)
    worker = Worker(backend=queue.backend(now), concurrency=4)
    worker.action("good", attempts=5)(lambda: None)
    worker.action("die", attempts=2)(lambda: os._exit(DIED))

    @worker.action("devour", attempts=2)
    def devour() -> None:
        hoard = []
        while True:
            hoard.append(bytearray(_MORSEL))

    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _HEADROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    worker.run()
    queue.read_record()  # the rule as it stands now is kept, too
    os._exit(0)  # no waiting for threads


def run(queue: Path, now: datetime) -> int:
    """One run in a process of its own; its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.poison.test_dying", str(queue), now.isoformat()],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode


only_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says how much memory a process has, and stops it"
)


@pytest.mark.parametrize("poison", ["die", pytest.param("devour", marks=only_linux)])
def test_an_action_that_takes_its_process_along_is_failed_and_the_others_are_done(
    tmp_path: Path, poison: str
) -> None:
    # Given a task that kills its process, or eats all memory, among others
    path = tmp_path / "queue"
    queue = Queue(path)
    editor = Editor(backend=queue.backend(NOON))
    for id in ("poison", *GOOD):
        editor.add("good" if id in GOOD else poison, due=timedelta(minutes=10), id=id)
    queue.read_record()

    # When the rule rings, and every dead run's watchdog does
    statuses: list[int] = []

    def ring(minute: datetime) -> None:
        statuses.append(run(path, minute))
        queue.bell.client.put_rule(Name="duebell", ScheduleExpression=Queue(path).bell.expression)

    ring_till_parked(queue.bell, ring, now=NOON)

    # Then all others are done nevertheless, and nobody paid with more than the deaths that were around
    queue = Queue(path)
    assert queue.bell.expression == SENTINEL
    editor = Editor(backend=queue.backend(NOON + timedelta(days=1)))
    others = [editor.get(id) for id in GOOD]
    assert {task.status for task in others} == {Status.DONE}
    assert max(task.attempt for task in others) <= 3
    failed = editor.get("poison")
    assert (failed.status, failed.attempt) == (Status.FAILED, 2)
    assert failed.failure
    if poison == "die":  # as often as it has attempts
        assert statuses.count(DIED) == 2
        assert failed.failure.type == "WorkerDied"
    else:
        assert 0 in statuses
        assert failed.failure.type in {"MemoryError", "WorkerDied"}


if __name__ == "__main__":
    main(Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]))
