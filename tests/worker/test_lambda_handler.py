"""The handler that the packaged Lambda has: a run, or a batch of messages of the intake queue."""

import json
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from duebell import Editor, lambda_handler
from duebell_shared.backend import Backend
from tests.intake.conftest import Queues, queues, record
from tests.support import REGION
from tests.worker.starting import CONTEXT, WORKING, deploy

__all__ = ["deploy", "queues"]

ADD = {"action": "put_on_sale", "in": 3600, "payload": {"item": 42}, "id": "sale-42"}


@pytest.fixture(autouse=True)
def _has_an_intake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUEBELL_INTAKE", "duebell-intake")


@pytest.mark.parametrize(
    "event",
    [None, {}, {"source": "aws.events"}, {"duebell": {"lanes": []}}, {"Records": []}, {"Records": 7}],
)
def test_all_else_is_a_run(event: object, deploy: Callable[[str], None]) -> None:
    deploy(WORKING)
    assert lambda_handler.handler(event, CONTEXT)["done"] == 0


def test_a_message_is_taken_though_the_actions_cannot_be_imported(
    deploy: Callable[[str], None], editor: Editor
) -> None:
    # Given a module that cannot be imported
    deploy("raise RuntimeError('broken')")
    # When a message adds a task
    assert lambda_handler.handler({"Records": [record(ADD)]}, CONTEXT) == {"batchItemFailures": []}
    # Then it is there, and only a run fails
    task = editor.get("sale-42")
    assert (task.payload, task.changed_by) == ({"item": 42}, "intake")
    with pytest.raises(RuntimeError, match="broken"):
        lambda_handler.handler({}, CONTEXT)


@pytest.mark.parametrize("intake", [None, "another-intake"])
def test_records_that_are_not_of_its_own_intake_change_nothing(
    intake: str | None, deploy: Callable[[str], None], editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(WORKING)
    monkeypatch.setenv("DUEBELL_INTAKE", intake or "")
    with pytest.raises(PermissionError, match="not of this scheduler's intake queue"):
        lambda_handler.handler({"Records": [record(ADD)]}, CONTEXT)
    assert not editor.list().tasks


def test_messages_are_taken_while_the_invocation_has_time(
    deploy: Callable[[str], None], queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(WORKING)
    monkeypatch.setattr("duebell_editor.intake.batch._PORTION", 1)
    batch = [record({**ADD, "id": f"sale-{n}"}, f"m-{n}") for n in range(3)]
    no_time: Any = SimpleNamespace(get_remaining_time_in_millis=lambda: 0)
    answer = lambda_handler.handler({"Records": batch}, no_time)
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["m-1", "m-2"]
    assert lambda_handler.handler({"Records": batch}, CONTEXT) == {"batchItemFailures": []}


def test_strict_actions_of_the_environment_hold_for_messages(
    deploy: Callable[[str], None], queues: Queues, monkeypatch: pytest.MonkeyPatch, backend: Backend
) -> None:
    seen: list[bool] = []

    def connect(settings: Any) -> Backend:
        seen.append(settings.strict_actions)
        return backend

    deploy(WORKING)
    monkeypatch.setattr(Backend, "connect", connect)
    monkeypatch.setenv("DUEBELL_ENVIRONMENT", json.dumps({"DUEBELL_STRICT_ACTIONS": "on"}))
    monkeypatch.setenv("DUEBELL_STRICT_ACTIONS", "off")  # so that it is taken out again
    lambda_handler.handler({"Records": [record("no")]}, CONTEXT)
    assert seen == [True]
    assert len(queues.dead()) == 1


def test_a_start_loads_no_editor_and_nothing_of_features_that_are_not_used(
    deploy: Callable[[str], None],
) -> None:
    code = (
        "import sys, duebell.lambda_handler; from duebell import Worker; worker = Worker();"
        "worker.action('act', at_most=1)(lambda: None); worker.backend; print(*sys.modules)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "AWS_REGION": REGION}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    loaded = done.stdout.decode().split()
    unused = ("audit", "limits.closed_hours", "schedules.calendars", "tracing", "deliveries.delivery")
    assert not {f"duebell_shared.{name}" for name in unused} & set(loaded)
    assert not [name for name in loaded if name.startswith("duebell_editor")]
    assert "duebell_shared.backend" in loaded
