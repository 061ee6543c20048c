"""Users repeat what raised: whatever they repeat, the rule is armed when a call returns or says why not."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from duebell import AwsUnavailable, Editor, NewTask, NotArmed, Status, TaskConflict, TaskExists, Verb
from duebell_shared.bell.armer import Armer
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import Task
from tests.editor.memory import Scheduler
from tests.shared.fake_events import refusal
from tests.support import NOON, SetFor

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Call = Callable[[Editor], object]

#: Calls that set a time, each with what is there before.
CALLS: dict[str, Call] = {
    "add": lambda editor: editor.add("act", due=HOUR, id="new"),
    "add, kept": lambda editor: editor.add("act", due=HOUR, id="new", if_exists="keep"),
    "add_many": lambda editor: editor.add_many([NewTask(action="act", due=HOUR, id="new")]),
    "push": lambda editor: editor.add("act", due=HOUR, id="one", if_exists="push", max_wait=HOUR),
    "move": lambda editor: editor.move("one", due=NOON + HOUR),
    "move, of one seen": lambda editor: editor.move("one", due=NOON + HOUR, rev=1),
    "update": lambda editor: editor.update("one", due=NOON + HOUR),
    "update of a schedule": lambda editor: editor.update("daily", schedule="0 13 * * *"),
    "resume": lambda editor: editor.resume("paused"),
    "run_now": lambda editor: editor.run_now("one"),
    "run_now, recurring": lambda editor: editor.run_now("daily"),
    "retry": lambda editor: editor.retry("failed"),
    "retry of many": lambda editor: editor.change_many(Verb.RETRY, ["failed"]),
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


def assert_armed(scheduler: Scheduler) -> None:
    """The rule is set for the head of the queue, which is due within the hour."""
    record = scheduler.store.record
    assert record
    assert record.is_settled(scheduler.clock.now)
    assert record.target == min(scheduler.store.head(lane) for lane in range(4)) <= NOON + HOUR
    assert scheduler.events.expression == SetFor(record.rings_at)


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
    assert_armed(scheduler)


@pytest.mark.parametrize(("verb", "status"), [(Verb.RETRY, Status.FAILED), (Verb.RESUME, Status.PAUSED)])
def test_a_bulk_change_by_filter_that_could_not_arm_arms_when_it_finds_nothing_more(
    scheduler: Scheduler, verb: Verb, status: Status
) -> None:
    # Given tasks that are changed while the rule cannot be set
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")] * 20
    ids = scheduler.editor.select(verb, status=status, limit=100).ids
    assert scheduler.editor.change_many(verb, ids).failures
    scheduler.events.troubles.clear()
    # When that is repeated, and the filter finds them no more
    ids = scheduler.editor.select(verb, status=status, limit=100).ids
    assert not ids
    scheduler.editor.change_many(verb, ids)
    assert_armed(scheduler)


@pytest.mark.parametrize("step", ["change", "ensure"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_died_before_it_armed_arms_when_another_process_repeats_it(
    scheduler: Scheduler, call: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a process that dies once its task is written, or once it has lowered the due and holds the rule
    def die(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Armer, step, die)
        with pytest.raises(SystemExit):
            CALLS[call](scheduler.editor)
    with suppress(TaskConflict, TaskExists):
        CALLS[call](Editor(backend=scheduler.backend))
    assert_armed(scheduler)


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
        assert scheduler.events.expression == SetFor(NOON + HOUR)
        raise AwsUnavailable("nobody answered")

    monkeypatch.setattr(scheduler.store, "save", save_and_stop)
    with pytest.raises(AwsUnavailable):
        one.move("one", due=NOON + HOUR)


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
    done = claimed.done(now=scheduler.clock.now, keep=RetentionPolicy(retention=DAY))
    assert scheduler.store.save(claimed, done)
    assert editor.run_now("daily").rev > done.rev


def test_a_change_that_made_nothing_says_why_also_when_the_rule_cannot_be_set(scheduler: Scheduler) -> None:
    scheduler.events.troubles["DescribeRule"] = [refusal("AccessDeniedException")] * 4
    scheduler.backend.armer.change(lambda record: record.disputed())
    with pytest.raises(NotArmed, match=r"^task 'one' was changed meanwhile.*; and the rule could not be set"):
        scheduler.editor.move("one", due=NOON + HOUR, rev=7)
