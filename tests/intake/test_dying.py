"""A process dies at each call of an intake batch: nothing is lost or there twice, and the rule is armed."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import AwsError, Editor, Status
from duebell_editor.intake import Intake
from duebell_shared.parallel import Parallel
from tests.crash.dying import Death, World, worlds
from tests.intake.conftest import Queues, again
from tests.support import NOON, minute_of

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)

PUSH = {"action": "remind", "id": "index", "if_exists": "push"}


class Taking(World):
    """A world in which processes take batches of messages."""

    step = 2

    def take(self, batch: list[dict[str, Any]], *, dies_at: int | None = None) -> None:
        """Another process takes the batch; none of it comes again."""
        backend = self.processes.connect(self.clock, dies_at=dies_at, moment=self.moment)
        assert backend.client
        editor = Editor(backend=backend, changed_by="intake")
        intake = Intake(editor, backend.client, clock=self.clock, parallel=Parallel(1))
        assert again(intake.take(batch)) == []


#: Adds, one and many; a move to before them all; a wrong entry; two changes; an update; pushes.
BATCH = (
    {"action": "remind", "in": 7200, "payload": 0},
    [{"action": "remind", "in": 7200 + n, "payload": n} for n in range(1, 6)],
    [{"do": "move", "id": "daily", "in": 1800}, {"action": "remind", "due": "tomorrow"}],
    [{"do": "move", "id": "old", "in": 3600}, {"do": "cancel", "id": "old"}],
    {"do": "update", "id": "other", "payload": 2},
    [{**PUSH, "in": 9000, "payload": "first"}, {**PUSH, "in": 9600, "payload": "last"}],
)


def test_nothing_is_lost_when_a_process_dies_at_any_call() -> None:
    with worlds() as each_call:
        for now in each_call(Taking):
            play(now)
        assert now.number > 10


def play(now: Taking) -> None:
    queues, editor = Queues(), now.editor
    editor.add("report", schedule="rate(1 day)", start=NOON + 20 * HOUR, id="daily")
    for id in ("old", "other", "index"):
        editor.add("remind", due=20 * HOUR, id=id)
    queues.send(*BATCH)
    batch = queues.received()
    assert len(batch) == len(BATCH)
    try:
        now.take(batch, dies_at=now.number)
        now.lived = True
    except (Death, AwsError):
        # Lambda gives the whole batch to another process, when the visibility timeout has passed
        now.clock.advance(timedelta(minutes=5))
        now.take(batch)

    now.processes.connect(now.clock)
    tasks = editor.list(status=["scheduled", "cancelled"], limit=100).tasks
    payloads = sorted(one.payload for one in tasks if isinstance(one.payload, int))
    assert payloads == [0, 1, 2, 2, 3, 4, 5], "a task is lost, or there twice"
    assert editor.get("daily").due == NOON + HOUR / 2
    pushed = editor.get("index")
    assert (pushed.due, pushed.payload, pushed.rev) == (NOON + timedelta(minutes=160), "last", 2)
    assert editor.get("old").status is Status.CANCELLED
    # The rule rings for the task that was moved to before all others
    assert (minute_of(now.processes.expression(), NOON) or NOON + HOUR) <= NOON + HOUR / 2
    assert editor.status().healthy
    # A dead letter may come twice, if the process died before it was known to be sent
    dead = queues.dead()
    assert 1 <= len(dead) <= (1 if now.lived else 2)
    assert {told["duebell-field"] for _, told in dead} == {"due"}
