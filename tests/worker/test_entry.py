"""The entry of the packaged Lambda: it finds the user's worker, and runs it or takes messages."""

import gc
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from duebell import Editor, InvalidSettings, Worker, lambda_handler
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE
from duebell_shared.settings import Settings
from duebell_shared.tasks.worker_record import WorkerRecord
from duebell_worker import entry
from tests.intake.conftest import Queues, queues, record
from tests.support import NOON, REGION, Calls, Clock, SetFor, minute_of
from tests.worker.starting import CONTEXT, WORKING, deploy, forget

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

__all__ = ["deploy", "queues"]

ADD = {"action": "put_on_sale", "in": 3600, "payload": {"item": 42}, "id": "sale-42"}


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    """The entry loads the user's worker once for a process; each test is as good as one."""
    forget()
    yield
    forget()


@pytest.fixture
def sales(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A user's module, there to be imported."""
    module = ModuleType("sales_for_tests")
    monkeypatch.setitem(sys.modules, "sales_for_tests", module)
    return module


def test_garbage_is_looked_for_again_once_the_clients_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bool] = []
    connect = Backend.connect

    def seen(settings: Settings) -> Backend:
        looked.append(gc.isenabled())
        return connect(settings)

    monkeypatch.setattr(Backend, "connect", seen)
    try:
        entry.connected_backend()
        assert (looked, gc.isenabled()) == ([False], True)
        assert gc.get_freeze_count() > 0
        forget()
        monkeypatch.delenv("AWS_REGION", raising=False)
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        with pytest.raises(InvalidSettings, match="AWS_REGION"):
            entry.connected_backend()
        assert gc.isenabled()
    finally:
        gc.unfreeze()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sales.actions", "must be module:attribute, like sales.actions:worker, not 'sales.actions'$"),
        ("sales_for_tests:wrker", "'sales_for_tests:wrker' is not a .*: write wrker = Worker"),
    ],
)
def test_a_name_that_names_no_worker_says_what_to_write(sales: ModuleType, name: str, words: str) -> None:
    with pytest.raises(InvalidSettings, match=f"DUEBELL_WORKER: {words}"):
        entry.load(name)


def test_a_module_that_cannot_be_imported_does_not_silence_the_rule(
    backend: Backend,
    clock: Clock,
    session: boto3.Session,
    events: "EventBridgeClient",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a task, and a deployment whose module cannot be imported
    editor = Editor(backend=backend)
    editor.add("act", due=timedelta(hours=1))
    monkeypatch.setenv("DUEBELL_WORKER", "nowhere_to_be_found:worker")
    monkeypatch.setattr(Backend, "connect", lambda *_: backend)

    def expression() -> str:
        return events.describe_rule(Name="duebell")["ScheduleExpression"]

    ring = minute_of(expression(), clock.now)
    assert ring == NOON + timedelta(hours=1)

    # When the rule rings, it raises, and the ring may yet be counted as one to come
    clock.now = ring
    with pytest.raises(ModuleNotFoundError):
        entry.handler(None, CONTEXT)
    assert expression() == SetFor(NOON + timedelta(hours=1))

    # When Lambda invokes again, and the grace is over, then the rule is set anew, each time
    for _ in range(3):
        clock.advance(GRACE + timedelta(seconds=1))
        with pytest.raises(ModuleNotFoundError):
            entry.handler(None, CONTEXT)
        ring = minute_of(expression(), clock.now)
        assert ring is not None
        assert timedelta(minutes=1) <= ring - clock.now < timedelta(minutes=2)
        clock.now = ring

    # When a version is there that works, it runs
    monkeypatch.setenv("DUEBELL_WORKER", "")
    assert entry.handler(None, CONTEXT)["failed"] == 1


@pytest.fixture
def snapshot(monkeypatch: pytest.MonkeyPatch, backend: Backend) -> Iterator[list[str]]:
    """A process that Lambda takes a snapshot of; what was done in it, in order."""
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    done: list[str] = []

    def connect(_: Settings) -> Backend:
        done.append("connected")
        return backend

    monkeypatch.setattr(Backend, "connect", connect)
    yield done
    gc.unfreeze()


def test_what_takes_long_is_in_the_snapshot_and_no_call_is_made_for_it(
    sales: ModuleType, snapshot: list[str], backend: Backend, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    vars(sales)["worker"] = Worker.from_env()
    monkeypatch.setenv("DUEBELL_WORKER", "sales_for_tests:worker")
    monkeypatch.setenv("FOR_ACTIONS", "to be set back")
    monkeypatch.setenv("DUEBELL_ENVIRONMENT", '{"FOR_ACTIONS": "here"}')
    calls.clear()
    entry.prepare_snapshot()
    # Then clients and module are there, and what the user's module needs; nothing was called or registered
    assert snapshot == ["connected"]
    assert os.environ["FOR_ACTIONS"] == "here"
    assert not calls
    # And the first invocation of a restored process makes no clients, and registers the worker
    entry.handler({}, CONTEXT)
    assert snapshot == ["connected"]
    assert backend.store.read(WorkerRecord) is not None


def test_processes_that_are_restored_from_one_snapshot_draw_different_pauses(
    sales: ModuleType, snapshot: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    vars(sales)["worker"] = Worker.from_env()
    monkeypatch.setenv("DUEBELL_WORKER", "sales_for_tests:worker")
    entry.prepare_snapshot()
    state = random.getstate()

    def drawn() -> float:
        """The first invocation of a process that was restored."""
        random.setstate(state)
        entry._worker.cache_clear()
        entry._worker()
        return random.random()

    assert len({drawn(), drawn(), drawn()}) == 3
    # And a process of its own is left as it is
    monkeypatch.delenv("AWS_LAMBDA_INITIALIZATION_TYPE")
    assert drawn() == drawn()


def test_a_module_that_cannot_be_imported_into_the_snapshot_is_told_by_the_first_invocation(
    snapshot: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: Backend
) -> None:
    (tmp_path / "broken_for_snapshots.py").write_text("raise SystemExit('no license')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DUEBELL_WORKER", "broken_for_snapshots:worker")
    entry.prepare_snapshot()
    with pytest.raises(SystemExit, match="no license"):
        entry.handler({}, CONTEXT)
    record = backend.store.read(WorkerRecord)
    assert record is not None
    assert record.worker is not None
    assert "no license" in str(record.worker.error)


# Its handler: a run, or a batch of messages of the intake queue.


@pytest.mark.parametrize(
    "event",
    [None, {}, {"source": "aws.events"}, {"duebell": {"lanes": []}}, {"Records": []}, {"Records": 7}],
)
def test_all_else_is_a_run(event: object, deploy: Callable[[str], None]) -> None:
    deploy(WORKING)
    assert lambda_handler.handler(event, CONTEXT)["done"] == 0


@pytest.fixture
def intake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUEBELL_INTAKE", "duebell-intake")


@pytest.mark.usefixtures("intake")
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
    says = "^these records are not of this scheduler's intake queue: nothing was done$"
    with pytest.raises(PermissionError, match=says):
        lambda_handler.handler({"Records": [record(ADD)]}, CONTEXT)
    assert not editor.list().tasks


@pytest.mark.usefixtures("intake")
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


@pytest.mark.usefixtures("intake")
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
