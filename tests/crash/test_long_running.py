"""A long-running process that dies, or is told to end, at each of its calls: nothing acknowledged is lost."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_worker.process import Process
from tests.support import NOON

from .dying import Death, Moment, Processes, World

pytestmark = pytest.mark.slow

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: When the tasks are due; the process has waited for all of them by `END`.
DUES = {"task-0": 10 * SECOND, "task-1": 40 * SECOND, "task-2": 5 * MINUTE}
END = 6 * MINUTE


@pytest.fixture(autouse=True)
def _looks_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that most of its calls are of runs."""
    monkeypatch.setattr("duebell_worker.process.LOOK_EVERY", MINUTE)
    monkeypatch.setattr("duebell_worker.run.waits.LOOK_EVERY", MINUTE)


class Hosted(World):
    """A process with three tasks to come, and the Lambda that stands in for it."""

    def __init__(self, processes: Processes, number: int, moment: Moment) -> None:
        super().__init__(processes, number, moment)
        for id, due in DUES.items():
            self.editor.add("note", due=NOON + due, id=id, payload={})

    def process(self, *, dies_at: int | None = None) -> Process:
        """A process that may die at a call, and is told to end when it sleeps until the end."""

        def sleep(seconds: float) -> None:
            self.clock.sleep(seconds)
            if self.clock.now >= NOON + END:
                process.drain()

        connected = self.processes.connect(self.clock, dies_at=dies_at, moment=self.moment)
        self.backend = replace(connected, sleep=sleep)
        worker = Worker(backend=self.backend, pool=lambda _: InlinePool())
        self.actions(worker)
        process = Process(worker, drain_for=20 * SECOND)
        return process

    def goes_on(self) -> None:
        """The rule rings for what is left; then all is done, and no lane is held."""
        self.processes.connect(self.clock)
        self.rings()
        self.ends_well(*DUES)
        assert not self.backend.armer.read().owners(self.clock.now)

    def started(self) -> list[str]:
        return sorted(id for id, _ in self.ran)


def test_a_process_that_dies_at_any_call_is_replaced_by_the_lambda(each_call: Callable[[Any], Any]) -> None:
    for now in each_call(Hosted):
        try:
            now.process(dies_at=now.number).run()
        except Death:
            now.goes_on()
            # At most the task that was under way was started twice
            assert len(now.ran) <= len(DUES) + 1
        else:
            now.lived = True
            assert now.started() == [*DUES]


def test_a_process_that_is_told_to_end_at_any_call_leaves_the_rest_to_the_lambda(
    each_call: Callable[[Any], Any],
) -> None:
    for now in each_call(Hosted):
        if now.moment is Moment.AFTER:  # it does not die, and is told once
            continue
        process, events = now.process(), now.processes._session.events
        calls: list[int] = []

        def called(
            process: Process = process, number: int = now.number, calls: Any = calls, **_: Any
        ) -> None:
            calls.append(1)
            if len(calls) == number:
                process.drain()

        events.register("before-call", called, unique_id="drain")
        try:
            assert process.run()
        finally:
            events.unregister("before-call", unique_id="drain")
        # All lanes are free at once, and the rule is set for what is left
        assert not now.backend.armer.read().owners(now.clock.now)
        now.lived = len(calls) < now.number
        now.goes_on()
        # Nothing was started twice
        assert now.started() == [*DUES]
