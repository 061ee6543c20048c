"""What is added or changed between the last look of a run and its end is rung for."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Armer
from tests.support import Clock
from tests.worker.memory import in_lane
from tests.worker.run_of_one.scene import DUE, HOUR, NEXT, Costs, CountingStore, at_release
from tests.worker.stage import Stage


@pytest.mark.parametrize("due", [DUE + HOUR, DUE], ids=["later", "due"])
def test_a_task_that_is_added_by_the_action_is_read_for(
    editor: Editor, worker: Worker, clock: Clock, costs: Costs, done: list[str], *, due: datetime
) -> None:
    worker.action("add")(lambda: editor.add("act", due=due, id="new"))
    editor.add("add", due=DUE, id="a")
    editor.add("act", due=NEXT, id="b")
    clock.now = DUE
    costs.clear()
    report = worker.run()
    assert costs.of("heads")["heads"] >= 1
    assert done == (["new"] if due == DUE else [])
    assert report.rings_at == (NEXT if due == DUE else due)


@pytest.mark.parametrize("after", [timedelta(0), HOUR])
def test_a_task_that_is_added_while_the_lanes_are_given_back_is_rung_for(
    editor: Editor, worker: Worker, store: CountingStore, clock: Clock, done: list[str], *, after: timedelta
) -> None:
    # Given a task that is due, one that waits, and an editor that adds one just before the lanes are free
    editor.add("act", due=DUE, id="a")
    editor.add("act", due=NEXT, id="b")
    added = in_lane(2, name="new")
    clock.now = DUE
    at_release(store, lambda: editor.add("act", due=DUE + after, id=added))
    # When the run ends
    report = worker.run()
    # Then it is run, or rung for
    assert done == (["a", added] if not after else ["a"])
    assert report.rings_at == (DUE + after if after else NEXT)
    assert editor.status().healthy


def test_a_task_that_is_written_before_the_lanes_are_free_and_armed_after_that_is_rung_for(
    worker: Worker,
    editor: Editor,
    backend: Backend,
    store: CountingStore,
    clock: Clock,
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given an editor between its write of a task and its look at the record, while the lanes are given back
    def write() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Armer, "lower", lambda armer, *_, **__: armer.read())
            editor.add("act", due=NEXT, id="b")

    editor.add("act", due=DUE, id="a")
    clock.now = DUE
    at_release(store, write)
    assert worker.run().rings_at is None
    # When it goes on, then the rule rings for its task
    assert backend.armer.lower({editor.get("b").lane: NEXT}).rings_at == NEXT


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
    editor: Editor, worker: Worker, clock: Clock, change: Callable[[Editor], object], rings_at: datetime
) -> None:
    # Given an action that changes its own task, so that its outcome counts no more
    worker.action("change")(lambda: change(editor))
    editor.add("change", due=DUE, id="a")
    editor.add("act", due=NEXT, id="b")
    clock.now = DUE
    # When it is run, then the rule rings for the earliest that waits
    report = worker.run()
    assert (report.superseded, report.rings_at) == (1, rings_at)
    assert editor.status().healthy


def test_a_task_that_was_added_before_the_lease_was_renewed_is_read_for(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock, costs: Costs
) -> None:
    # Given an action that adds a task, and goes on until the run has seen that in the record
    worker = Worker(backend=backend, pool=stage)

    @worker.action("add")
    def add() -> None:
        editor.add("act", due=NEXT, id="b")
        stage.sleep(70)

    editor.add("add", due=DUE, id="a")
    clock.now = DUE
    costs.clear()
    # When the run ends, then it has given its lanes back, and rings for the task
    report = worker.run()
    assert (report.done, report.rings_at) == (1, NEXT)
    assert backend.armer.read().lanes_of(report.run) == ()
    assert costs.of("heads")["heads"] >= 1
