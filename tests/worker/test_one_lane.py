"""The trouble of one lane is that lane's alone: all others go on, and it is tried again later."""

from itertools import pairwise

import pytest

from duebell import Editor, Status
from duebell_shared.bell.arming import LastRun, RestingLane
from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable, UnreadableTask
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.lanes import Call, Trouble
from tests.support import NOON, Clock
from tests.worker.hooked_store import READS, WRITES
from tests.worker.log_lines import Log
from tests.worker.memory import ids_in
from tests.worker.scene import HOUR, MINUTE, SECOND, Scene

#: Of eight lanes, the one that is refused.
OUT = 3


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(clock, lanes=8)


def add(editor: Editor, *ids: str) -> None:
    for id in ids:  # one by one: `add_many` has threads, and the queue in memory takes no two at a time
        editor.add("act", due=NOON, id=id)


@pytest.mark.parametrize(
    ("verbs", "error"),
    [
        (READS, AwsRefused),
        ({"claim"}, AwsUnavailable),
        ({"save"}, AwsRefused),
        (READS | WRITES, AwsUnavailable),
    ],
    ids=["reads", "claims", "outcomes", "all"],
)
def test_all_tasks_of_the_other_lanes_are_started_in_the_first_run(
    scene: Scene, verbs: frozenset[str], error: type[AwsError]
) -> None:
    # Given tasks in eight lanes, of which one is refused
    ids = [f"task-{number}" for number in range(400)]
    add(scene.editor, *ids)
    others = [id for id in ids if lane_of(id, 8) != OUT]
    scene.store.refuse({OUT}, verbs)
    scene.store.error = error
    # When a run comes, with five minutes
    report = scene.worker.run(time_left=5 * MINUTE)
    # Then all tasks of the others have been started, and are done
    assert set(others) <= set(scene.done)
    assert report.done == len(others)
    assert report.resting == (OUT,)
    # And of this one, no more were started than could be recorded, but for a batch
    assert len(scene.done) - len(others) <= 25


def test_a_lane_that_is_refused_is_tried_again_after_as_long_as_its_trouble_has_lasted(
    scene: Scene, clock: Clock
) -> None:
    # Given a task in a lane that nobody can read for hours
    [id] = ids_in(OUT, 1, lanes=8)
    add(scene.editor, id)
    scene.store.refuse({OUT}, READS)
    tries = []
    # When the rule rings for it
    while clock.now < NOON + 4 * HOUR:
        report = scene.worker.run()
        assert report.resting == (OUT,)
        assert report.rings_at is not None
        tries.append(clock.now)
        clock.now = report.rings_at
    # Then it does so ever less often, and never less than every half an hour
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert gaps[0] <= 2 * MINUTE
    assert all(earlier <= later + MINUTE for earlier, later in pairwise(gaps))
    assert 29 * MINUTE <= gaps[-1] <= 32 * MINUTE
    assert len(tries) < 16
    # And when it can be read again, it is done, and nothing is left of that
    scene.store.refuse(())
    report = scene.worker.run()
    assert (report.done, report.resting) == (1, ())
    last_run = scene.editor.status().last_run
    assert last_run
    assert last_run.resting == ()


def test_what_is_added_to_a_lane_that_rests_is_rung_for(scene: Scene, clock: Clock) -> None:
    # Given a lane that rests for half an hour
    first, second = ids_in(OUT, 2, lanes=8)
    add(scene.editor, first)
    scene.store.refuse({OUT}, READS)
    for _ in range(10):
        clock.now = scene.worker.run().rings_at or clock.now
    assert scene.worker.run().rings_at >= clock.now + 29 * MINUTE  # type: ignore[operator]
    # When a task is added to it, then the rule rings for that
    scene.store.refuse(())
    scene.editor.add("act", due=clock.now + 5 * MINUTE, id=second)
    assert scene.editor.status().rings_at <= clock.now + 6 * MINUTE  # type: ignore[operator]


