"""A run that has not seen all of its lanes looks again before it gives them back."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from duebell import Editor, Retry, Status, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Armer
from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.task import QueueKey, Task
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import ids_in, in_lane, memory_backend
from tests.worker.run_of_one.scene import DUE, HOUR, MINUTE, SECOND, CountingStore, HookedBell, ring
from tests.worker.stage import Stage

#: Keys that the first query of a lane reads.
PAGE = 25


class OddStore(HookedStore):
    """Does not answer the second page of a lane, or a change that takes effect, once."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses_second_page = False
        self.loses_answer_of: set[int] = set()

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        for number, key in enumerate(super().queued(lane, **bounds)):
            if number == PAGE and lane == 0 and self.refuses_second_page:
                self.refuses_second_page = False
                raise AwsUnavailable("the second page is throttled")
            yield key

    def save(self, old: Task, new: Task | None) -> bool:
        is_saved = super().save(old, new)
        if old.lane in self.loses_answer_of:
            self.loses_answer_of.clear()
            raise AwsUnavailable("it took effect")
        return is_saved


def with_two_lanes(clock: Clock) -> tuple[OddStore, Backend, Editor]:
    store = OddStore()
    backend = Called().by(memory_backend(clock, store, lanes=2, parallel_runs=2))
    return store, backend, Editor(backend=backend)


def is_rung_for(backend: Backend) -> bool:
    """Tell whether the rule rings in time for every task that waits."""
    record, store = backend.armer.read(), backend.store
    waiting = min(store.head(lane) for lane in range(len(record.lanes)))
    return record.is_settled(backend.clock()) and record.target <= waiting


def test_a_lane_with_a_page_that_could_not_be_read(clock: Clock, stage: Stage) -> None:
    # Given more due in a lane than a page has, and so much in the other that all is counted
    store, backend, editor = with_two_lanes(clock)
    for due, lane, count in ((NOON, 0, PAGE + 3), (NOON + SECOND, 1, 40)):
        editor.add_many({"action": "act", "due": due, "id": id} for id in ids_in(lane, count, lanes=2))
    clock.advance(2 * SECOND)
    store.refuses_second_page = True
    worker = Worker(backend=backend, pool=stage, concurrency=4)
    worker.action("act")(lambda: stage.sleep(1))
    # When a run has done what it saw, then it looks for the rest
    worker.run(time_left=10 * MINUTE)
    assert not store.refuses_second_page
    assert is_rung_for(backend)


def test_a_lane_whose_trouble_ended_while_others_were_counted_is_not_taken_for_empty(
    clock: Clock, stage: Stage
) -> None:
    # Given a lane with some seconds' work, and one that cannot be read at first, in which a task is due
    store, backend, editor = with_two_lanes(clock)
    for id in ids_in(0, 8, lanes=2):
        editor.add("act", due=NOON, id=id)
    [unread] = ids_in(1, 1, lanes=2)
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


class Died(BaseException):
    """The end of an editor's process."""


@pytest.mark.parametrize("how", ["move", "replace"])
def test_a_task_that_an_editor_changed_while_it_ran_and_died_before_it_lowered(
    editor: Editor,
    backend: Backend,
    bell: HookedBell,
    *,
    clock: Clock,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = Worker(backend=backend)
    died: list[str] = []
    changes = {
        "move": lambda: editor.move("a", due=DUE + HOUR),
        "replace": lambda: editor.add("act", due=DUE + HOUR, id="a", if_exists="replace"),
    }

    def die(*_: object, **__: object) -> None:
        raise Died

    @worker.action("act")
    def act() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Armer, "lower", die)
            with pytest.raises(Died):
                changes[how]()
        died.append(how)

    # Given a task, when an editor changes it as it runs, and dies between its write and the arming
    editor.add("act", due=DUE, id="a")
    ring(clock, bell)
    worker.run()
    # Then the run that finds its outcome superseded arms for it
    assert died == [how]
    assert editor.get("a").due == DUE + HOUR
    assert is_rung_for(backend)


def test_two_tasks_of_one_id_in_two_lanes_that_are_both_put_back(
    editor: Editor, backend: Backend, store: CountingStore, clock: Clock
) -> None:
    # Given a task that is there twice since a relane: both were changed since, so both stay
    id = next(id for n in range(99) if lane_of(id := f"task-{n}", 2) != lane_of(id, 4))
    editor.ensure_armed()
    new = editor.add("act", due=NOON + SECOND, id=id)
    old = msgspec.structs.replace(new, lane=lane_of(id, 2), rev=2, due=NOON, queued=NOON)
    assert store.insert(old)
    backend.armer.change(lambda record: msgspec.structs.replace(record, earlier=(2,)))
    backend.armer.lower({old.lane: NOON})
    clock.advance(MINUTE)
    worker = Worker(backend=backend)

    @worker.action("act")
    def act(_: object, task: Task) -> None:
        raise Retry(after=10 * MINUTE if task.lane == old.lane else 2 * HOUR)

    # When both are put back, then the rule rings for the earlier one
    assert worker.run().retried == 2
    assert is_rung_for(backend)


def test_a_release_whose_answer_was_lost_is_no_lost_lease(
    editor: Editor, backend: Backend, store: CountingStore, *, bell: HookedBell, clock: Clock
) -> None:
    # Given a run in the last minutes of an hour, whose watchdog rings soon enough for the next task as well:
    # so the swap that gives the lanes back does not take hold of the rule, and has no name
    worker = Worker(backend=backend)
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON + 57 * MINUTE, id=in_lane(0))
    editor.add("act", due=NOON + 59 * MINUTE + 5 * SECOND, id=in_lane(1))
    ring(clock, bell)
    store.loses_answer = store.is_release
    # When the swap that gives the lanes back takes effect, and is refused as the SDK tries it again
    began = clock.now
    report = worker.run()
    # Then the run knows its own write, and waits for nobody
    assert (report.done, report.lost_lease) == (1, False)
    assert clock.now - began < SECOND
    assert is_rung_for(backend)
