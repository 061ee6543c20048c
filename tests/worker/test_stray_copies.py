"""A task that is stored in two lanes, as an add took effect after the queue was given more of them."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from duebell import Then, Worker
from duebell_editor.library.relane import relane
from duebell_infra.testing import InlinePool
from duebell_shared.errors import DuebellError
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from tests.editor.memory import Scheduler
from tests.support import NOON

FROM, TO = 4, 8
HOUR = timedelta(hours=1)

#: A task that is in another lane when there are more.
ID = next(f"t{n}" for n in range(99) if lane_of(f"t{n}", FROM) != lane_of(f"t{n}", TO))


@pytest.fixture
def scheduler() -> Scheduler:
    """A queue that was given more lanes, with a task in it."""
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    relane(scheduler.backend, TO)
    scheduler.editor.add("act", due=HOUR, id=ID)
    return scheduler


def late(scheduler: Scheduler) -> Task:
    """The same task once more, where fewer lanes would have put it."""
    task = msgspec.structs.replace(scheduler.editor.get(ID), lane=lane_of(ID, FROM))
    assert scheduler.store.insert(task)
    return task


def runs(scheduler: Scheduler) -> Counter[str]:
    """Count the runs of each task when all are due."""
    seen = Counter[str]()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda _, task: seen.update([task.id]))
    scheduler.clock.advance(HOUR)
    worker.run()
    return seen


def test_a_stray_copy_does_not_run(scheduler: Scheduler) -> None:
    late(scheduler)
    assert runs(scheduler) == {ID: 1}
    assert scheduler.editor.get(ID).status is Status.DONE
    assert (lane_of(ID, FROM), ID) not in scheduler.store.tasks


def test_a_stray_copy_of_a_task_that_has_ended_does_not_run(scheduler: Scheduler) -> None:
    assert runs(scheduler) == {ID: 1}
    late(scheduler)
    there = scheduler.store.tasks[lane_of(ID, FROM), ID]
    scheduler.store._put(msgspec.structs.replace(there, status=Status.SCHEDULED, queued=NOON, rev=1))
    assert runs(scheduler) == {}


def test_a_task_alone_runs_wherever_it_is(scheduler: Scheduler) -> None:
    late(scheduler)
    there = scheduler.store.tasks[lane_of(ID, TO), ID]
    assert scheduler.store.save(there, None)
    assert runs(scheduler) == {ID: 1}


def test_one_that_was_changed_counts_as_a_task_of_its_own(scheduler: Scheduler) -> None:
    copy = late(scheduler)
    assert scheduler.store.save(copy, copy.moved(HOUR / 2, now=NOON))
    assert runs(scheduler) == {ID: 2}


def test_a_follow_up_that_moved_to_another_lane_is_not_added_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a run that stands still before it adds a follow-up
    scheduler = Scheduler.start()
    seen = Counter[str]()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda _, task: None)
    worker.action("follow")(lambda _, task: seen.update([task.id]))
    task = next(f"t{n}" for n in range(99) if lane_of(f"t{n}/then", FROM) != lane_of(f"t{n}/then", TO))
    scheduler.editor.add("act", due=timedelta(0), id=task, then=Then("follow"))
    insert_many = scheduler.store.insert_many

    def after_others(tasks: Sequence[Task]) -> Sequence[bool | DuebellError]:
        # When the queue is given more lanes meanwhile, and another run adds the follow-up
        monkeypatch.setattr(scheduler.store, "insert_many", insert_many)
        scheduler.clock.advance(HOUR)
        relane(scheduler.backend, TO)
        worker.run()
        return insert_many(tasks)

    monkeypatch.setattr(scheduler.store, "insert_many", after_others)
    scheduler.clock.advance(HOUR)
    worker.run()

    # Then it is there once
    scheduler.clock.advance(HOUR)
    worker.run()
    assert seen == {f"{task}/then": 1}


def test_a_batch_that_is_repeated_with_fewer_lanes_in_mind_is_the_one_that_was_moved() -> None:
    # Given a batch, made by a process that does not know that the queue has more lanes by now
    scheduler = Scheduler.start()
    batch = scheduler.editor.batch(ID)
    relane(scheduler.backend, TO)
    # And a write of that call which takes effect late
    assert scheduler.store.insert(batch)
    # When the process repeats the call
    scheduler.editor.batch(ID, [{"action": "act", "due": HOUR, "id": "member"}])
    # Then there is one batch, which waits for the member
    [there] = [task for task in scheduler.store.tasks.values() if task.id == ID]
    assert there.lane == lane_of(ID, TO)
    assert there.members
    assert there.members.left == 1


@pytest.mark.parametrize("if_exists", [IfExists.KEEP, IfExists.PUSH, IfExists.REPLACE])
def test_a_task_that_is_added_again_with_fewer_lanes_in_mind_is_the_one_that_was_moved(
    if_exists: IfExists,
) -> None:
    # Given a task of a process that does not know that the queue has more lanes by now
    scheduler = Scheduler.start()
    task = scheduler.editor.add("act", due=HOUR, id=ID)
    relane(scheduler.backend, TO)
    # And a write of that call which takes effect late
    assert scheduler.store.insert(task)
    # When the process adds it again
    added = scheduler.editor.add("act", due=HOUR, id=ID, if_exists=if_exists)
    # Then that is the task that was moved, and it runs once
    assert added.lane == lane_of(ID, TO)
    assert runs(scheduler) == {ID: 1}
    assert [key for key in scheduler.store.tasks if key[1] == ID] == [(lane_of(ID, TO), ID)]


@pytest.mark.parametrize("if_exists", [IfExists.PUSH, IfExists.REPLACE])
def test_an_add_takes_the_place_of_a_copy_that_a_failed_one_has_changed(
    scheduler: Scheduler, if_exists: IfExists
) -> None:
    copy = late(scheduler)
    assert scheduler.store.save(copy, copy.moved(HOUR / 2, now=NOON))
    scheduler.editor.add("act", due=HOUR, id=ID, if_exists=if_exists)
    assert runs(scheduler) == {ID: 1}
