"""A queue in use is given more lanes: each task is there once, wherever the relaner or an add stops."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import AwsUnavailable, Editor, NewTask, NotArmed, Status, Task, TaskConflict, TaskExists, Worker
from duebell_editor.library.relane import Relaned, relane
from duebell_infra.testing import InlinePool, MemoryStore
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import InvalidSettings
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import MAX_LANES, Settings
from duebell_shared.tasks.status import History
from duebell_shared.tasks.task import QueueKey
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LEASE = 2 * MINUTE
FROM, TO = 4, 8


class StepByStep:
    """The store as one process has it, which something is done to before one of its calls."""

    def __init__(self, store: MemoryStore, step: int, then: Callable[[], object]) -> None:
        self.calls = 0
        self._store, self._step, self._then = store, step, then

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)

        def call(*given: Any, **more: Any) -> Any:
            self.calls += 1
            if self.calls == self._step:
                self._then()
            return verb(*given, **more)

        return call


def misplaced(prefix: str = "task") -> list[str]:
    """Ids that have other lanes among eight than among four."""
    return [id for n in range(40) if lane_of(id := f"{prefix}-{n}", FROM) != lane_of(id, TO)]


def fill(scheduler: Scheduler) -> dict[str, Task]:
    """A task of every status, and some more that wait; all in lanes that they have not among eight."""
    ids = misplaced()
    there = [
        scheduler.become(scheduler.editor.add("act", due=HOUR, id=id), status)
        for id, status in zip(ids, [*Status, *[Status.SCHEDULED] * 9], strict=False)
    ]
    return {task.id: task for task in there}


def record_of(scheduler: Scheduler) -> ArmingRecord:
    record = scheduler.store.record
    assert record
    return record


def newcomer(scheduler: Scheduler) -> Editor:
    """An editor of a process that was started just now."""
    return Editor(backend=scheduler.backend)


def stale(scheduler: Scheduler) -> Editor:
    """An editor that has seen the queue as it is now, and will not look again by itself."""
    editor = newcomer(scheduler)
    assert editor.queue.lanes
    return editor


def seen_by(scheduler: Scheduler, store: Any) -> Any:
    """The scheduler's backend over another store."""
    return replace(scheduler.backend, store=store)


def waiting(scheduler: Scheduler) -> Counter[str]:
    """Counts each id in the queue."""
    return Counter(key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane))


def claims(scheduler: Scheduler, run: str = "run") -> tuple[int, ...]:
    """The lanes that a run gets that comes now."""
    now = scheduler.clock.now
    record = scheduler.backend.armer.change(lambda record: record.claimed(run, now=now, until=now + LEASE))
    return record.lanes_of(run)


def started() -> Scheduler:
    """A scheduler in memory whose rule was set once."""
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    return scheduler


def filled() -> Scheduler:
    scheduler = started()
    fill(scheduler)
    return scheduler


def steps(scheduler: Scheduler) -> range:
    """The calls of the store that a relane makes."""
    store = StepByStep(scheduler.store, 0, lambda: None)
    relane(seen_by(scheduler, store), TO)
    return range(1, store.calls + 1)


STEPS = steps(filled())
scheduler = pytest.fixture(started, name="scheduler")


@pytest.mark.parametrize("to", [5, 8, 64])
def test_what_waits_is_where_its_id_is_looked_for_and_what_has_ended_is_found(
    scheduler: Scheduler, to: int
) -> None:
    before, old = fill(scheduler), stale(scheduler)
    done = relane(scheduler.backend, to)
    # Then every task is found as it was, by editors from before and after, one by one and together
    for editor in (old, newcomer(scheduler)):
        found = {id: editor.get(id) for id in before}
        assert found == editor.queue.get_many([*before, *(f"none-{n}" for n in range(20))])
        for id, task in found.items():
            moves = not task.status.is_finished
            assert task.lane == lane_of(id, to if moves else FROM)
            assert replace(task, lane=0) == replace(before[id], lane=0)
    # And the record says how it came, holds nothing any more, and the rule rings for the first of them
    record = record_of(scheduler)
    assert (len(record.lanes), record.earlier, record.relaner) == (to, (FROM,), None)
    assert not any(lane.owner for lane in record.lanes)
    assert record.rings_at == NOON + HOUR
    assert done == Relaned(lanes=to, moved=sum(task.lane != before[id].lane for id, task in found.items()))


