"""One verdict: the page's API, `status`, `doctor`, their exit statuses and the library say the same."""

from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from duebell import Editor, ProblemKind, Status
from duebell.http import create_app
from duebell_shared.backend import Backend
from duebell_shared.tasks.task import STARTS_WITHIN
from tests.cli.program import Duebell, fail, lines
from tests.shared.on_moto import swap
from tests.support import NOON, Clock
from tests.worker.other_runs import key_of

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def lease(backend: Backend) -> None:
    """A run holds all lanes for an hour."""
    now = backend.clock()
    swap(backend, lambda record: record.claimed("run", now=now, until=now + HOUR))
    backend.armer.ensure()


def start(backend: Backend) -> None:
    key = key_of(Editor(backend=backend).get("soon"))
    assert backend.store.claim(key, run="run", now=backend.clock(), status=Status.SCHEDULED)


@pytest.mark.parametrize(
    ("steps", "late_by", "kinds"),
    [
        pytest.param([], -MINUTE, [], id="fine"),
        pytest.param([lease], STARTS_WITHIN, [], id="nearly late"),
        pytest.param(
            [lease], STARTS_WITHIN + SECOND, [ProblemKind.OVERDUE], id="late, while a run is at work"
        ),
        pytest.param([lease, start], 10 * MINUTE, [], id="fine, and runs for long"),
        pytest.param(
            [],
            2 * MINUTE + SECOND,
            [ProblemKind.NOT_ARMED, ProblemKind.OVERDUE],
            id="late, the ring was lost",
        ),
        pytest.param(
            [lambda backend: fail(Editor(backend=backend), "soon")],
            -MINUTE,
            [ProblemKind.FAILED_TASKS],
            id="failing",
        ),
    ],
)
def test_all_say_the_same_of_the_same_queue(
    editor: Editor,
    backend: Backend,
    clock: Clock,
    duebell: Duebell,
    *,
    steps: Iterable[Callable[[Backend], None]],
    late_by: timedelta,
    kinds: list[ProblemKind],
) -> None:
    # Given a queue with one task that is due in a minute, and is so late, and one in an hour
    editor.add("act", due=MINUTE, id="soon")
    editor.add("act", due=HOUR, id="later")
    clock.now = NOON + MINUTE
    for step in steps:
        step(backend)
    clock.now = NOON + MINUTE + late_by
    # Then all surfaces tell the same problems, verdict and count of late tasks
    verdict, overdue = "needs attention" if kinds else "healthy", int(ProblemKind.OVERDUE in kinds)
    client = TestClient(create_app(editor), base_url="http://127.0.0.1:8125")
    for found in (editor.status(), editor.doctor().status):
        assert [one.kind for one in found.problems] == kinds
        assert (found.verdict, found.overdue) == (verdict, overdue)
    for told in (
        client.get("/api/status").json(),
        client.get("/api/doctor").json(),
        lines(duebell("status", "--json").out)[0],
        lines(duebell("doctor", "--json").out)[0],
    ):
        assert ([one["kind"] for one in told["problems"]], told["verdict"]) == (kinds, verdict)
        assert (told["healthy"], told["overdue"]) == (not kinds, overdue)
    for command in ("status", "doctor"):
        status, out, _ = duebell(command)
        assert (status, verdict in out) == (6 if kinds else 0, True)
    # And the chart and `why` call the same tasks late
    assert sum(bucket.overdue for bucket in editor.timeline(NOON)) == overdue
    assert sum(editor.why(id).is_late for id in ("soon", "later")) == overdue
