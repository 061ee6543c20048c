"""Tasks that are added while the queue is given more lanes are there once, and are done once."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from duebell import NewTask, NotArmed, Task, TaskExists, Worker
from duebell_editor.library.relane import relane
from duebell_infra.testing import InlinePool
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import History
from tests.editor.memory import Scheduler
from tests.editor.relane.scene import (
    FROM,
    HOUR,
    STEPS,
    TO,
    StepByStep,
    filled,
    misplaced,
    newcomer,
    seen_by,
    stale,
    waiting,
)
from tests.support import NOON


@pytest.mark.parametrize("if_exists", ["fail", "replace"])
@pytest.mark.parametrize("step", STEPS)
def test_a_task_that_is_added_at_any_moment_is_there_once(step: int, if_exists: Any) -> None:
    scheduler = filled()
    there = waiting(scheduler)
    old, new_ids = stale(scheduler), misplaced("new")[:3]
    added: list[Task] = []
    store = StepByStep(
        scheduler.store,
        step,
        lambda: added.extend(old.add("act", due=NOON + HOUR, id=id, if_exists=if_exists) for id in new_ids),
    )
    relane(seen_by(scheduler, store), TO)
    assert [task.id for task in added] == new_ids
    assert waiting(scheduler) == there + Counter(new_ids)
    for editor in (old, newcomer(scheduler)):
        for id in new_ids:
            assert editor.get(id).queued == NOON + HOUR
            with pytest.raises(TaskExists):
                editor.add("act", due=NOON + HOUR, id=id)
            assert editor.add("act", due=NOON + HOUR, id=id, if_exists="keep").queued == NOON + HOUR
    assert waiting(scheduler) == there + Counter(new_ids)
    assert all(newcomer(scheduler).get(id).lane in {lane_of(id, FROM), lane_of(id, TO)} for id in new_ids)


@pytest.mark.parametrize("moment", ["after the insert", "before the insert"])
@pytest.mark.parametrize("id", [None, *misplaced("new")[:4]])
def test_an_add_in_whose_midst_all_of_it_happens_is_made_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, moment: str, id: str | None
) -> None:
    old, insert = stale(scheduler), scheduler.store.insert

    def insert_and_relane(task: Task) -> bool:
        monkeypatch.undo()
        if moment == "before the insert":
            relane(scheduler.backend, TO)
            return insert(task)
        made = insert(task)
        relane(scheduler.backend, TO)
        return made

    monkeypatch.setattr(scheduler.store, "insert", insert_and_relane)
    task = old.add("act", due=HOUR, id=id)
    assert waiting(scheduler) == Counter([task.id])
    assert newcomer(scheduler).get(task.id) == task
    assert moment == "before the insert" or task.lane == lane_of(task.id, TO)


@pytest.mark.parametrize("many", [False, True])
def test_of_two_adds_of_an_id_by_fewer_and_by_more_lanes_one_is_refused_and_the_other_stays(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, *, many: bool
) -> None:
    # Given an editor that knows fewer lanes than there are, and one that knows them all
    old, id = stale(scheduler), misplaced("new")[0]
    relane(scheduler.backend, TO)
    new, insert = stale(scheduler), scheduler.store.insert
    # When the latter has found the id free, the former adds a task, and only then the latter inserts its own

    def add_and_insert(task: Task) -> bool:
        monkeypatch.undo()
        if many:
            assert old.add_many([NewTask(action="first", due=HOUR, id=id)]).added == (id,)
        else:
            assert old.add("first", due=HOUR, id=id).lane == lane_of(id, TO)
        return insert(task)

    monkeypatch.setattr(scheduler.store, "insert", add_and_insert)
    with pytest.raises(TaskExists):
        new.add("second", due=HOUR, id=id)
    # Then the first is run
    runs = Counter[str]()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("first")(lambda _, task: runs.update([task.id]))
    scheduler.clock.advance(HOUR)
    worker.run()
    assert runs == {id: 1}


@pytest.mark.parametrize("answered", [0, 2])
@pytest.mark.parametrize("if_exists", ["keep", "replace", "push"])
def test_an_add_that_is_repeated_after_an_error_changes_the_task_and_not_its_own_stray_copy(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, if_exists: Any, answered: int
) -> None:
    # Given a task that was moved to a new lane, and an editor that knows fewer lanes
    old, id = stale(scheduler), misplaced("new")[0]
    first = old.add("act", due=HOUR, id=id)
    relane(scheduler.backend, TO)
    read, answers = scheduler.store.read_record, iter(range(answered))

    def read_or_fail() -> ArmingRecord | None:
        if next(answers, None) is None:
            raise AwsUnavailable("throttled")
        return read()

    # When its add of this id inserts a copy into the earlier lane, and cannot read the record
    with monkeypatch.context() as patched:
        patched.setattr(scheduler.store, "read_record", read_or_fail)
        with pytest.raises((NotArmed, AwsUnavailable)):
            old.add("act", due=2 * HOUR, id=id, if_exists=if_exists)
    # Then its repetition is answered with the task itself, and a run starts that only
    task = old.add("act", due=2 * HOUR, id=id, if_exists=if_exists)
    assert task.lane == lane_of(id, TO)
    assert task.due == (first.due if if_exists == "keep" else NOON + 2 * HOUR)
    starts = Counter[tuple[str, int]]()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda _, task: starts.update([(task.id, task.lane)]))
    scheduler.clock.advance(2 * HOUR)
    worker.run()
    assert starts == {(id, task.lane): 1}


def test_a_batch_that_is_made_again_after_an_error_leaves_no_copy_of_itself(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a batch that was moved to a new lane, and an editor that knows fewer lanes
    old, id = stale(scheduler), misplaced("new")[0]
    old.batch(id)
    relane(scheduler.backend, TO)
    # When this editor makes the batch again, and its copy in the earlier lane cannot be moved
    with monkeypatch.context() as patched:
        patched.setattr(scheduler.store, "relocate", lambda *_, **__: [AwsUnavailable("throttled")])
        with pytest.raises(NotArmed):
            old.batch(id)
    assert scheduler.store.get(lane_of(id, FROM), id)
    # Then the call that repeats it deletes the copy
    assert old.batch(id).lane == lane_of(id, TO)
    assert scheduler.store.get(lane_of(id, FROM), id) is None


@pytest.mark.parametrize("what", ["add_many", "import"])
@pytest.mark.parametrize("moment", ["after the insert", "before the insert"])
def test_many_that_are_added_meanwhile_are_there_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, moment: str, what: str
) -> None:
    ids = misplaced("new")
    source = Scheduler.start()
    for id in ids:
        source.editor.add("act", due=HOUR, id=id)
    lines = list(source.editor.export_tasks())
    old, insert = stale(scheduler), scheduler.store.insert_many

    def insert_and_relane(tasks: Any) -> Any:
        monkeypatch.undo()
        made = insert(tasks) if moment == "after the insert" else None
        relane(scheduler.backend, TO)
        return made or insert(tasks)

    monkeypatch.setattr(scheduler.store, "insert_many", insert_and_relane)
    if what == "import":
        assert old.import_tasks(lines).written == len(ids)
        assert old.import_tasks(lines).there == len(ids)
    else:
        tasks = [NewTask(action="act", due=HOUR, id=id) for id in ids]
        report = old.add_many(tasks)
        assert (report.added, report.failures) == (tuple(ids), ())
        assert len(old.add_many(tasks, if_exists="keep").there_already) == len(ids)
        assert len(old.add_many(tasks).failures) == len(ids)
    assert waiting(scheduler) == Counter(ids)
    for id in ids if moment == "after the insert" else ():
        assert newcomer(scheduler).get(id).lane == lane_of(id, TO)


@pytest.mark.parametrize("history", History)
def test_what_is_done_while_many_are_added_and_lanes_too_is_done_once(
    monkeypatch: pytest.MonkeyPatch, history: History
) -> None:
    # Given tasks that are due at once, added by an editor that knows fewer lanes
    scheduler = Scheduler.start(Settings(history=history))
    scheduler.editor.ensure_armed()
    old, runs = stale(scheduler), Counter[str]()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda _, task: runs.update([task.id]))

    def relaned_and_run(armer: Armer, dues: Any, *, lanes: int | None = None) -> Any:
        monkeypatch.undo()
        relane(scheduler.backend, TO)
        scheduler.clock.advance(timedelta(minutes=3))
        assert worker.run().done
        return armer.lower(dues, lanes=lanes)

    # When the queue is given more and a run has had the tasks before they are armed for
    monkeypatch.setattr(Armer, "lower", relaned_and_run)
    ids = misplaced()[:3]
    old.add_many(NewTask(action="act", due=timedelta(0), id=id) for id in ids)
    scheduler.clock.advance(timedelta(minutes=5))
    worker.run()
    # Then each was done once
    assert runs == Counter(ids)