@pytest.mark.parametrize("lanes", [0, 3, MAX_LANES + 1])
def test_fewer_lanes_or_too_many_are_refused(scheduler: Scheduler, lanes: int) -> None:
    with pytest.raises(InvalidSettings, match=r"lanes: must be 4, as many as there are, to 64"):
        relane(scheduler.backend, lanes)


def test_it_can_be_done_again_and_again(scheduler: Scheduler) -> None:
    before = fill(scheduler)
    for lanes in (5, 6, 16, 64):
        relane(scheduler.backend, lanes)
    assert record_of(scheduler).earlier == (4, 5, 6, 16)
    editor = newcomer(scheduler)
    assert {editor.get(id).status for id in before} == set(Status)
    assert all(count == 1 for count in waiting(scheduler).values())


def test_a_task_that_is_moved_while_it_is_looked_for_is_found(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task that waits where the earlier number of lanes has put it
    id = misplaced()[0]
    scheduler.editor.add("act", due=HOUR, id=id)
    scheduler.backend.armer.change(lambda record: record.relaning("me", until=NOON).widened(TO))
    editor, store = newcomer(scheduler), scheduler.store
    for name in ("get", "get_many"):
        # When it is moved just after it was not found where it belongs
        look = getattr(store, name)

        def look_and_move(*given: Any, look: Any = look) -> Any:
            found = look(*given)
            monkeypatch.undo()
            assert not found
            assert store.relocate([QueueKey(NOON, id, lane_of(id, FROM))], lanes=TO, now=NOON) == [True]
            return found

        monkeypatch.setattr(store, name, look_and_move)
        assert (editor.get(id) if name == "get" else editor.queue.get_many([id])[id]).lane == lane_of(id, TO)
        moved = store.tasks[lane_of(id, TO), id]
        assert store.save(moved, None)
        monkeypatch.undo()
        scheduler.store.insert(replace(moved, lane=lane_of(id, FROM)))


def test_ended_tasks_are_in_the_way_of_a_new_one_of_their_id_until_they_expire(scheduler: Scheduler) -> None:
    id = misplaced()[0]
    done = scheduler.become(scheduler.editor.add("act", due=HOUR, id=id), Status.DONE)
    relane(scheduler.backend, TO)
    editor = newcomer(scheduler)
    with pytest.raises(TaskExists):
        editor.add("act", due=HOUR, id=id)
    assert editor.add("act", due=HOUR, id=id, if_exists="keep") == done
    replaced = editor.add("again", due=HOUR, id=id, if_exists="replace")
    assert editor.get(id) == replaced
    assert waiting(scheduler) == Counter([id])
    scheduler.become(replaced, Status.DONE)
    scheduler.clock.advance(timedelta(days=31))
    assert editor.add("anew", due=HOUR, id=id).lane == lane_of(id, TO)
    assert editor.get(id).action == "anew"
    assert editor.queue.get_many([id])[id].action == "anew"


def test_a_generated_id_is_looked_for_nowhere(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    relane(scheduler.backend, TO)
    editor = stale(scheduler)

    def look(*_: Any) -> Any:
        pytest.fail("a look that is not needed")

    monkeypatch.setattr(scheduler.store, "get_many", look)
    editor.add("act", due=HOUR)
    assert editor.add_many([NewTask(action="act", due=HOUR)] * 3).failures == ()


# An add that was written by the earlier number of lanes, and never told of.


@pytest.mark.parametrize("status", [Status.SCHEDULED, Status.RUNNING])
def test_a_task_whose_id_is_taken_in_its_new_lane_stays_named(scheduler: Scheduler, status: Status) -> None:
    # Given a task that another editor has added meanwhile, too
    id = misplaced()[0]
    made = scheduler.editor.add("forgotten", due=HOUR, id=id)
    scheduler.become(made, status)
    scheduler.backend.armer.change(lambda record: record.relaning("dead", until=NOON).widened(TO))
    assert scheduler.store.insert(replace(made, action="added", lane=lane_of(id, TO)))
    scheduler.clock.advance(MINUTE)
    # Then it stays, and a run finds it: see duebell_shared.queue.store.drop_stray_copy
    assert relane(scheduler.backend, TO) == Relaned(lanes=TO, left=(id,))
    assert waiting(scheduler)[id] == 2
    editor = newcomer(scheduler)
    assert (editor.get(id).action, editor.queue.get_many([id])[id].action) == ("added", "added")
    assert record_of(scheduler).relaner is None


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


@pytest.mark.parametrize("many", [False, True])
def test_of_two_adds_of_an_id_by_fewer_and_by_more_lanes_one_is_refused_and_the_other_stays(
    scheduler: Scheduler, *, many: bool
) -> None:
    # Given an editor that knows fewer lanes than there are, and one that knows them all
    old, id = stale(scheduler), misplaced("new")[0]
    relane(scheduler.backend, TO)
    new = stale(scheduler)
    # When the latter has found the id free, the former adds a task, and only then the latter inserts its own

    def add_first() -> None:
        if many:
            assert old.add_many([NewTask(action="first", due=HOUR, id=id)]).added == (id,)
        else:
            assert old.add("first", due=HOUR, id=id).lane == lane_of(id, TO)

    scheduler.before("insert", add_first)
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


@pytest.mark.parametrize("what", ["add", "add_many", "import"])
@pytest.mark.parametrize("moment", ["after the insert", "before the insert"])
def test_what_is_added_while_all_of_it_happens_is_there_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, moment: str, what: str
) -> None:
    ids = misplaced("new")
    tasks = [NewTask(action="act", due=HOUR, id=id) for id in ids]
    source = Scheduler.start()
    source.editor.add_many(tasks)
    lines = list(source.editor.export_tasks())
    old, verb = stale(scheduler), "insert" if what == "add" else "insert_many"
    insert = getattr(scheduler.store, verb)

    def insert_and_relane(given: Any) -> Any:
        monkeypatch.undo()
        made = insert(given) if moment == "after the insert" else None
        relane(scheduler.backend, TO)
        return made or insert(given)

    monkeypatch.setattr(scheduler.store, verb, insert_and_relane)
    if what == "add":
        task = old.add("act", due=HOUR, id=ids[0])
        assert newcomer(scheduler).get(task.id) == task
        del ids[1:]
    elif what == "import":
        assert old.import_tasks(lines).written == len(ids)
        assert old.import_tasks(lines).there == len(ids)
    else:
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


def test_runs_leave_and_get_no_lanes_until_it_is_done(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(scheduler)
    assert claims(scheduler, "busy") == (0, 1, 2, 3)
    got: list[tuple[int, ...]] = []
    sleep = scheduler.clock.sleep

    def wait(seconds: float) -> None:
        got.append(claims(scheduler, f"run-{len(got)}"))
        assert record_of(scheduler).is_being_relaned(scheduler.clock.now)
        if len(got) == 90:
            armer = scheduler.backend.armer
            armer.change(lambda record: record.renewed("busy", until=scheduler.clock.now + LEASE))
        if len(got) == 150:
            heads = dict.fromkeys(range(FROM), scheduler.clock.now)
            scheduler.backend.armer.change(lambda record: record.released("busy", heads))
            assert claims(scheduler, "late") == ()
        sleep(seconds)

    relane(replace(scheduler.backend, sleep=wait), TO)
    assert set(got) == {()}
    assert len(got) == 150
    assert claims(scheduler) == tuple(range(TO))


def test_a_run_that_does_not_leave_is_not_pushed_out(scheduler: Scheduler) -> None:
    until = NOON + HOUR
    scheduler.backend.armer.change(lambda record: record.claimed("long", now=NOON, until=until))
    before = record_of(scheduler).lanes
    with pytest.raises(TaskConflict, match="run long still holds lanes"):
        relane(scheduler.backend, TO)
    record = record_of(scheduler)
    assert (record.lanes, record.earlier) == (before, ())


def test_the_lanes_of_a_dead_run_are_taken_when_its_lease_ends(scheduler: Scheduler) -> None:
    fill(scheduler)
    claims(scheduler, "dead")
    relane(scheduler.backend, TO)
    assert scheduler.clock.now >= NOON + LEASE
    assert claims(scheduler) == tuple(range(TO))


def test_two_at_a_time_are_one_too_many(scheduler: Scheduler) -> None:
    store = StepByStep(scheduler.store, 4, lambda: refused(scheduler))

    def refused(scheduler: Scheduler) -> None:
        with pytest.raises(TaskConflict, match="another process"):
            relane(scheduler.backend, 16)

    relane(seen_by(scheduler, store), TO)
    assert len(record_of(scheduler).lanes) == TO


class Dead(BaseException):
    """The relaner's process has died."""


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_any_moment_runs_go_on_and_it_can_be_repeated(step: int) -> None:
    scheduler = filled()
    before = dict(scheduler.store.tasks)
    in_queue = {id: task.queued for (_, id), task in before.items() if task.queued}

    def die() -> None:
        store._step = store.calls + 1  # the dead make no more calls
        raise Dead

    store = StepByStep(scheduler.store, step, die)
    with pytest.raises(Dead):
        relane(seen_by(scheduler, store), TO)
    # Then every task is there once and found, and the rule rings for it by the end of the lease
    editor = newcomer(scheduler)
    assert waiting(scheduler) == Counter(in_queue.keys())
    assert {editor.get(id).rev for _, id in before} == {task.rev for task in before.values()}
    record = record_of(scheduler)
    for id, queued in in_queue.items():
        lane = record.lanes[editor.get(id).lane]
        assert lane.owner or min(each.due for each in record.lanes) <= queued
        assert lane.until <= NOON + LEASE or not lane.owner
    # And when the lease is over, a run gets all lanes
    scheduler.clock.advance(LEASE)
    assert claims(scheduler) == tuple(range(len(record.lanes)))
    scheduler.backend.armer.change(lambda record: record.released("run", dict.fromkeys(range(TO), NOON)))
    # And repeated it comes to its end
    relane(scheduler.backend, TO)
    record = record_of(scheduler)
    assert (len(record.lanes), record.earlier, record.relaner) == (TO, (FROM,), None)
    assert waiting(scheduler) == Counter(in_queue.keys())
    assert {lane for lane, id in scheduler.store.tasks if lane != lane_of(id, TO)} <= set(range(FROM))
    assert all(editor.get(id).lane == lane_of(id, TO) for id in in_queue)


def test_moves_that_fail_for_good_end_it_and_the_lanes_are_held_until_none_can_land(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fill(scheduler)
    monkeypatch.setattr(
        scheduler.store, "relocate", lambda keys, **_: [AwsUnavailable("throttled")] * len(keys)
    )
    with pytest.raises(AwsUnavailable, match="throttled"):
        relane(scheduler.backend, TO)
    assert claims(scheduler) == ()
    assert record_of(scheduler).rings_at is not None
    scheduler.clock.advance(LEASE)
    assert claims(scheduler) == tuple(range(TO))
    assert {newcomer(scheduler).get(id).lane for id in before} <= set(range(FROM))


def test_one_that_has_lost_its_lease_arms_for_what_it_moved_and_stops(scheduler: Scheduler) -> None:
    # Given a relaner that stands still for longer than its lease, just before it moves tasks
    ids = misplaced()[:5]
    for id in ids:
        scheduler.editor.add("act", due=HOUR, id=id)
    store = StepByStep(scheduler.store, 0, lambda: None)
    relocate, heads = scheduler.store.relocate, scheduler.store.head

    def late(*given: Any, **more: Any) -> Any:
        # And a run that reads the heads of the new lanes before that, and those of the old ones after it
        scheduler.clock.advance(LEASE + MINUTE)
        assert claims(scheduler) == tuple(range(TO))
        read = {lane: heads(lane) for lane in range(FROM, TO)}
        moved = relocate(*given, **more)
        read |= {lane: heads(lane) for lane in range(FROM)}
        scheduler.backend.armer.change(lambda record: record.cleared("run").released("run", read))
        return moved

    store.relocate = late  # type: ignore[attr-defined]
    with pytest.raises(TaskConflict, match="others went on meanwhile"):
        relane(seen_by(scheduler, store), TO)
    assert min(lane.due for lane in record_of(scheduler).lanes) <= NOON + HOUR
    assert {newcomer(scheduler).get(id).lane for id in ids} <= set(range(FROM, TO))