def test_the_record_says_which_lane_rests_and_other_runs_keep_that(scene: Scene, clock: Clock) -> None:
    add(scene.editor, *ids_in(OUT, 1, lanes=8))
    scene.store.refuse({OUT})
    scene.worker.run()
    [resting] = scene.backend.armer.read().last_run.resting  # type: ignore[union-attr]
    assert (resting.lane, resting.since) == (OUT, NOON)
    # When a run of other lanes comes
    calls = scene.store.calls.copy()
    scene.worker._run("another", scene.backend, None, lanes=(0, 1))
    # Then it has not asked for this one, and the record still says so
    assert scene.store.calls["queued", OUT] == calls["queued", OUT]
    assert scene.backend.armer.read().last_run.resting == (resting,)  # type: ignore[union-attr]


def test_one_call_that_is_not_answered_makes_no_lane_rest(scene: Scene, clock: Clock, log: Log) -> None:
    add(scene.editor, *ids_in(OUT, 1, lanes=8))
    scene.store.refuses = lambda verb, lane: (
        verb == "claim" and lane == OUT and scene.store.calls["claim", OUT] < 3
    )
    report = scene.worker.run()
    assert (report.done, report.resting) == (1, ())
    assert clock.now <= NOON + 5 * SECOND
    assert [line["again_at"] for line in log.lines("lane_trouble")] == [
        "2026-11-21T12:00:02.000Z",
        "2026-11-21T12:00:04.000Z",
    ]


def test_an_outcome_that_was_not_written_is_written_later_after_one_call(
    scene: Scene,
) -> None:
    # Given a lane that takes the first two outcomes of one of its tasks for none
    ids = ids_in(OUT, 3, lanes=8)
    add(scene.editor, *ids)
    scene.store.refuses = lambda verb, lane: (
        verb == "save" and lane == OUT and scene.store.calls["save", OUT] < 3
    )
    # When they are run
    report = scene.worker.run()
    # Then each was called once, and is done
    assert (report.done, sorted(scene.done)) == (3, sorted(ids))
    assert {scene.editor.get(id).status for id in ids} == {Status.DONE}
    assert {scene.editor.get(id).attempt for id in ids} == {1}


def test_an_outcome_that_is_never_written_is_for_the_next_run(scene: Scene, clock: Clock, log: Log) -> None:
    [id], others = ids_in(OUT, 1, lanes=8), ids_in(OUT + 1, 2, lanes=8)
    add(scene.editor, id, *others)
    scene.store.refuse({OUT}, {"save"})
    report = scene.worker.run()
    assert (report.done, report.resting, scene.done.count(id)) == (2, (OUT,), 1)
    assert len(log.lines("unrecorded")) == 3
    # When the lane is answered again, then the task left running is run once more
    scene.store.refuse(())
    assert report.rings_at is not None
    clock.now = report.rings_at
    assert scene.worker.run().done == 1
    assert (scene.editor.get(id).status, scene.editor.get(id).attempt, scene.done.count(id)) == (
        Status.DONE,
        2,
        2,
    )


@pytest.mark.parametrize("verbs", [READS, {"claim"}, {"save"}], ids=["reads", "claims", "outcomes"])
def test_what_is_refused_for_all_lanes_ends_the_run_with_that_error_and_the_lanes_are_given_back(
    scene: Scene, verbs: frozenset[str]
) -> None:
    add(scene.editor, *(f"task-{number}" for number in range(40)))
    scene.store.refuse(range(8), verbs)
    with pytest.raises(AwsUnavailable, match="does not answer"):
        scene.worker.run()
    record = scene.backend.armer.read()
    assert all(lane.owner is None for lane in record.lanes)
    assert record.target >= NOON + MINUTE


def test_a_head_that_cannot_be_read_loses_nothing(scene: Scene, clock: Clock) -> None:
    now, later = ids_in(OUT, 2, lanes=8)
    scene.editor.add("act", due=NOON, id=now)
    scene.editor.add("act", due=NOON + 5 * SECOND, id=later)
    scene.store.refuse({OUT}, {"head"})
    report = scene.worker.run()
    assert (report.done, report.resting) == (1, ())  # the next look into the lane tells its head as well
    assert scene.backend.armer.read().lanes[OUT].due <= clock.now + 2 * MINUTE
    scene.store.refuse(())
    assert report.rings_at is not None
    clock.now = report.rings_at
    assert scene.worker.run().done == 1


