"""How much memory a run needs: a fresh process that drains a hundred thousand due tasks, and one with none.

The queue is in another process, so only the worker's memory counts.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path

import msgspec

from bench.stub import stub
from duebell_editor import Settings
from duebell_infra.session import embedded_session
from duebell_worker import Worker

__all__ = ["LIMIT_MB", "Memory", "measure"]

#: How much more a run over all these tasks may need than one over none.
LIMIT_MB = 60.0

_TASKS = 100_000


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The most that the process had in memory, in MB (of 1,000,000 bytes): draining so many tasks, and
    none."""

    tasks: int
    draining_mb: float
    empty_mb: float

    @property
    def growth_mb(self) -> float:
        """What the tasks made of it."""
        return self.draining_mb - self.empty_mb


def measure() -> Memory:
    """Both processes, one after the other."""
    return Memory(tasks=_TASKS, draining_mb=_peak(_TASKS), empty_mb=_peak(0))


def _peak(tasks: int) -> float:
    with stub(tasks) as endpoint:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "bench.memory", endpoint],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            env=os.environ,
        )
    drained, peak = done.stdout.split()
    if int(drained) != tasks:
        raise RuntimeError(f"{drained} of {tasks} are done")
    return float(peak)


def _peak_of_this_process() -> float:
    """In MB. Linux counts the parent's into what getrusage says after a fork, and knows better itself."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _drain(endpoint: str) -> None:
    worker = Worker(Settings(), session=embedded_session(endpoint, "stub"))
    worker.action("act")(lambda: None)
    print(worker.run().done, _peak_of_this_process())


if __name__ == "__main__":
    _drain(sys.argv[1])
