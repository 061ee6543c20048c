"""One verdict: the page's API, `status`, `doctor`, their exit statuses and the library say the same."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import boto3
import pytest
from starlette.testclient import TestClient

from duebell import Editor, Failure, ProblemKind, Settings, Status
from duebell.http import create_app
from duebell_editor.cli.context import Context
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import STARTS_WITHIN, QueueKey
from tests.cli.program import Duebell, lines
from tests.shared.on_moto import swap
from tests.support import NOON, Clock

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@dataclass
class Scene:
    """A queue with two tasks: `soon`, due in a minute, and `later`, due in an hour."""

    backend: Backend
    session: boto3.Session
    clock: Clock

    @property
    def editor(self) -> Editor:
        return Editor(backend=self.backend)

    def wait(self, by: timedelta) -> None:
        self.clock.now = NOON + MINUTE + by

    def lease(self) -> None:
        """Let a run hold all lanes for an hour, from the time that `soon` is due."""
        self.wait(timedelta())
        now = self.clock.now
        swap(self.backend, lambda record: record.claimed("run", now=now, until=now + HOUR))
        self.backend.armer.ensure()

    def start(self) -> None:
        task = self.editor.get("soon")
        assert task.queued
        key = QueueKey(task.queued, task.id, task.lane)
        claimed = self.backend.store.claim(key, run="run", now=self.clock.now, status=Status.SCHEDULED)
        assert claimed

    def fail(self) -> None:
        task = self.editor.get("soon")
        failed = task.failed(Failure(type="E", message=""), now=self.clock.now, keep=RetentionPolicy())
        assert self.backend.store.save(task, failed)


@pytest.fixture
def scene(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Scene:
    backend = Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr(Context, "editor", lambda _, **__: Editor(backend=backend))
    scene = Scene(backend, session, clock)
    scene.editor.add("act", due=MINUTE, id="soon")
    scene.editor.add("act", due=HOUR, id="later")
    return scene


@pytest.mark.parametrize(
    ("make", "kinds", "overdue"),
    [
        pytest.param(lambda _: None, [], 0, id="fine"),
        pytest.param(lambda on: (on.lease(), on.wait(STARTS_WITHIN)), [], 0, id="nearly late"),
        pytest.param(
            lambda on: (on.lease(), on.wait(STARTS_WITHIN + SECOND)),
            [ProblemKind.OVERDUE],
            1,
            id="late, while a run is at work",
        ),
        pytest.param(
            lambda on: (on.lease(), on.start(), on.wait(10 * MINUTE)), [], 0, id="fine, and runs for long"
        ),
        pytest.param(
            lambda on: on.wait(2 * MINUTE + SECOND),
            [ProblemKind.NOT_ARMED, ProblemKind.OVERDUE],
            1,
            id="late, as the ring was lost",
        ),
        pytest.param(Scene.fail, [ProblemKind.FAILED_TASKS], 0, id="failing"),
    ],
)
def test_all_say_the_same_of_the_same_queue(
    scene: Scene, duebell: Duebell, make: Callable[[Scene], object], kinds: list[ProblemKind], overdue: int
) -> None:
    # Given a queue in this state
    make(scene)
    # Then all surfaces tell the same problems, verdict and count of late tasks
    editor, verdict = scene.editor, "needs attention" if kinds else "healthy"
    client = TestClient(create_app(editor), base_url="http://127.0.0.1:8125")
    for found in (editor.status(), editor.doctor().status):
        assert ([one.kind for one in found.problems], found.verdict, found.overdue) == (
            kinds,
            verdict,
            overdue,
        )
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