def test_a_run_over_many_lanes_that_are_mostly_empty_reads_each_once(clock: Clock) -> None:
    scene = Scene(clock, lanes=64)
    add(scene.editor, "one", "two")
    assert scene.run(at=clock.now).done == 2
    reads = {verb: [scene.store.calls[verb, lane] for lane in range(64)] for verb in READS}
    assert reads == {"queued": [1] * 64, "head": [0] * 64, "count": [0] * 64}


# Lanes that a run leaves alone for a while.


def test_a_lane_of_which_a_batch_wrote_something_is_not_in_trouble(clock: Clock) -> None:
    trouble = Trouble("run", clock)
    # Given a batch of which some writes were throttled, one was refused for itself and one item was odd
    results = [
        (0, AwsUnavailable("throttled")),
        (0, None),
        (1, AwsUnavailable("throttled")),
        (1, AwsUnavailable("throttled")),
        (2, UnreadableTask("a", "odd")),
        (3, True),
    ]
    trouble.note(Call.CLAIM, results)
    assert [trouble.again_at(lane) for lane in range(4)] == [None, NOON + 2 * SECOND, None, None]


def test_calls_that_were_under_way_when_a_lane_failed_count_once(clock: Clock) -> None:
    trouble = Trouble("run", clock)
    for _ in range(5):
        trouble.failed(0, Call.CLAIM, AwsUnavailable("throttled"))
    assert (trouble.again_at(0), trouble.resting([0])) == (NOON + 2 * SECOND, ())


def test_a_lane_rests_once_three_calls_of_a_kind_have_failed_in_a_row(clock: Clock) -> None:
    trouble, claim, read = (
        Trouble("run", clock),
        (Call.CLAIM, AwsRefused("no")),
        (Call.READ, AwsRefused("no")),
    )
    rests = []
    for call, result in (claim, claim, read, (Call.CLAIM, None), claim, claim, read, claim):
        clock.advance(2 * SECOND)
        trouble.note(call, [(0, result)])
        rests.append(trouble.resting([0]))
    assert rests == [()] * 7 + [(RestingLane(lane=0, since=NOON + 2 * SECOND),)]


def test_trouble_is_that_of_all_lanes_when_no_call_of_a_kind_is_answered(clock: Clock) -> None:
    trouble, refused = Trouble("run", clock), AwsRefused("no")
    trouble.failed(0, Call.CLAIM, refused)
    trouble.note(Call.READ, [(1, None)])
    assert trouble.error_of_all(1) is refused
    assert trouble.error_of_all(8) is None  # it may be the trouble of that lane alone
    trouble.failed(2, Call.CLAIM, refused)
    assert trouble.error_of_all(8) is refused
    trouble.note(Call.CLAIM, [(1, None)])
    assert trouble.error_of_all(8) is None


def test_a_lane_is_read_at_once_when_its_rest_is_over_although_no_run_has_ended_since(clock: Clock) -> None:
    resting = (RestingLane(lane=0, since=NOON - 10 * MINUTE), RestingLane(lane=7, since=NOON))
    last = LastRun(run="last", finished_at=NOON, resting=resting)
    clock.now = NOON + 10 * MINUTE - SECOND
    assert Trouble("run", clock, last=last, lanes=[0]).again_at(0) == clock.now + 2 * SECOND
    clock.now = NOON + 10 * MINUTE
    trouble = Trouble("run", clock, last=last, lanes=[0])
    assert trouble.again_at(0) is None
    assert [one.lane for one in trouble.resting([0, 7])] == [0]


def test_tasks_that_are_skipped_no_more_are_not_kept_in_memory(clock: Clock) -> None:
    trouble = Trouble("run", clock)
    # Given a long run that skips a task every second, readable or reserved
    for n in range(200):
        trouble.skip(QueueKey(queued=clock.now, id=f"odd-{n}", lane=0), until=clock.now + 2 * SECOND)
        trouble.skip(QueueKey(queued=clock.now, id=f"reserved-{n}", lane=1), until=clock.now + 3 * SECOND)
        clock.advance(SECOND)
        trouble.skipped(0)
    assert len(trouble._skipped) <= 6
    # When all of that is over, the run still knows that there was something
    clock.advance(MINUTE)
    assert trouble.skipped(1) == {}
    assert trouble.was_any
