"""A process dies at each call of an intake batch: nothing is lost or there twice, and the rule is armed."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from duebell import AwsError, Editor, Status
from duebell_editor.intake import Intake
from duebell_shared.backend import Backend
from duebell_shared.parallel import Parallel
from tests.crash.dying import Death, Moment, Processes
from tests.intake.conftest import Queues, again
from tests.quick_aws import quick_aws
from tests.support import NOON, Clock, minute_of

pytestmark = pytest.mark.slow

#: More calls than the batch makes; the test sees to it.
_MOST_CALLS = 80

HOUR = timedelta(hours=1)

PUSH = {"action": "remind", "id": "index", "if_exists": "push"}


class _Processes(Processes):
    """Processes whose connections reach SQS, too: each call counts, and may be the last."""

    def connect(self, clock: Clock, **options: Any) -> Backend:
        return dataclasses.replace(super().connect(clock, **options), client=self._session.client)


def _intake(backend: Backend, clock: Clock) -> Intake:
    assert backend.client
    editor = Editor(backend=backend, changed_by="intake")
    return Intake(editor, backend.client, clock=clock, parallel=Parallel(1))


def _batch(queues: Queues) -> list[dict[str, Any]]:
    """Adds, one and many; a move to before them all; a wrong entry; two changes; an update; pushes."""
    messages = [
        {"action": "remind", "in": 7200, "payload": 0},
        [{"action": "remind", "in": 7200 + n, "payload": n} for n in range(1, 6)],
        [{"do": "move", "id": "daily", "in": 1800}, {"action": "remind", "due": "tomorrow"}],
        [{"do": "move", "id": "old", "in": 3600}, {"do": "cancel", "id": "old"}],
        {"do": "update", "id": "other", "payload": 2},
        [{**PUSH, "in": 9000, "payload": "first"}, {**PUSH, "in": 9600, "payload": "last"}],
    ]
    queues.send(*messages)
    received = queues.received()
    assert len(received) == len(messages)
    return received


def _play(number: int, moment: Moment) -> bool:
    """Let the first process die at its n-th call, and check what comes of it; whether it ended well."""
    processes, clock = _Processes(), Clock()
    processes.create_stack()
    queues = Queues()
    editor = Editor(backend=processes.connect(clock))
    editor.add("report", schedule="rate(1 day)", start=NOON + 20 * HOUR, id="daily")
    for id in ("old", "other", "index"):
        editor.add("remind", due=20 * HOUR, id=id)
    batch = _batch(queues)

    backend = processes.connect(clock, dies_at=number, moment=moment)
    try:
        assert again(_intake(backend, clock).take(batch)) == []
        ended = True
    except (Death, AwsError):
        ended = False
        # Lambda gives the whole batch to another process, when the visibility timeout has passed
        clock.advance(timedelta(minutes=5))
        assert again(_intake(processes.connect(clock), clock).take(batch)) == []

    processes.connect(clock)
    tasks = editor.list(status=["scheduled", "cancelled"], limit=100).tasks
    payloads = sorted(one.payload for one in tasks if isinstance(one.payload, int))
    assert payloads == [0, 1, 2, 2, 3, 4, 5], "a task is lost, or there twice"
    assert editor.get("daily").due == NOON + HOUR / 2
    pushed = editor.get("index")
    assert (pushed.due, pushed.payload, pushed.rev) == (NOON + timedelta(minutes=160), "last", 2)
    assert editor.get("old").status is Status.CANCELLED
    # The rule rings for the task that was moved to before all others
    minute = minute_of(processes.expression(), NOON)
    assert minute
    assert minute <= NOON + HOUR / 2
    assert editor.status().healthy
    # A dead letter may come twice, if the process died before it was known to be sent
    dead = queues.dead()
    assert 1 <= len(dead) <= (1 if ended else 2)
    assert {told["duebell-field"] for _, told in dead} == {"due"}
    return ended


@pytest.mark.parametrize("moment", Moment)
def test_nothing_is_lost_when_a_process_dies_at_any_call(moment: Moment) -> None:
    for number in range(1, _MOST_CALLS, 2):
        with quick_aws():
            if _play(number, moment):
                assert number > 10
                return
    raise AssertionError("a batch makes more calls than are played here")
