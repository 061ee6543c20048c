"""A run of few tasks: what it costs, and what is put back, added or changed meanwhile is rung for."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ClientError

from duebell import Editor, NotArmed, Retry, Status
from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable, UnreadableTask
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.log_lines import Log
from tests.worker.memory import ids_in, in_lane
from tests.worker.scene import DUE, HOUR, MINUTE, SECOND, Scene
from tests.worker.stage import Stage

#: A time for which a queue's rule is set, and at which a task can be added that is not the new head.
NEXT = DUE + 2 * HOUR

PLAIN = {"reads": 1, "swaps": 3, "puts": 1, "queries": 4, "heads": 0}


@pytest.mark.parametrize("after", [0, 119])
@pytest.mark.parametrize("waiting", [True, False], ids=["a-task-waits", "the-queue-is-empty"])
def test_a_run_that_comes_in_its_rings_minute_is_three_writes_and_one_put_rule(
    scene: Scene, after: int, waiting: bool
) -> None:
    # Given a task, and perhaps one that is due later
    scene.editor.add("act", due=DUE, id="a")
    if waiting:
        scene.editor.add("act", due=NEXT, id="b")
    # When the rule rings for the first
    report = scene.run(at=DUE + after * SECOND)
    # Then nothing is read again, and the rule is set once: for the later one, or to ring no more
    assert (report.done, report.rings_at) == (1, NEXT if waiting else None)
    assert scene.costs() == PLAIN


@pytest.mark.parametrize(
    ("due", "late"),
    [(DUE + 56 * MINUTE, 0), (DUE, 121)],
    ids=["its ring has no echo in its hour", "it comes late"],
)
def test_a_run_without_an_echo_sets_its_watchdog(scene: Scene, due: datetime, late: int) -> None:
    scene.editor.add("act", due=due, id="a")
    # When it is run, then the rule is set for the end of the lease as well
    assert scene.run(at=due + late * SECOND).done == 1
    assert scene.costs() == PLAIN | {"swaps": 4, "puts": 2}


def test_a_run_that_finds_nothing_due_is_as_cheap(scene: Scene) -> None:
    scene.editor.add("act", due=DUE, id="a")
    scene.editor.cancel("a")
    report = scene.run()
    assert (report.done, report.rings_at) == (0, None)
    assert (report.lateness_max_ms, report.lateness_mean_ms) == (None, None)
    assert scene.costs() == PLAIN


def test_a_task_that_is_tried_again_is_rung_for_without_a_read_of_heads(scene: Scene) -> None:
    @scene.worker.action("fail")
    def fail() -> None:
        raise Retry(after=5 * MINUTE)

    scene.editor.add("fail", due=DUE, id="a")
    report = scene.run()
    assert (report.retried, report.rings_at) == (1, DUE + 5 * MINUTE)
    assert scene.costs() == PLAIN


def test_the_next_occurrence_is_rung_for_without_a_read_of_heads(scene: Scene) -> None:
    scene.editor.add("act", schedule="rate(1 hour)", id="a")  # its first one is in an hour
    for hour in range(3):
        scene.ring(after=5 * SECOND)
        assert scene.clock.now == DUE + hour * HOUR + 5 * SECOND
        report = scene.run(at=scene.clock.now)
        assert (report.done, report.rings_at) == (1, DUE + (hour + 1) * HOUR)
        assert scene.costs() == PLAIN


def test_a_lease_that_is_renewed_is_one_write_and_the_echo_stays_its_watchdog(
    scene: Scene, stage: Stage
) -> None:
    # Given an action that takes longer than half of a lease
    scene.worker.action("long")(lambda: stage.sleep(70))
    scene.editor.add("long", due=DUE, id="a")
    # When it is run, then the renewal is one write, without a read, and leaves the rule alone
    assert scene.run(pool=stage).done == 1
    assert scene.costs("reads", "swaps", "puts") == {"reads": 1, "swaps": 4, "puts": 1}


def test_with_an_echo_as_the_watchdog_all_is_well_and_nobody_sets_the_rule(scene: Scene) -> None:
    # Given somebody who looks at everything while a run relies on the rule's echo
    found: list[object] = []

    @scene.worker.action("look")
    def look() -> None:
        scene.editor.ensure_armed()
        found.append((scene.editor.status().healthy, scene.costs("puts")))

    scene.editor.add("look", due=DUE, id="a")
    scene.run()
    assert found == [(True, {"puts": 0})]


# A task that is added or changed between the last look of a run and its end is rung for.


@pytest.mark.parametrize("due", [DUE + HOUR, DUE], ids=["later", "due"])
def test_a_task_that_is_added_by_the_action_is_read_for(scene: Scene, due: datetime) -> None:
    scene.worker.action("add")(lambda: scene.editor.add("act", due=due, id="new"))
    scene.editor.add("add", due=DUE, id="a")
    scene.editor.add("act", due=NEXT, id="b")
    report = scene.run()
    assert scene.costs("heads")["heads"] >= 1
    assert scene.done == (["new"] if due == DUE else [])
    assert report.rings_at == (NEXT if due == DUE else due)


@pytest.mark.parametrize("after", [timedelta(0), HOUR])
def test_a_task_added_while_the_lanes_are_given_back_is_rung_for(scene: Scene, after: timedelta) -> None:
    # Given a task that is due, one that waits, and an editor that adds one just before the lanes are free
    scene.editor.add("act", due=DUE, id="a")
    scene.editor.add("act", due=NEXT, id="b")
    added = in_lane(2, name="new")
    scene.at_release(lambda _: scene.editor.add("act", due=DUE + after, id=added))
    # When the run ends
    report = scene.run()
    # Then it is run, or rung for
    assert scene.done == (["a", added] if not after else ["a"])
    assert report.rings_at == (DUE + after if after else NEXT)
    assert scene.editor.status().healthy


def test_a_task_that_is_written_before_the_lanes_are_free_and_armed_after_that_is_rung_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an editor between its write of a task and its look at the record, while the lanes are given back
    def write(_: ArmingRecord) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Armer, "lower", lambda armer, *_, **__: armer.read())
            scene.editor.add("act", due=NEXT, id="b")

    scene.editor.add("act", due=DUE, id="a")
    scene.at_release(write)
    assert scene.run().rings_at is None
    # When it goes on, then the rule rings for its task
    assert scene.backend.armer.lower({scene.editor.get("b").lane: NEXT}).rings_at == NEXT


@pytest.mark.parametrize(
    ("change", "rings_at"),
    [
        (lambda editor: editor.move("a", due=DUE + HOUR), DUE + HOUR),
        (lambda editor: editor.move("a", due=DUE + 3 * HOUR), NEXT),
        (lambda editor: editor.cancel("a"), NEXT),
    ],
    ids=["moved", "moved-behind-the-next", "cancelled"],
)
def test_a_task_that_its_own_action_changes_is_rung_for_as_it_is_then(
    scene: Scene, change: Callable[[Editor], object], rings_at: datetime
) -> None:
    # Given an action that changes its own task, so that its outcome counts no more
    scene.worker.action("change")(lambda: change(scene.editor))
    scene.editor.add("change", due=DUE, id="a")
    scene.editor.add("act", due=NEXT, id="b")
    # When it is run, then the rule rings for the earliest that waits
    report = scene.run()
    assert (report.superseded, report.rings_at) == (1, rings_at)
    assert scene.editor.status().healthy


def test_a_task_that_was_added_before_the_lease_was_renewed_is_read_for(scene: Scene, stage: Stage) -> None:
    # Given an action that adds a task, and goes on until the run has seen that in the record
    @scene.worker.action("add")
    def add() -> None:
        scene.editor.add("act", due=NEXT, id="b")
        stage.sleep(70)

    scene.editor.add("add", due=DUE, id="a")
    # When the run ends, then it has given its lanes back, and rings for the task
    report = scene.run(pool=stage)
    assert (report.done, report.rings_at) == (1, NEXT)
    assert scene.backend.armer.read().lanes_of(report.run) == ()
    assert scene.costs("heads")["heads"] >= 1


# A run reads the heads of its lanes if its last look does not tell them.


def test_a_run_with_trouble_in_one_lane_reads_the_heads(scene: Scene) -> None:
    # Given a lane that is not read at first, in which a task waits
    for lane, due in enumerate((DUE, DUE + HOUR, NEXT)):
        scene.editor.add("act", due=due, id=in_lane(lane))
    refused = iter([True])
    scene.store.refuses = lambda verb, lane: (verb, lane) == ("queued", 1) and next(refused, False)
    report = scene.run()
    assert (report.done, report.rings_at) == (1, DUE + HOUR)
    assert scene.costs("heads")["heads"] >= 1


@pytest.mark.parametrize("verb", ["claim", "save"])
def test_a_run_with_a_write_that_failed_reads_the_heads(scene: Scene, verb: str) -> None:
    for lane, due in enumerate((DUE, DUE + HOUR)):
        scene.editor.add("act", due=due, id=in_lane(lane))
    scene.store.error = AwsUnavailable
    refused = iter([True])
    scene.store.refuses = lambda called, _: called == verb and next(refused, False)
    report = scene.run()
    assert (report.done, len(scene.done), report.rings_at) == (1, 1, DUE + HOUR)
    assert scene.costs("reads")["reads"] >= 2


def test_a_stale_record_is_tried_again_at_once(scene: Scene) -> None:
    # Given another process that changes the record while the action runs, but adds nothing
    def touch() -> None:
        scene.backend.armer.change(lambda record: record.ringing_ahead(SECOND))

    scene.worker.action("touch")(touch)
    scene.editor.add("touch", due=DUE, id="a")
    # When the run gives its lanes back, then it is one write and one read more, without a wait
    assert scene.run().rings_at is None
    assert scene.costs("reads", "swaps", "heads") == {"reads": 3, "swaps": 5, "heads": 0}
    assert scene.clock.now == DUE


def test_a_task_that_cannot_be_read_is_said_and_looked_at_again(
    scene: Scene, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task that this version cannot read
    scene.editor.add("act", due=DUE, id="a")
    scene.editor.add("act", due=NEXT, id="b")

    def claim(*_: object, **__: object) -> None:
        raise UnreadableTask("a", "of a later version")

    monkeypatch.setattr(scene.store, "claim", claim)
    # When a run comes, then the rule rings for the next look at it, and not only for what waits
    assert scene.run().rings_at == DUE + 5 * MINUTE
    assert {(line["id"], line["level"]) for line in log.lines("unreadable")} == {("a", "ERROR")}


# A run that has not seen all of its lanes, or has lost its lease, while it gives them back.


def test_a_lane_with_a_page_that_could_not_be_read(
    clock: Clock, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given more due in a lane than a page has, and so much in the other that all is counted
    scene = Scene(clock, pool=stage, places=4, calls=True, lanes=2, parallel_runs=2)
    scene.worker.action("work")(lambda: stage.sleep(1))
    page = 25
    for due, lane, count in ((NOON, 0, page + 3), (NOON + SECOND, 1, 40)):
        scene.editor.add_many({"action": "work", "due": due, "id": id} for id in ids_in(lane, count, lanes=2))
    clock.advance(2 * SECOND)
    queued, refused = scene.store.queued, list[int]()

    def without_the_second_page(lane: int, **bounds: Any) -> Iterator[QueueKey]:
        for number, key in enumerate(queued(lane, **bounds)):
            if (number, lane) == (page, 0) and not refused:
                refused.append(lane)
                raise AwsUnavailable("the second page is throttled")
            yield key

    monkeypatch.setattr(scene.store, "queued", without_the_second_page)
    # When a run has done what it saw, then it looks for the rest
    scene.worker.run(time_left=10 * MINUTE)
    assert refused
    assert scene.is_rung_for()


def test_a_lane_whose_trouble_ended_while_others_were_counted_is_not_taken_for_empty(
    clock: Clock, stage: Stage
) -> None:
    # Given a lane with some seconds' work, and one that cannot be read at first, in which a task is due
    scene = Scene(clock, pool=stage, places=1, calls=True, lanes=2, parallel_runs=2)
    scene.worker.action("work")(lambda: stage.sleep(1))
    unread = in_lane(1, lanes=2)
    for id in (*ids_in(0, 8, lanes=2), unread):
        scene.editor.add("work", due=NOON, id=id)
    scene.store.refuses = lambda verb, lane: (verb, lane) == ("queued", 1) and clock.now < NOON + SECOND
    # When a run counts all lanes, to tell whether it needs help, and that count ends the trouble
    report = scene.worker.run(time_left=10 * MINUTE)
    # Then the run does not give the lane back as if it had looked into it
    assert scene.store.calls["count", 1] == 1
    assert (report.done, report.rings_at) == (9, None)
    assert scene.editor.get(unread).status is Status.DONE


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
    scene.at_release(lambda new: scene.store.swap_record(scene.store.record, new))
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

    scene.at_release(lambda _: theirs.append(scene.backend.armer.change(claim)))
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
