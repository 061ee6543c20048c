"""Deliveries under way when a run's time is over, and what takes the places of a run."""

from collections.abc import Sequence
from datetime import timedelta

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.deliveries.delivery import Delivery
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from tests.support import NOON, Clock
from tests.worker.stage import Stage

QUEUE = "arn:aws:sqs:eu-central-1:123456789012:orders"
MINUTE = timedelta(minutes=1)


class Slow:
    """A service that takes its time; it accepts everything."""

    def __init__(self, stage: Stage, seconds: float) -> None:
        self.stage = stage
        self.seconds = seconds
        self.calls: list[list[str]] = []

    def __call__(self, tasks: Sequence[tuple[Delivery, Task]]) -> list[None]:
        self.calls.append([task.id for _, task in tasks])
        self.stage.sleep(self.seconds)
        return [None] * len(tasks)


def make(backend: Backend, stage: Stage, service: Slow, **options: int) -> Worker:
    worker = Worker(concurrency=2)
    worker.deliver("remind", to=QUEUE, **options)  # type: ignore[arg-type]
    worker.action("act")(lambda: stage.sleep(20))
    return worker.over(backend, pool=stage, deliver=service)


def remind(editor: Editor, count: int) -> None:
    """Add so many deliveries that are due."""
    for number in range(count):
        editor.add("remind", due=NOON, id=f"task-{number}")


def test_what_waits_for_a_batch_is_given_back_and_what_is_sent_counts(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    stage = Stage(clock)
    service = Slow(stage, seconds=3600)
    worker = make(backend, stage, service)
    remind(editor, 60)
    report = worker.run(time_left=5 * MINUTE)
    begun = {id for call in service.calls for id in call}
    # Then the attempts that had begun have failed, and the others are as if they had never been claimed
    assert report.stopped_early
    assert 0 < len(begun) < 60
    assert report.retried == len(begun)
    for number in range(60):
        task = editor.get(f"task-{number}")
        assert (task.status, task.attempt) == (Status.SCHEDULED, 1 if task.id in begun else 0)
    stage.wake_all()
    assert {id for call in service.calls for id in call} == begun
    # And all are sent in the end
    service.seconds = 1
    clock.advance(60 * MINUTE)
    assert worker.run(time_left=15 * MINUTE).done == 60


def test_waiting_deliveries_leave_places_to_others(editor: Editor, backend: Backend, clock: Clock) -> None:
    # Given a service that takes a minute, and as many deliveries as a run has room for; then two others
    stage = Stage(clock)
    service = Slow(stage, seconds=60)
    worker = make(backend, stage, service)
    remind(editor, 40)
    for number in range(2):
        editor.add("act", due=NOON + timedelta(seconds=1), id=f"act-{number}")
    clock.now = NOON + timedelta(seconds=2)
    report = worker.run(time_left=15 * MINUTE)
    assert report.done == 42
    # Then they were all under way, ten in a call, and the others ran meanwhile
    assert max(map(len, service.calls)) == 10
    acts = [editor.get(f"act-{number}") for number in range(2)]
    assert all(one.finished_at and one.finished_at < NOON + timedelta(seconds=30) for one in acts)


def test_the_last_attempts_of_a_batch_are_recorded_before_they_are_made(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given deliveries with one attempt, and a service at whose call all of them are recorded as begun
    stage = Stage(clock)
    begun: list[int | None] = []

    class Looking(Slow):
        def __call__(self, tasks: Sequence[tuple[Delivery, Task]]) -> list[None]:
            begun.extend(editor.get(task.id).begun for _, task in tasks)
            return super().__call__(tasks)

    service = Looking(stage, seconds=1)
    worker = make(backend, stage, service, attempts=1)
    remind(editor, 12)
    assert worker.run().done == 12
    assert begun == [1] * 12
    assert len(service.calls) < 12
