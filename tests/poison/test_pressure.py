"""Many tasks at once, and editors that add while a run drains: all are done, few are in hand at a time."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

from duebell import Editor, NewTask, Status, Task, Worker
from tests.support import NOON, Clock

from .shared_memory import FakeRule, LockedStore, backend_of, ring_till_parked

MANY = 2_000
PLACES = 16


def test_thousands_of_tasks_due_in_one_minute_are_each_done_once() -> None:
    # Given thousands of tasks due in one minute, added at once
    store, rule, clock = LockedStore(), FakeRule(), Clock()
    backend = backend_of(store, rule, clock=clock)
    editor = Editor(backend=backend)
    due = NOON + timedelta(minutes=10)
    tasks = [
        NewTask(action="count", due=due + timedelta(milliseconds=n % 60_000), id=f"t-{n}")
        for n in range(MANY)
    ]
    assert len(editor.add_many(tasks).added) == MANY
    assert rule.put_rules == 1

    # When the rule rings
    clock.advance(timedelta(minutes=12))
    done: Counter[str] = Counter()
    running, most_running = 0, 0
    lock = threading.Lock()

    worker = Worker(backend=backend, concurrency=PLACES)

    @worker.action("count", attempts=1)
    def count(payload: object, task: Task) -> None:
        nonlocal running, most_running
        with lock:
            done[task.id] += 1
            running += 1
            most_running = max(most_running, running)
        with lock:
            running -= 1

    report = worker.run()

    # Then each is done once, in one run, and at no time were more in hand than there are places
    assert report.done == MANY
    assert len(done) == MANY
    assert set(done.values()) == {1}
    assert most_running <= PLACES
    assert report.rings_at is None
    assert {task.status for task in store.tasks.values()} == {Status.DONE}


def test_editors_that_flood_the_queue_while_a_run_drains_it_lose_nothing() -> None:
    # Given a run that drains what editors keep adding, in threads of their own
    store, rule = LockedStore(), FakeRule()
    backend = backend_of(store, rule)
    editor = Editor(backend=backend)
    worker = Worker(backend=backend, concurrency=4)
    done: Counter[str] = Counter()
    started = threading.Event()

    @worker.action("count", attempts=1)
    def count(payload: object, task: Task) -> None:
        done[task.id] += 1  # no two attempts of one task run at a time
        started.set()

    acknowledged: list[str] = []

    def flood(name: int) -> None:
        for id in [f"{name}-{number}" for number in range(60)]:
            editor.add("count", due=timedelta(0), id=id)
            acknowledged.append(id)

    editor.add("count", due=timedelta(0), id="first")
    floods = [threading.Thread(target=flood, args=(name,)) for name in range(3)]
    for thread in floods:
        thread.start()
    while any(thread.is_alive() for thread in floods):
        worker.run()
    for thread in floods:
        thread.join()

    # When the rings come that the rule is set to
    now = datetime.now(UTC)
    ring_till_parked(rule, lambda minute: worker.run(now=max(minute, datetime.now(UTC))), now=now)

    # Then everything acknowledged is done, once; and the rule was never set by two at a time
    assert len(acknowledged) == 180
    assert set(done) == {"first", *acknowledged}
    assert set(done.values()) == {1}
    assert {task.status for task in store.tasks.values()} == {Status.DONE}
    assert not rule.overlapped
