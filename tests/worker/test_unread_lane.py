"""A lane that could not be read in a run's last look is read when the lanes are given back."""

from datetime import timedelta

import pytest

from duebell import Editor, Status, Worker
from duebell_shared.backend import Backend
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.memory import memory_backend
from tests.worker.refusing_store import RefusingStore
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture
def store() -> RefusingStore:
    return RefusingStore()


@pytest.fixture
def backend(clock: Clock, store: RefusingStore) -> Backend:
    return Called().by(memory_backend(clock, store, lanes=2, parallel_runs=2))


def ids_in(editor: Editor, lane: int, count: int) -> list[str]:
    return [id for n in range(99) if editor.queue.lane_of(id := f"task-{n}") == lane][:count]


def test_a_lane_whose_trouble_ended_while_others_were_counted_is_not_taken_for_empty(
    editor: Editor, backend: Backend, store: RefusingStore, clock: Clock, stage: Stage
) -> None:
    # Given a lane with some seconds' work, and one that cannot be read at first, in which a task is due
    for id in ids_in(editor, 0, 8):
        editor.add("act", due=NOON, id=id)
    [unread] = ids_in(editor, 1, 1)
    editor.add("act", due=NOON, id=unread)
    store.refuses = lambda verb, lane: (verb, lane) == ("queued", 1) and clock.now < NOON + SECOND
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(1))
    # When a run counts all lanes, to tell whether it needs help, and that count ends the trouble
    report = worker.run(time_left=10 * MINUTE)
    # Then the run does not give the lane back as if it had looked into it
    assert store.calls["count", 1] == 1
    assert (report.done, report.rings_at) == (9, None)
    assert editor.get(unread).status is Status.DONE
