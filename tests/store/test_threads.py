"""Threads share the queue in memory: an add of many tasks in a `Rehearsal` uses several."""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from duebell_infra.testing import MemoryStore
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON


def test_threads_leave_the_queue_complete_and_in_order() -> None:
    store = MemoryStore()
    tasks = [
        new_task(id=f"{n}", action="act", due=NOON + timedelta(seconds=n * 7 % 40), now=NOON)
        for n in range(4_000)
    ]

    def add(n: int) -> bool:
        return store.insert(tasks[n]) and (n % 4 == 0 or store.save(tasks[n], None))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(add, range(4_000)))
    finally:
        sys.setswitchinterval(before)
    left = sorted(tasks[::4], key=lambda task: (task.due, task.id))
    assert [key.id for key in store.queued(0)] == [task.id for task in left]
