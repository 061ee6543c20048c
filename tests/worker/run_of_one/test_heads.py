"""Where the last look of a run does not tell the heads of its lanes, they are read."""

import pytest

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable, UnreadableTask
from tests.support import Clock
from tests.worker.log_lines import Log
from tests.worker.memory import in_lane
from tests.worker.run_of_one.scene import DUE, HOUR, MINUTE, NEXT, SECOND, Costs, CountingStore


def test_a_run_with_trouble_in_one_lane_reads_the_heads(
    editor: Editor, worker: Worker, store: CountingStore, clock: Clock, costs: Costs
) -> None:
    # Given a lane that is not read at first, in which a task waits
    editor.add("act", due=DUE, id=in_lane(0))
    editor.add("act", due=DUE + HOUR, id=in_lane(1))
    editor.add("act", due=NEXT, id=in_lane(2))
    clock.now = DUE
    costs.clear()
    refused = iter([True])
    store.refuses = lambda verb, lane: (verb, lane) == ("queued", 1) and next(refused, False)
    report = worker.run()
    assert (report.done, report.rings_at) == (1, DUE + HOUR)
    assert costs.of("heads")["heads"] >= 1


@pytest.mark.parametrize("verb", ["claim", "save"])
def test_a_run_with_a_write_that_failed_reads_the_heads(
    editor: Editor,
    worker: Worker,
    store: CountingStore,
    clock: Clock,
    costs: Costs,
    *,
    done: list[str],
    verb: str,
) -> None:
    editor.add("act", due=DUE, id=in_lane(0))
    editor.add("act", due=DUE + HOUR, id=in_lane(1))
    clock.now = DUE
    costs.clear()
    store.error = AwsUnavailable
    refused = iter([True])
    store.refuses = lambda called, _: called == verb and next(refused, False)
    report = worker.run()
    assert (report.done, len(done), report.rings_at) == (1, 1, DUE + HOUR)
    assert costs.of("reads")["reads"] >= 2


def test_a_stale_record_is_tried_again_at_once(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, costs: Costs
) -> None:
    # Given another process that changes the record while the action runs, but adds nothing
    def touch() -> None:
        backend.armer.change(lambda record: record.ringing_ahead(SECOND))

    worker.action("touch")(touch)
    editor.add("touch", due=DUE, id="a")
    clock.now = DUE
    costs.clear()
    # When the run gives its lanes back, then it is one write and one read more, without a wait
    assert worker.run().rings_at is None
    assert costs.of("reads", "swaps", "heads") == {"reads": 3, "swaps": 5, "heads": 0}
    assert clock.now == DUE


def test_a_task_that_cannot_be_read_is_said_and_looked_at_again(
    editor: Editor,
    worker: Worker,
    store: CountingStore,
    clock: Clock,
    *,
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a task that this version cannot read
    editor.add("act", due=DUE, id="a")
    editor.add("act", due=NEXT, id="b")
    clock.now = DUE

    def claim(*_: object, **__: object) -> None:
        raise UnreadableTask("a", "of a later version")

    monkeypatch.setattr(store, "claim", claim)
    # When a run comes, then the rule rings for the next look at it, and not only for what waits
    assert worker.run().rings_at == DUE + 5 * MINUTE
    assert {(line["id"], line["level"]) for line in log.lines("unreadable")} == {("a", "ERROR")}
