"""Runs leave while the queue is given more lanes, with what they have started done."""

from datetime import timedelta

from duebell import Editor, Status, Worker
from duebell_shared.backend import Backend
from duebell_shared.settings import Precision, Settings
from tests.support import NOON, Clock
from tests.worker.stage import Stage

MINUTE = timedelta(minutes=1)


def test_a_run_that_sees_the_mark_starts_nothing_more_and_gives_its_lanes_back(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given more to do than a run has places for, and a relaner that comes while the first tasks run
    stage, started = Stage(clock), list[str]()
    worker = Worker(backend=backend, concurrency=2, pool=stage)
    until = NOON + 10 * MINUTE

    @worker.action("act")
    def act(payload: dict[str, str]) -> None:
        started.append(payload["id"])
        if len(started) == 1:
            backend.armer.change(lambda record: record.relaning("relaner", until=until))
        stage.sleep(90)

    for number in range(8):
        editor.add("act", due=NOON, id=f"task-{number}", payload={"id": f"task-{number}"})
    report = worker.run(time_left=timedelta(minutes=15))

    # Then those it had started are done, and the others wait for the next run
    before = len(started)
    assert 2 <= before < 8
    assert (report.done, report.stopped_early) == (before, True)
    assert [lane.owner for lane in backend.armer.read().lanes] == [None] * 4
    assert worker.run(time_left=timedelta(minutes=15)).lanes == 0
    # And once the mark is over, they run
    clock.advance(until - clock.now)
    assert worker.run(time_left=timedelta(minutes=15)).done == 8 - before
    assert all(editor.get(f"task-{number}").status is Status.DONE for number in range(8))


def test_a_run_that_waits_for_what_is_due_soon_leaves_at_its_next_look(
    backend: Backend, clock: Clock
) -> None:
    # Given a run that waits to the second, and a relaner that comes meanwhile
    def sleep(seconds: float) -> None:
        if clock.now >= NOON + timedelta(seconds=10):
            waits.armer.change(lambda record: record.relaning("relaner", until=NOON + 10 * MINUTE))
        clock.sleep(seconds)

    settings = Settings(precision=Precision.SECOND)
    waits = Backend(settings, backend.store, backend.rule, clock=clock, sleep=sleep)
    worker = Worker(backend=waits, pool=Stage(clock))
    worker.action("act")(lambda: None)
    Editor(backend=waits).add("act", due=NOON + 2 * MINUTE, id="soon")
    report = worker.run(time_left=timedelta(minutes=15))

    # Then it has left long before the task is due, which waits
    assert (report.attempts, report.lanes) == (0, 4)
    assert clock.now < NOON + MINUTE
    assert [lane.owner for lane in waits.armer.read().lanes] == [None] * 4
