"""A run that has not seen all of its lanes, or has lost its lease, while it gives them back."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ClientError

from duebell import Editor, NotArmed, Retry, Status, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.log_lines import Log
from tests.worker.memory import ids_in, in_lane, memory_backend
from tests.worker.run_of_one.scene import DUE, HOUR, MINUTE, SECOND, Scene, is_rung_for
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
    scene: Scene, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, died = scene.editor, list[str]()
    changes = {
        "move": lambda: editor.move("a", due=DUE + HOUR),
        "replace": lambda: editor.add("act", due=DUE + HOUR, id="a", if_exists="replace"),
    }

    def die(*_: object, **__: object) -> None:
        raise Died

    @scene.worker.action("change")
    def change() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Armer, "lower", die)
            with pytest.raises(Died):
                changes[how]()
        died.append(how)

    # Given a task, when an editor changes it as it runs, and dies between its write and the arming
    editor.add("change", due=DUE, id="a")
    scene.ring()
    scene.worker.run()
    # Then the run that finds its outcome superseded arms for it
    assert died == [how]
    assert editor.get("a").due == DUE + HOUR
    assert scene.is_rung_for()


def test_two_tasks_of_one_id_in_two_lanes_that_are_both_put_back(scene: Scene) -> None:
    # Given a task that is there twice since a relane: both were changed since, so both stay
    id = next(id for n in range(99) if lane_of(id := f"task-{n}", 2) != lane_of(id, 4))
    scene.editor.ensure_armed()
    new = scene.editor.add("retry", due=NOON + SECOND, id=id)
    old = msgspec.structs.replace(new, lane=lane_of(id, 2), rev=2, due=NOON, queued=NOON)
    assert scene.store.insert(old)
    scene.backend.armer.change(lambda record: msgspec.structs.replace(record, earlier=(2,)))
    scene.backend.armer.lower({old.lane: NOON})
    scene.clock.advance(MINUTE)

    @scene.worker.action("retry")
    def retry(_: object, task: Task) -> None:
        raise Retry(after=10 * MINUTE if task.lane == old.lane else 2 * HOUR)

    # When both are put back, then the rule rings for the earlier one
    assert scene.worker.run().retried == 2
    assert scene.is_rung_for()


def test_a_release_whose_answer_was_lost_is_no_lost_lease(scene: Scene) -> None:
    # Given a run in the last minutes of an hour, whose watchdog rings soon enough for the next task as well:
    # so the swap that gives the lanes back does not take hold of the rule, and has no name
    scene.editor.add("act", due=NOON + 57 * MINUTE, id=in_lane(0))
    scene.editor.add("act", due=NOON + 59 * MINUTE + 5 * SECOND, id=in_lane(1))
    scene.ring()
    scene.store.loses_answer = scene.store.is_release
    # When the swap that gives the lanes back takes effect, and is refused as the SDK tries it again
    began = scene.clock.now
    report = scene.worker.run()
    # Then the run knows its own write, and waits for nobody
    assert (report.done, report.lost_lease) == (1, False)
    assert scene.clock.now - began < SECOND
    assert scene.is_rung_for()


# A lease that is lost while the lanes are given back, or before that.


@pytest.mark.parametrize("only", [None, [1]], ids=["all-lanes", "one-lane"])
def test_a_lease_that_was_lost_is_said_and_nothing_is_written(
    scene: Scene, log: Log, only: list[int] | None
) -> None:
    # Given another run, whose clock is minutes ahead, that claims lanes just before they are given back
    scene.editor.add("act", due=DUE, id="due")
    scene.editor.add("act", due=DUE + 20 * MINUTE, id="next")
    theirs: list[ArmingRecord] = []

    def claim(record: ArmingRecord) -> ArmingRecord:
        return record.claimed("other", now=DUE + 3 * MINUTE, until=DUE + 5 * MINUTE, only=only)

    scene.at_release(lambda: theirs.append(scene.backend.armer.change(claim)))
    # When the run ends
    report = scene.run()
    # Then it says so, has changed no lane, and has seen to the other's watchdog
    assert report.lost_lease
    assert len(log.lines("lease_lost")) == 1
    record = scene.backend.armer.read()
    assert (record.lanes, record.last_run) == (theirs[0].lanes, theirs[0].last_run)
    assert record.is_settled(scene.clock.now)
    assert scene.clock.now < DUE + SECOND


def test_a_watchdog_that_was_refused_is_set_again_by_a_hold_of_its_own(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a run whose watchdog is refused, and another process that sets the rule in the pause after that
    scene.editor.add("act", due=DUE + 56 * MINUTE, id="due")
    scene.ring()
    armer, bell, clock = scene.backend.armer, scene.bell, scene.clock
    lease = Lease.claim(armer, "run", clock)
    with monkeypatch.context() as patch:
        patch.setattr(bell, "before", refuse)
        with pytest.raises(NotArmed):
            lease.arm()
    until = clock.now + HOLD
    armer.change(lambda record: record.applying("other", until=until))
    # When the run tries again, then it sets the rule, and only after the other's hold
    set_at: list[datetime] = []
    bell.before = lambda: set_at.append(clock.now)
    lease.arm()
    assert [at >= until for at in set_at] == [True]
    assert armer.read().is_settled(clock.now)


def refuse() -> None:
    raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutRule")


def test_a_run_whose_lease_ran_out_sees_to_the_watchdog_of_the_one_that_has_its_lanes(scene: Scene) -> None:
    # Given an action that takes longer than the lease, and a run that dies before it sets its watchdog
    @scene.worker.action("long")
    def long() -> None:
        scene.clock.advance(3 * MINUTE)
        Lease.claim(scene.backend.armer, "other", scene.clock)

    scene.editor.add("long", due=DUE, id="due")
    # When the first one ends
    report = scene.run()
    # Then the rule rings for the other's lease
    assert report.lost_lease
    record = scene.backend.armer.read()
    assert record.lanes_of("other") == (0, 1, 2, 3)
    assert record.is_settled(scene.clock.now)
