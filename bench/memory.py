"""The memory that a run needs: a fresh process that drains a hundred thousand due tasks, and one with none.

The queue is in another process, so only the worker's memory counts.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from bench.stub import stub
from duebell import Settings, Worker
from duebell_infra.local.ministack import embedded_session

__all__ = ["LIMIT_MB", "LIMIT_MS", "Memory", "measure"]

#: The memory in MB that a run over all these tasks may need beyond that of a run over none.
LIMIT_MB = 60.0

#: The processor time for each task of a run, in ms, besides its action.
LIMIT_MS = 0.8

_TASKS = 100_000


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The most that the process had in memory, in MB (of 1,000,000 bytes): draining so many tasks, and
    none. And the processor time of the run for each of them, in ms."""

    tasks: int
    draining_mb: float
    empty_mb: float
    task_ms: float = 0.0

    @property
    def growth_mb(self) -> float:
        """The memory in MB that the tasks added."""
        return self.draining_mb - self.empty_mb


def measure() -> Memory:
    """Both processes, one after the other."""
    draining_mb, run_s = _peak(_TASKS)
    empty_mb, empty_s = _peak(0)
    task_ms = (run_s - empty_s) / _TASKS * 1000
    return Memory(tasks=_TASKS, draining_mb=draining_mb, empty_mb=empty_mb, task_ms=task_ms)


def _peak(tasks: int) -> tuple[float, float]:
    """The most memory of a run over so many tasks, in MB, and its processor time in seconds."""
    with stub(tasks) as endpoint:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "bench.memory", endpoint],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            env=os.environ,
        )
    drained, peak, run_s = done.stdout.split()
    if int(drained) != tasks:
        raise RuntimeError(f"{drained} of {tasks} are done")
    return float(peak), float(run_s)


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
    begin = time.process_time()
    done = worker.run().done
    print(done, _peak_of_this_process(), time.process_time() - begin)


if __name__ == "__main__":
    _drain(sys.argv[1])
