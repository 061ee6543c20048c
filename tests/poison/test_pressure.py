"""Many tasks at once, and editors that add while a run drains: all are done, few are in hand at a time."""

import threading
import time
from collections import Counter
from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell import Editor, NewTask, Status, Task, Worker
from duebell_infra.testing import MemoryStore
from duebell_shared.instants import utc_now

from .shared_memory import SharedBell, backend_of, ring_till_parked

MANY, PLACES = 1_000, 16


def test_thousands_at_once_and_a_flood_of_more_meanwhile_are_each_done_once() -> None:
    # Given many tasks that are due, added at once
    store, bell = MemoryStore(), SharedBell()
    # Pauses are short: there is no network to be kind to
    backend = backend_of(store, bell, utc_now, lambda seconds: time.sleep(seconds / 50))
    editor = Editor(backend=backend)
    now = timedelta(0)
    tasks = [NewTask(action="count", due=now, id=f"t-{number}") for number in range(MANY)]
    assert len(editor.add_many(tasks).added) == MANY

    worker = Worker(backend=backend, concurrency=PLACES)
    done: Counter[str] = Counter()
    running, most_running = 0, 0
    lock = threading.Lock()

    @worker.action("count", attempts=1)
    def count(payload: object, task: Task) -> None:
        nonlocal running, most_running
        with lock:
            done[task.id] += 1
            running += 1
            most_running = max(most_running, running)
        with lock:
            running -= 1

    # When a run drains them, and editors keep adding in threads of their own
    acknowledged = [f"t-{number}" for number in range(MANY)]

    def flood(name: int) -> None:
        for id in [f"{name}-{number}" for number in range(60)]:
            editor.add("count", due=now, id=id)
            acknowledged.append(id)

    floods = [threading.Thread(target=flood, args=(name,)) for name in range(3)]
    for thread in floods:
        thread.start()
    while any(thread.is_alive() for thread in floods):
        worker.run()

    # And the rings come that the rule is set to
    def ring(minute: datetime) -> None:
        worker.backend = replace(backend, clock=lambda: max(minute, utc_now()))
        worker.run()

    ring_till_parked(bell, ring, now=utc_now())

    # Then everything acknowledged is done, once, in as many threads at a time as there are places
    assert len(acknowledged) == MANY + 180
    assert done == Counter(acknowledged)
    assert most_running <= PLACES
    assert {task.status for task in store.tasks.values()} == {Status.DONE}
    # And the rule was never set by two at a time
    assert not bell.overlapped
