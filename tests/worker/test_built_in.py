"""What every worker can do without an action of the user's: what `duebell verify` asks of it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duebell import Editor, Status, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.function import failing_event, token_in
from duebell_shared.tasks.checks import VERIFY
from duebell_worker.worker import FailedOnPurpose
from tests.support import Calls

CONTEXT = cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000))


def test_a_task_of_verify_is_done_by_a_worker_without_actions(worker: Worker, editor: Editor) -> None:
    id = editor.add(VERIFY, due=timedelta(0)).id

    assert worker.run().done == 1
    assert editor.get(id).status is Status.DONE


@pytest.mark.parametrize("name", [VERIFY, "duebell.", "duebell.mine"])
def test_names_that_are_duebells_own_cannot_be_taken(worker: Worker, name: str) -> None:
    with pytest.raises(ValueError, match=r"names that start with 'duebell\.' are duebell's own"):
        worker.action(name)(lambda: None)


def test_names_that_only_look_like_it_can(worker: Worker) -> None:
    worker.action("duebell")(lambda: None)
    worker.action("duebell_verify")(lambda: None)


def test_an_unknown_action_is_told_only_of_the_users(worker: Worker, editor: Editor) -> None:
    editor.add("duebell.unknown", due=timedelta(0), id="a")

    assert worker.run().failed == 1
    failure = editor.get("a").failure
    assert failure
    assert "it has none at all" in failure.message


def test_an_event_that_says_so_fails_before_anything_is_touched(
    worker: Worker, backend: Backend, calls: Calls
) -> None:
    Editor(backend=backend).add("act", due=timedelta(0))
    calls.clear()

    with pytest.raises(FailedOnPurpose, match="abc"):
        worker.handler(failing_event("abc"), CONTEXT)

    assert calls == {}


@pytest.mark.parametrize(
    "event", [None, {}, {"duebell": {}}, {"duebell": {"lanes": []}}, {"duebell": {"fail": 1}}, {"fail": "x"}]
)
def test_no_other_event_fails(event: object) -> None:
    assert token_in(event) is None
