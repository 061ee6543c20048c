"""The entry that the packaged Lambda is configured with: it finds the user's worker, or says why not."""

import gc
import os
import random
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import boto3
import pytest

from duebell import Editor, InvalidSettings, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE
from duebell_shared.settings import Settings
from duebell_shared.tasks.worker_record import WorkerRecord
from duebell_worker import entry
from tests.support import NOON, Calls, Clock, SetFor, minute_of
from tests.worker.starting import CONTEXT, forget

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


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
        ("sales.actions", "must be module:attribute, like .* not 'sales.actions'"),
        (":", "must be module:attribute, like .* not ':'"),
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
