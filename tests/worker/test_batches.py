"""Batches: what comes after several tasks comes once, when all of them have ended, with the counts."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import (
    Abort,
    AwsUnavailable,
    InvalidTask,
    Status,
    Task,
    TaskConflict,
    TaskExists,
    TaskNotFound,
    Then,
    Worker,
)
from duebell.testing import Rehearsal
from duebell_shared.tasks.status import RetentionPolicy

HOUR, SOON = timedelta(hours=1), timedelta(minutes=10)
COUNTS = {"done": 0, "failed": 0, "cancelled": 0, "expired": 0}


class Scene:
    """A rehearsal with actions, and what the follow-ups were told."""

    def __init__(self) -> None:
        worker = Worker()
        self.told: list[tuple[str, Any]] = []
        self.is_broken = True

        @worker.action("work", attempts=1)
        def work(payload: Any) -> None:
            if payload == "bad" and self.is_broken:
                raise Abort("bad")

        for name in ("report", "alarm"):
            worker.action(name)(lambda payload, task: self.told.append((task.action, payload)))
        self.rehearsal = Rehearsal(worker)
        self.editor = self.rehearsal.editor

    def task(self, payload: object = None, due: timedelta = SOON, **more: Any) -> dict[str, Any]:
        return {"action": "work", "due": due, "payload": payload, **more}

    def batch(self, *tasks: dict[str, Any], **more: Any) -> Task:
        given = {"then": Then("report", {"month": 1}), **more}
        return self.editor.batch("b", tasks or None, **given)

    def wait(self, by: timedelta = HOUR) -> None:
        self.rehearsal.let_time_pass(by)

    def counts(self) -> dict[str, int]:
        members = self.editor.get("b").members
        assert members
        return {"left": members.left, **{name: getattr(members, name) for name in COUNTS}}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def told(**counts: int) -> dict[str, Any]:
    return {"month": 1, "batch": {"id": "b", **COUNTS, **counts}}


def test_the_follow_up_comes_once_after_all_with_the_counts(scene: Scene) -> None:
    # Given a batch of tasks at different times, made by a call that is repeated
    tasks = [scene.task(), scene.task("bad", 2 * SOON), scene.task(due=9 * SOON, then=Then("work"))]
    batch = scene.batch(*tasks)
    assert (batch.status, batch.queued, batch.can) == (Status.BLOCKED, None, ("cancel",))
    assert scene.batch(*tasks) == batch
    # When some have ended
    scene.wait()
    # Then they are counted, and nothing comes yet
    assert scene.counts() == {**COUNTS, "left": 1, "done": 1, "failed": 1}
    assert scene.editor.get("b").status is Status.BLOCKED
    # When all have
    scene.wait()
    # Then the follow-up comes, once
    assert scene.told == [("report", told(done=2, failed=1))]
    assert scene.editor.get("b").status is Status.DONE
    for number, status in enumerate((Status.DONE, Status.FAILED, Status.DONE), 1):
        member = scene.editor.get(f"b/{number}")
        assert (member.status, member.counted, member.owes, member.queued) == (status, True, None, None)
    assert scene.editor.get("b/3/then").status is Status.DONE
    # And a repeated call after that returns it as it is
    assert scene.batch(*tasks).status is Status.DONE
    scene.wait()
    assert len(scene.told) == 1


@pytest.mark.parametrize(
    ("payloads", "comes"),
    [((None, None), ("report", {"done": 2})), ((None, "bad"), ("alarm", {"done": 1, "failed": 1}))],
)
def test_on_failed_comes_instead_if_any_has_failed(scene: Scene, payloads: Any, comes: Any) -> None:
    scene.batch(*map(scene.task, payloads), on_failed="alarm")
    scene.wait()
    assert scene.told == [(comes[0], told(**comes[1]))]


@pytest.mark.parametrize("verb", ["swap_record", "transact"])
def test_a_failed_call_is_repeated_at_once(scene: Scene, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    # Given a call that has reserved tasks, and fails before it adds them
    def refuse(*_: object, **__: object) -> None:
        raise AwsUnavailable("no answer")

    scene.batch()
    with monkeypatch.context() as patched:
        patched.setattr(scene.editor.queue.store, verb, refuse)
        with pytest.raises(AwsUnavailable):
            scene.batch(scene.task(), scene.task())

    # When the call is repeated
    scene.batch(scene.task(), scene.task())
    scene.wait()

    # Then the batch has all of them
    assert scene.told == [("report", told(done=2))]


def test_tasks_are_added_until_it_is_closed(scene: Scene) -> None:
    # Given an open batch, whose tasks are added over time
    scene.batch()
    for number in range(2):
        scene.editor.add(**scene.task(id=f"m-{number}", batch="b"))
        scene.wait()
    scene.editor.add_many(
        [scene.task(id="m-2", batch="b"), scene.task(id="x"), scene.task(id="m-1", batch="b")],
        if_exists="keep",
    )
    # When it is closed, twice, while one has not ended
    assert scene.told == []
    assert scene.counts() == {**COUNTS, "left": 1, "done": 2}
    closed = scene.editor.close_batch("b")
    assert scene.editor.close_batch("b") == closed
    # Then it takes no more, and goes on after the last one
    with pytest.raises(TaskConflict, match="batch 'b' is closed"):
        scene.editor.add(**scene.task(id="late", batch="b"))
    scene.wait()
    assert scene.told == [("report", told(done=3))]
    assert not scene.editor.find("late").tasks


def test_a_batch_without_tasks_goes_on_when_it_is_closed(scene: Scene) -> None:
    scene.editor.batch("b", [], then=Then("report", {"month": 1}, HOUR))
    assert scene.editor.get("b").due == scene.rehearsal.now + HOUR
    scene.wait(2 * HOUR)
    assert scene.told == [("report", told())]
    # And one with nothing to do after is done then
    assert scene.editor.batch("c", []).status is Status.DONE


def test_cancelled_and_expired_tasks_count_and_a_retried_one_counts_again(scene: Scene) -> None:
    # Given a batch in which one task is cancelled while paused, one expires, and one fails and is retried
    scene.batch(
        scene.task(),
        scene.task("bad"),
        scene.task(due=timedelta(seconds=630), expires_after=timedelta(seconds=1)),
        scene.task(due=3 * HOUR),
    )
    scene.editor.pause("b/1")
    scene.editor.cancel("b/1")
    scene.wait(2 * HOUR)
    assert scene.counts() == {"left": 1, "done": 0, "failed": 1, "cancelled": 1, "expired": 1}
    scene.is_broken = False
    scene.editor.retry("b/2")
    assert scene.counts() == {"left": 2, "done": 0, "failed": 0, "cancelled": 1, "expired": 1}
    scene.wait(2 * HOUR)
    assert scene.told == [("report", told(done=2, cancelled=1, expired=1))]
    # And one that is retried after that changes nothing
    scene.editor.retry("b/3")
    scene.wait()
    assert scene.counts() == {"left": 0, "done": 2, "failed": 0, "cancelled": 1, "expired": 1}
    assert len(scene.told) == 1


def test_a_batch_of_tasks_that_are_there_already(scene: Scene) -> None:
    # Given tasks that are done, failed, paused and scheduled
    editor = scene.editor
    for id, payload, due in (("done", None, SOON), ("failed", "bad", SOON), ("late", None, 3 * HOUR)):
        editor.add(**scene.task(payload, due, id=id))
    editor.pause(editor.add(**scene.task(due=2 * HOUR, id="paused")).id)
    scene.wait()
    # When a batch is made of them, twice
    made = scene.batch(wait_for=["done", "failed", "late", "paused", "late"])
    assert scene.batch(wait_for=["done", "failed", "late", "paused"]) == made
    # Then those that have ended count, and one that is retried counts again
    assert scene.counts() == {**COUNTS, "left": 2, "done": 1, "failed": 1}
    assert (editor.get("late").batch, editor.get("late").history[-1].what) == ("b", "wait_for")
    scene.is_broken = False
    editor.retry("failed")
    editor.resume("paused")
    # And a batch can wait for it, and a third one for that
    editor.batch("outer", [scene.task()], wait_for=["b"])
    editor.batch("last", wait_for=["outer"], then=Then("report", {"last": True}))
    scene.wait()
    assert scene.told == []
    scene.wait(2 * HOUR)
    assert scene.told == [
        ("report", told(done=4)),
        ("report", {"last": True, "batch": {**COUNTS, "id": "last", "done": 1}}),
    ]
    assert not any(task.owes for task in editor.list(status=["done"]).tasks)


@pytest.mark.parametrize(
    ("id", "error", "words"),
    [
        ("none", TaskNotFound, "none"),
        ("hourly", InvalidTask, "wait_for: names 'hourly', a recurring task"),
        ("running", TaskConflict, "cannot wait for task 'running': it is running, .*: repeat the call later"),
        ("reserved", TaskConflict, "it is reserved"),
        ("ended", TaskConflict, "its follow-up is being added"),
        ("m", TaskConflict, "task 'm' is in batch 'other'"),
        ("c", TaskConflict, "batch 'c' cannot wait for batch 'c', which may wait for it"),
        ("open", TaskConflict, "batch 'c' cannot wait for batch 'open'"),
    ],
)
def test_a_task_that_no_batch_can_wait_for(scene: Scene, id: str, error: type[Exception], words: str) -> None:
    # Given such a task, and a batch which another one waits for
    editor = scene.editor
    editor.add("work", schedule="rate(1 hour)", id="hourly")
    editor.reserve(**scene.task(id="reserved"))
    editor.batch("other", [scene.task(id="m")])
    editor.batch("open")
    running = editor.add(**scene.task(id="running"))
    ended = editor.add(**scene.task(id="ended", then=Then("work")))
    for task in (running, ended):
        claimed = replace(task, status=Status.RUNNING, rev=task.rev + 1)
        done = claimed.done(now=scene.rehearsal.now, keep=RetentionPolicy())
        assert editor.queue.store.save(task, done if task is ended else claimed)
    editor.batch("c")
    editor.batch("waiting", wait_for=["c"])
    editor.add(**scene.task(id="free"))
    # When a batch is to wait for it, then nothing is changed
    with pytest.raises(error, match=words):
        editor.batch("c", wait_for=["free", id])
    assert editor.get("free").batch is None


def test_a_cancelled_batch_never_goes_on_and_its_tasks_do(scene: Scene) -> None:
    scene.batch(scene.task(), scene.task())
    scene.editor.cancel("b")
    scene.wait()
    assert scene.told == []
    assert {task.status for task in scene.editor.find("b/").tasks} == {Status.DONE}
    assert not any(task.owes for task in scene.editor.find("b/").tasks)


def test_what_cannot_be_a_batch_or_in_one_is_refused(scene: Scene) -> None:
    scene.batch(scene.task(id="m", due=HOUR))
    scene.editor.add("work", due=HOUR, id="once")
    editor = scene.editor
    hourly: dict[str, Any] = {"action": "work", "schedule": "rate(1 hour)", "batch": "b"}
    member, wrong = scene.task(id="m", batch="b"), {"action": "work", "dew": HOUR}
    for call, error, words in (
        (lambda: editor.add(**scene.task(batch="none")), TaskNotFound, "none"),
        (lambda: editor.add(**scene.task(batch="once")), TaskConflict, "'once' is no batch"),
        (lambda: editor.add(**hourly), InvalidTask, "batch: cannot be combined with a sch"),
        (lambda: editor.add(**scene.task(id="m"), if_exists="replace"), TaskConflict, "'b' waits for it"),
        (lambda: editor.add(**scene.task(id="b"), if_exists="push"), TaskConflict, "it is a batch"),
        (lambda: editor.add(**member, if_exists="push"), InvalidTask, "if_exists: is 'fail'"),
        (lambda: editor.add(**member), TaskExists, "'m'"),
        (lambda: editor.batch("once", []), TaskExists, "'once'"),
        (lambda: editor.close_batch("once"), TaskConflict, "'once' is no batch"),
        (lambda: editor.batch("c", then=Then("report", [1])), InvalidTask, "then.payload: must be an object"),
        (lambda: editor.batch("c", [{"action": "work"}]), InvalidTask, r"tasks\[0\].due: is missing"),
        (lambda: editor.batch("c", [scene.task(), wrong]), InvalidTask, r"tasks\[1\].dew: is not a field"),
        (lambda: editor.reserve(**scene.task(batch="b")), InvalidTask, "batch: .* with a reservation"),
        (lambda: editor.resume("b"), TaskConflict, "it is blocked"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert scene.counts()["left"] == 1
    assert {task.id for task in editor.list().tasks} == {"m", "once"}


def test_an_export_has_a_batch_as_it_is(scene: Scene) -> None:
    scene.batch(scene.task(), scene.task(due=3 * HOUR))
    scene.wait()
    other = Scene()
    other.editor.import_tasks(scene.editor.export_tasks())
    assert other.counts() == scene.counts() == {**COUNTS, "left": 1, "done": 1}
    other.wait(3 * HOUR)
    assert other.told == [("report", told(done=2))]
