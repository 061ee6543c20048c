"""A worker's process that may die: one run, at a given time, over a queue kept in a file.

python -m tests.poison.mortal FILE TIME
"""

import os
import pickle
import resource
import sys
from datetime import datetime
from pathlib import Path

from duebell import Editor, Worker
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from tests.support import NOON, Clock

from .shared_memory import FakeRule, LockedStore, backend_of

#: The exit status of a process that an action ended.
DIED = 17

_HEADROOM = 1 << 30
_MORSEL = 64 << 20


class Queue(LockedStore):
    """The queue and the rule, written to a file after each step: what a process leaves behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__()
        self._kept = tuple(vars(MemoryStore()))
        state, expression = pickle.loads(path.read_bytes()) if path.exists() else ({}, None)
        vars(self).update(state)
        self.rule = FakeRule(*([expression] if expression else []))

    def after_step(self) -> None:
        state = {name: vars(self)[name] for name in self._kept}
        written = self._path.with_suffix(".new")
        written.write_bytes(pickle.dumps((state, self.rule.expression)))
        written.replace(self._path)

    def backend(self, now: datetime = NOON) -> Backend:
        """A backend over it, at that time."""
        clock = Clock(now)
        return backend_of(self, self.rule, clock=clock, sleep=clock.sleep)

    def editor(self, now: datetime = NOON) -> Editor:
        """An editor of it, at that time."""
        return Editor(backend=self.backend(now))


def main(path: Path, now: datetime) -> None:
    """One run; whatever is due."""
    queue = Queue(path)
    worker = Worker(backend=queue.backend(now), concurrency=4)
    worker.action("good", attempts=5)(lambda: None)

    @worker.action("die", attempts=2)
    def die() -> None:
        os._exit(DIED)

    @worker.action("devour", attempts=2)
    def devour() -> None:
        hoard = []
        while True:
            hoard.append(bytearray(_MORSEL))

    _limit_memory()
    worker.run()
    queue.read_record()  # the rule as it stands now is kept, too
    os._exit(0)  # no waiting for threads


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        most = pages * resource.getpagesize() + _HEADROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main(Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]))
