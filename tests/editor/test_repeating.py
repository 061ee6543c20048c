"""Users repeat what raised: whatever they repeat, the rule is armed when a call returns or says why not."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from duebell_editor import (
    AwsUnavailable,
    Editor,
    NewTask,
    NotArmed,
    Status,
    TaskChanged,
    TaskConflict,
    TaskExists,
)
from duebell_editor.bulk import Verb, change_all, find_all
from duebell_editor.filtering import make_filter
from duebell_editor.relane import relane
from duebell_shared.arming import ArmingRecord
from duebell_shared.errors import LanesChanged
from duebell_shared.expression import expression_at
from duebell_shared.keeping import Keeping
from duebell_shared.lanes import lane_of
from duebell_shared.settings import MAX_LANES
from duebell_shared.task import Task
from tests.editor.memory import Scheduler
from tests.shared.fake_events import refusal
from tests.support import NOON

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Call = Callable[[Editor], object]

#: Calls that set a time, each with what is there before.
CALLS: dict[str, Call] = {
    "add": lambda editor: editor.add("act", due=HOUR, id="new"),
    "add, kept": lambda editor: editor.add("act", due=HOUR, id="new", if_exists="keep"),
    "add_many": lambda editor: editor.add_many([NewTask(action="act", due=HOUR, id="new")]),
    "move": lambda editor: editor.move("one", due=NOON + HOUR),
    "move, of one seen": lambda editor: editor.move("one", due=NOON + HOUR, rev=1),
    "update": lambda editor: editor.update("one", due=NOON + HOUR),
    "update to a schedule": lambda editor: editor.update("one", schedule="rate(1 hour)"),
    "resume": lambda editor: editor.resume("paused"),
    "run_now": lambda editor: editor.run_now("one"),
    "run_now, recurring": lambda editor: editor.run_now("daily"),
    "retry": lambda editor: editor.retry("failed"),
    "retry of many": lambda editor: change_all(editor, Verb.RETRY, ["failed"]),
}


@pytest.fixture
def scheduler() -> Scheduler:
    """A queue with tasks of every kind, the rule armed for far in the future."""
    scheduler = Scheduler.start()
    editor = scheduler.editor
    editor.add("act", due=30 * DAY, id="one")
    editor.add("act", schedule="rate(20 days)", id="daily")
    for id, status in (("failed", Status.FAILED), ("paused", Status.PAUSED)):
        scheduler.become(editor.add("act", due=HOUR / 2, id=id), status)
    scheduler.backend.armer.change(lambda record: record.claimed("run", now=NOON, until=NOON + HOUR))
    scheduler.backend.armer.change(
        lambda record: record.released("run", {lane: scheduler.store.head(lane) for lane in range(4)})
    )
    editor.ensure_armed()
    return scheduler


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_could_not_arm_arms_when_it_is_repeated(scheduler: Scheduler, call: str) -> None:
    # Given a rule that cannot be set when the call is made first
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")] * 2
    try:
        CALLS[call](scheduler.editor)
    except NotArmed:
        pass
    else:
        assert "many" in call  # in its report
    scheduler.events.troubles.clear()
    # When it is repeated, in this process or another
    another = Editor(backend=scheduler.backend)
    with suppress(TaskConflict, TaskExists):  # it was made before
        CALLS[call](another)
    # Then the rule rings for what it asked for
    record = scheduler.store.record
    assert record
    assert record.is_settled(scheduler.clock.now)
    heads = [scheduler.store.head(lane) for lane in range(4)]
    assert min(heads) <= NOON + HOUR
    assert record.target == min(heads)
    assert scheduler.events.expression == expression_at(
        record.rings_at, early=_early(record, scheduler), now=scheduler.clock.now
    )


def _early(record: ArmingRecord, scheduler: Scheduler) -> Any:
    assert record.rings_at
    before = record.rings_at - timedelta(minutes=1)
    return before if before >= record.target and before > scheduler.clock.now else None


@pytest.mark.parametrize(("verb", "status"), [(Verb.RETRY, Status.FAILED), (Verb.RESUME, Status.PAUSED)])
def test_a_bulk_change_by_filter_that_could_not_arm_arms_when_it_finds_nothing_more(
    scheduler: Scheduler, verb: Verb, status: Status
) -> None:
    # Given tasks that are changed while the rule cannot be set
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")] * 20
    which = make_filter(status=status, limit=100)
    ids, _ = find_all(scheduler.editor.queue, which)
    assert change_all(scheduler.editor, verb, ids).failures
    scheduler.events.troubles.clear()
    # When that is repeated, and the filter finds them no more
    ids, _ = find_all(scheduler.editor.queue, which)
    assert not ids
    change_all(scheduler.editor, verb, ids)
    # Then the rule rings for them
    record = scheduler.store.record
    assert record
    assert record.is_settled(scheduler.clock.now)
    assert record.target == min(scheduler.store.head(lane) for lane in range(4)) <= NOON + HOUR


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_died_before_it_armed_arms_when_another_process_repeats_it(
    scheduler: Scheduler, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a process that dies once its task is written
    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(scheduler.backend.armer, "change", die)
        with pytest.raises(SystemExit):
            CALLS[call](scheduler.editor)
    with suppress(TaskConflict, TaskExists):
        CALLS[call](Editor(backend=scheduler.backend))
    record = scheduler.store.record
    assert record
    assert record.is_settled(scheduler.clock.now)
    assert record.target == min(scheduler.store.head(lane) for lane in range(4)) <= NOON + HOUR


def test_two_editors_that_make_the_same_move_both_find_the_rule_armed(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an editor that is stopped between writing its move and arming
    one, other = scheduler.editor, Editor(backend=scheduler.backend)
    save = scheduler.store.save

    def save_and_stop(old: Task, new: Task) -> bool:
        save(old, new)
        monkeypatch.undo()
        # When another one makes the same move meanwhile
        other.move("one", due=NOON + HOUR)
        # Then the rule rings for it when that returns
        assert scheduler.events.expression == expression_at(NOON + HOUR)
        raise AwsUnavailable("nobody answered")

    monkeypatch.setattr(scheduler.store, "save", save_and_stop)
    with pytest.raises(AwsUnavailable):
        one.move("one", due=NOON + HOUR)


def test_a_change_of_a_task_that_was_changed_arms_and_says_so(scheduler: Scheduler) -> None:
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")]
    with pytest.raises(NotArmed):
        scheduler.editor.move("one", due=NOON + HOUR, rev=1)
    with pytest.raises(TaskChanged):
        scheduler.editor.move("one", due=NOON + HOUR, rev=1)
    assert scheduler.events.expression == expression_at(NOON + HOUR)


# Run once more, and once only.


def test_a_recurring_task_that_waits_to_be_run_once_more_is_not_run_twice(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    first = editor.run_now("daily")
    again = editor.run_now("daily")
    assert again == first
    # With the occurrence of the schedule due as well, the extra one still waits
    scheduler.clock.advance(20 * DAY + HOUR)
    late = editor.run_now("daily")
    assert late == first
    # But once it is over, another can be asked for
    claimed = scheduler.become(late, Status.RUNNING)
    done = claimed.done(now=scheduler.clock.now, keep=Keeping(retention=DAY))
    assert scheduler.store.save(claimed, done)
    assert editor.run_now("daily").rev > done.rev


def test_an_extra_occurrence_that_waits_for_its_next_attempt_is_not_what_run_now_asks_for(
    scheduler: Scheduler,
) -> None:
    task = scheduler.editor.run_now("daily")
    scheduler.editor.move("daily", due=10 * DAY)
    asked = scheduler.editor.run_now("daily")
    assert asked.queued == task.queued


def test_a_clock_that_is_behind_asks_for_no_second_one(scheduler: Scheduler) -> None:
    first = scheduler.editor.run_now("daily")
    scheduler.clock.advance(timedelta(seconds=-50))
    assert scheduler.editor.run_now("daily") == first


def test_a_change_that_made_nothing_says_why_also_when_the_rule_cannot_be_set(scheduler: Scheduler) -> None:
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")] * 4
    scheduler.backend.armer.change(lambda record: record.disputed())
    with pytest.raises(NotArmed, match=r"^task 'one' was changed meanwhile.*; and the rule could not be set"):
        scheduler.editor.move("one", due=NOON + HOUR, rev=7)


# More lanes meanwhile.


def _relane_when_inserting(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, method: str, *, before: bool
) -> None:
    """Have the queue given more lanes just before, or after, the next insert."""
    insert = getattr(scheduler.store, method)

    def and_relane(given: Any) -> Any:
        monkeypatch.undo()
        if before:
            relane(scheduler.backend, MAX_LANES)
        made = insert(given)
        if not before:
            with pytest.raises(TaskConflict, match="the queue is not empty"):
                relane(scheduler.backend, MAX_LANES)
        return made

    monkeypatch.setattr(scheduler.store, method, and_relane)


@pytest.mark.parametrize("number", range(6))
def test_a_task_that_is_added_while_the_queue_gets_more_lanes_is_there_once(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    # Given lanes that are added after the editor has chosen one, and before it writes
    _relane_when_inserting(scheduler, monkeypatch, "insert", before=True)
    # When it adds, and repeats that
    scheduler.editor.add("act", due=HOUR, id=f"task-{number}")
    for editor in (scheduler.editor, Editor(backend=scheduler.backend)):
        assert editor.add("act", due=HOUR, id=f"task-{number}", if_exists="keep").status is Status.SCHEDULED
    # Then the task is in the queue once, and found by its id
    waiting = [key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane)]
    assert waiting == [f"task-{number}"]
    assert scheduler.editor.get(f"task-{number}").queued == NOON + HOUR
    assert scheduler.events.expression == expression_at(NOON + HOUR)


@pytest.mark.parametrize("if_exists", ["fail", "keep"])
@pytest.mark.parametrize("number", range(12))
def test_a_task_that_waited_for_more_lanes_is_added_in_the_end(
    monkeypatch: pytest.MonkeyPatch, number: int, if_exists: Any
) -> None:
    # Given lanes that are added while an add waits for that, which takes more than a second
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    armer = scheduler.backend.armer
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        scheduler.clock.sleep(max(seconds, 0.5))
        if len(waited) == 3:
            armer.change(lambda record: record.widened(MAX_LANES) if record.relaner else record)

    armer.change(lambda record: record.relaning("someone", until=NOON + timedelta(seconds=30)))
    monkeypatch.setattr(armer, "_sleep", sleep)
    # When the add returns
    task = scheduler.editor.add("act", due=HOUR, id=f"task-{number}", if_exists=if_exists)
    # Then the task is in the queue, once, wherever it belongs now
    assert task.status is Status.SCHEDULED
    waiting = [key for lane in range(MAX_LANES) for key in scheduler.store.queued(lane)]
    assert [(key.lane, key.id) for key in waiting] == [(lane_of(task.id, MAX_LANES), task.id)]


def test_an_import_by_an_editor_that_knows_fewer_lanes_takes_nothing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given an editor from before there were more lanes, and tasks that another one imported since
    source = Scheduler.start()
    for number in range(12):
        source.editor.add("act", due=HOUR, id=f"task-{number}")
    lines = list(source.editor.export_tasks())
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    relane(scheduler.backend, MAX_LANES)
    Editor(backend=scheduler.backend).import_tasks(lines)
    scheduler.clock.advance(timedelta(minutes=1))
    # When it imports them again, as often as it is told to
    with suppress(LanesChanged):
        scheduler.editor.import_tasks(lines)
    assert scheduler.editor.import_tasks(lines).there == 12
    # Then each is in the queue once
    waiting = [key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane)]
    assert sorted(waiting) == sorted(f"task-{number}" for number in range(12))


def test_another_thread_that_learns_of_more_lanes_does_not_hide_that_a_task_is_misplaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    id = next(f"t{n}" for n in range(99) if lane_of(f"t{n}", 4) != lane_of(f"t{n}", MAX_LANES))
    relane(scheduler.backend, MAX_LANES)
    insert = scheduler.store.insert

    def learn_and_insert(task: Task) -> bool:
        monkeypatch.undo()
        scheduler.editor.queue.lanes_now()
        return insert(task)

    monkeypatch.setattr(scheduler.store, "insert", learn_and_insert)
    scheduler.editor.add("act", due=HOUR, id=id)
    with pytest.raises(TaskExists):
        scheduler.editor.add("act", due=HOUR, id=id)
    waiting = [key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane)]
    assert waiting == [id]


def test_whoever_gives_more_lanes_gives_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    unqueued = scheduler.store.unqueued

    def take_long(*given: Any, **more: Any) -> Any:
        scheduler.clock.advance(timedelta(seconds=31))
        return unqueued(*given, **more)

    monkeypatch.setattr(scheduler.store, "unqueued", take_long)
    with pytest.raises(TaskConflict, match="this took too long"):
        relane(scheduler.backend, MAX_LANES)


def test_many_tasks_that_are_added_while_the_queue_gets_more_lanes_are_there_once_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    tasks = [NewTask(action="act", due=HOUR, id=f"task-{number}") for number in range(20)]
    _relane_when_inserting(scheduler, monkeypatch, "insert_many", before=True)
    with pytest.raises(LanesChanged, match="was given 16 lanes instead of 4 at this very moment: repeat"):
        scheduler.editor.add_many(tasks)
    assert len(scheduler.editor.add_many(tasks, if_exists="keep").added) == 20
    waiting = [key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane)]
    assert sorted(waiting) == sorted(task.id or "" for task in tasks)


def test_a_queue_that_a_task_is_being_added_to_gets_no_more_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    _relane_when_inserting(scheduler, monkeypatch, "insert", before=False)
    scheduler.editor.add("act", due=HOUR, id="one")
    assert scheduler.store.record
    assert (len(scheduler.store.record.lanes), scheduler.store.record.relaner) == (4, None)


def test_a_task_that_is_added_once_the_queue_was_found_empty_keeps_its_lanes_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a task that another process adds just when the last lane was found empty
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    unqueued = scheduler.store.unqueued

    def find_empty_then_add(lane: int, *given: Any, **more: Any) -> Any:
        found = list(unqueued(lane, *given, **more))
        if lane == 3:
            monkeypatch.undo()
            scheduler.editor.add("act", due=HOUR, id="one")
        return iter(found)

    monkeypatch.setattr(scheduler.store, "unqueued", find_empty_then_add)
    # Then no lanes are added, and the task is found
    with pytest.raises(TaskConflict, match="this took too long, and others went on"):
        relane(scheduler.backend, MAX_LANES)
    assert scheduler.store.record
    assert len(scheduler.store.record.lanes) == 4
    assert Editor(backend=scheduler.backend).get("one").queued == NOON + HOUR


def test_an_add_waits_for_whoever_gives_the_queue_more_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a queue that is looked into, whether it is empty, at this moment
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    head = scheduler.store.head
    armer = scheduler.backend.armer
    waited: list[float] = []

    def add_meanwhile(seconds: float) -> None:
        waited.append(seconds)
        scheduler.clock.sleep(seconds)
        if len(waited) == 3:
            armer.change(lambda record: record.widened(MAX_LANES) if record.relaner else record)

    armer.change(lambda record: record.relaning("someone", until=NOON + timedelta(seconds=30)))
    monkeypatch.setattr(armer, "_sleep", add_meanwhile)
    # When a task is added, that waits, and then it is placed by the new number
    task = scheduler.editor.add("act", due=HOUR, id="one")
    assert len(waited) == 3
    assert scheduler.editor.get("one") == task
    assert head(task.lane) == task.queued


def test_a_mark_that_someone_left_behind_stops_nobody_and_its_owner_cannot_go_on() -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    armer = scheduler.backend.armer
    armer.change(lambda record: record.relaning("dead", until=NOON + timedelta(seconds=30)))
    scheduler.clock.advance(timedelta(seconds=31))
    scheduler.editor.add("act", due=HOUR)
    assert scheduler.store.record
    assert scheduler.store.record.relaner is None


def test_an_editor_that_knows_fewer_lanes_finds_a_task_that_another_one_added() -> None:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    assert scheduler.editor.queue.lanes == 4
    relane(scheduler.backend, MAX_LANES)
    for number in range(8):
        Editor(backend=scheduler.backend).add("act", due=HOUR, id=f"task-{number}")
        assert scheduler.editor.get(f"task-{number}").id == f"task-{number}"
