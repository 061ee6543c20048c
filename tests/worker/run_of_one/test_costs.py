"""A run of one task: what it costs, and what is put back, added or changed meanwhile is rung for."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from duebell import Editor, Retry
from duebell_shared.bell.armer import Armer
from duebell_shared.errors import AwsUnavailable, UnreadableTask
from tests.worker.log_lines import Log
from tests.worker.memory import in_lane
from tests.worker.run_of_one.scene import DUE, HOUR, MINUTE, NEXT, SECOND, Scene
from tests.worker.stage import Stage

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
    assert scene.costs.of() == PLAIN


@pytest.mark.parametrize(
    ("due", "late"),
    [(DUE + 56 * MINUTE, 0), (DUE, 121)],
    ids=["its ring has no echo in its hour", "it comes late"],
)
def test_a_run_without_an_echo_sets_its_watchdog(scene: Scene, due: datetime, late: int) -> None:
    scene.editor.add("act", due=due, id="a")
    # When it is run, then the rule is set for the end of the lease as well
    assert scene.run(at=due + late * SECOND).done == 1
    assert scene.costs.of() == PLAIN | {"swaps": 4, "puts": 2}


def test_a_run_that_finds_nothing_due_is_as_cheap(scene: Scene) -> None:
    scene.editor.add("act", due=DUE, id="a")
    scene.editor.cancel("a")
    report = scene.run()
    assert (report.done, report.rings_at) == (0, None)
    assert scene.costs.of() == PLAIN


def test_a_task_that_is_tried_again_is_rung_for_without_a_read_of_heads(scene: Scene) -> None:
    @scene.worker.action("fail")
    def fail() -> None:
        raise Retry(after=5 * MINUTE)

    scene.editor.add("fail", due=DUE, id="a")
    report = scene.run()
    assert (report.retried, report.rings_at) == (1, DUE + 5 * MINUTE)
    assert scene.costs.of() == PLAIN


def test_the_next_occurrence_is_rung_for_without_a_read_of_heads(scene: Scene) -> None:
    scene.editor.add("act", schedule="rate(1 hour)", id="a")  # its first one is in an hour
    for hour in range(3):
        scene.ring(after=5 * SECOND)
        assert scene.clock.now == DUE + hour * HOUR + 5 * SECOND
        report = scene.run(at=scene.clock.now)
        assert (report.done, report.rings_at) == (1, DUE + (hour + 1) * HOUR)
        assert scene.costs.of() == PLAIN


def test_a_lease_that_is_renewed_is_one_write_and_the_echo_stays_its_watchdog(
    scene: Scene, stage: Stage
) -> None:
    # Given an action that takes longer than half of a lease
    scene.worker.action("long")(lambda: stage.sleep(70))
    scene.editor.add("long", due=DUE, id="a")
    # When it is run, then the renewal is one write, without a read, and leaves the rule alone
    assert scene.run(pool=stage).done == 1
    assert scene.costs.of("reads", "swaps", "puts") == {"reads": 1, "swaps": 4, "puts": 1}


def test_with_an_echo_as_the_watchdog_all_is_well_and_nobody_sets_the_rule(scene: Scene) -> None:
    # Given somebody who looks at everything while a run relies on the rule's echo
    found: list[object] = []

    @scene.worker.action("look")
    def look() -> None:
        scene.editor.ensure_armed()
        found.append((scene.editor.status().healthy, scene.costs.of("puts")))

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
    assert scene.costs.of("heads")["heads"] >= 1
    assert scene.done == (["new"] if due == DUE else [])
    assert report.rings_at == (NEXT if due == DUE else due)


@pytest.mark.parametrize("after", [timedelta(0), HOUR])
def test_a_task_that_is_added_while_the_lanes_are_given_back_is_rung_for(
    scene: Scene, after: timedelta
) -> None:
    # Given a task that is due, one that waits, and an editor that adds one just before the lanes are free
    scene.editor.add("act", due=DUE, id="a")
    scene.editor.add("act", due=NEXT, id="b")
    added = in_lane(2, name="new")
    scene.at_release(lambda: scene.editor.add("act", due=DUE + after, id=added))
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
    def write() -> None:
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
    assert scene.costs.of("heads")["heads"] >= 1


# A run reads the heads of its lanes if its last look does not tell them.


def test_a_run_with_trouble_in_one_lane_reads_the_heads(scene: Scene) -> None:
    # Given a lane that is not read at first, in which a task waits
    for lane, due in enumerate((DUE, DUE + HOUR, NEXT)):
        scene.editor.add("act", due=due, id=in_lane(lane))
    refused = iter([True])
    scene.store.refuses = lambda verb, lane: (verb, lane) == ("queued", 1) and next(refused, False)
    report = scene.run()
    assert (report.done, report.rings_at) == (1, DUE + HOUR)
    assert scene.costs.of("heads")["heads"] >= 1


@pytest.mark.parametrize("verb", ["claim", "save"])
def test_a_run_with_a_write_that_failed_reads_the_heads(scene: Scene, verb: str) -> None:
    for lane, due in enumerate((DUE, DUE + HOUR)):
        scene.editor.add("act", due=due, id=in_lane(lane))
    scene.store.error = AwsUnavailable
    refused = iter([True])
    scene.store.refuses = lambda called, _: called == verb and next(refused, False)
    report = scene.run()
    assert (report.done, len(scene.done), report.rings_at) == (1, 1, DUE + HOUR)
    assert scene.costs.of("reads")["reads"] >= 2


def test_a_stale_record_is_tried_again_at_once(scene: Scene) -> None:
    # Given another process that changes the record while the action runs, but adds nothing
    def touch() -> None:
        scene.backend.armer.change(lambda record: record.ringing_ahead(SECOND))

    scene.worker.action("touch")(touch)
    scene.editor.add("touch", due=DUE, id="a")
    # When the run gives its lanes back, then it is one write and one read more, without a wait
    assert scene.run().rings_at is None
    assert scene.costs.of("reads", "swaps", "heads") == {"reads": 3, "swaps": 5, "heads": 0}
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
