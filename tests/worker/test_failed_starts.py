"""A worker that cannot start says why, and leaves the rule armed."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from duebell import Editor, InvalidSettings
from duebell_shared.bell.arming import GRACE
from tests.support import Clock, minute_of
from tests.worker.log_lines import Log
from tests.worker.starting import WORKING, deploy, start

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

__all__ = ["deploy"]

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("source", "type", "message"),
    [
        (
            "from payloads_of_nobody import Trial",
            "ModuleNotFoundError",
            "No module named 'payloads_of_nobody'",
        ),
        ("import sys\nsys.exit(3)", "SystemExit", "3"),
        ("def broken(:", "SyntaxError", "invalid syntax (starting_for_tests.py, line 1)"),
        (
            "worker = 42",
            "InvalidSettings",
            "DUEBELL_WORKER: 'starting_for_tests:worker' is not a duebell.Worker",
        ),
    ],
)
def test_the_error_of_an_import_is_known(  # noqa: PLR0917
    deploy: Callable[..., None], editor: Editor, log: Log, source: str, type: str, message: str
) -> None:
    deploy(WORKING)
    start()
    deploy(source)
    with pytest.raises((Exception, SystemExit)) as raised:
        start()
    assert raised.type.__name__ == type
    worker = editor.worker()
    assert worker
    assert worker.error
    assert (worker.error.type, message in worker.error.message) == (type, True)
    # The actions are those of the version before, so that what is added meanwhile has a form
    assert [one.name for one in worker.actions] == ["put_on_sale", "report"]
    # No frame of ours stands before the user's
    assert "duebell_worker" not in worker.error.traceback
    assert "importlib" not in worker.error.traceback
    assert log.lines("worker_did_not_start")[0]["error"].startswith(type)
    # And it is written once, whatever Lambda tries
    before = editor._backend.store.read_worker(consistent=True)
    with pytest.raises((Exception, SystemExit)):
        start()
    assert editor._backend.store.read_worker(consistent=True) == before
    # Until it is set right
    deploy(WORKING)
    start()
    assert (worker := editor.worker())
    assert worker.error is None


class Killed(BaseException):
    """The end of the process, of which nothing in it hears."""


def test_a_process_that_ends_in_the_import_is_told_by_its_mark(
    deploy: Callable[..., None],
    editor: Editor,
    clock: Clock,
    events: "EventBridgeClient",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a task whose ring was missed, and a module that ends the process
    editor.add("report", due=HOUR)
    clock.advance(HOUR + GRACE + timedelta(seconds=1))
    deploy("import builtins\nraise builtins.Killed()")
    monkeypatch.setattr("builtins.Killed", Killed, raising=False)
    monkeypatch.setattr("duebell_worker.actions.registration.Registration.fail", lambda *_: None)
    # When it is started
    with pytest.raises(Killed):
        start()
    # Then the rule was armed before the import
    ring = minute_of(events.describe_rule(Name="duebell")["ScheduleExpression"], clock.now)
    assert ring is not None
    assert ring > clock.now
    # And the start may still be at work for a minute, then it is known to be lost, whoever tries again
    assert editor.worker() is None
    assert editor.status().worker_error is None
    clock.advance(timedelta(seconds=30))
    with pytest.raises(Killed):
        start()
    clock.advance(timedelta(seconds=30))
    worker = editor.worker()
    assert worker
    assert worker.error
    assert worker.error.type == "StartLost"
    assert "it exited, hung or ran out of memory" in worker.error.message
    assert editor.status().worker_error == worker.error


def test_a_process_that_really_exits_in_the_import_has_armed_and_marked(tmp_path: Path) -> None:
    (tmp_path / "exiting_for_tests.py").write_text("import os\nos._exit(7)\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from duebell.testing import MemoryStore
from duebell_infra.testing import Bell
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.settings import Settings
from duebell_worker import entry

class Telling(MemoryStore):
    def swap_worker(self, old, new):
        print("marked", bool(new.starting), flush=True)
        return super().swap_worker(old, new)
    def swap_record(self, old, new):
        print("armed", flush=True)
        return super().swap_record(old, new)

backend = Backend(Settings(), Telling(), Rule("duebell", Bell().client))
Backend.connect = lambda *_: backend
entry.handler(None, None)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DUEBELL_WORKER": "exiting_for_tests:worker"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines()[:2] == ["marked True", "armed"]


def test_an_environment_that_cannot_be_read_is_an_error_of_the_start(
    deploy: Callable[..., None], editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(WORKING)
    monkeypatch.setenv("DUEBELL_ENVIRONMENT", "{")
    with pytest.raises(InvalidSettings, match="DUEBELL_ENVIRONMENT: must be a JSON object of texts"):
        start()
    assert (worker := editor.worker())
    assert worker.error
    assert worker.error.message.startswith("DUEBELL_ENVIRONMENT: ")
