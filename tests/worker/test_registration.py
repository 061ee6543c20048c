"""A worker makes itself and its version known when it starts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pydantic
import pytest

from duebell import Editor, InvalidSettings, ProblemKind, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.settings import Settings
from duebell_shared.tasks.worker_record import WorkerRecord
from duebell_worker import entry
from duebell_worker.actions import registration
from duebell_worker.run import report
from tests.support import NOON, Calls, Clock, minute_of
from tests.worker.hooks import Hooks
from tests.worker.log_lines import Log
from tests.worker.starting import CONTEXT, WORKING, deploy, start

__all__ = ["deploy"]


@pytest.mark.parametrize(
    ("theirs", "way_out"),
    [
        ("1999a", "`duebell deploy` gives the worker the release from here; its next run shows it"),
        ("2999a", "upgrade tzdata here (`pip install --upgrade tzdata`)"),
    ],
)
def test_the_doctor_says_that_the_worker_has_other_time_zones(
    editor: Editor, worker: Worker, monkeypatch: pytest.MonkeyPatch, theirs: str, way_out: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(report, "TZDATA_VERSION", theirs)
        worker.run()
    # Then a look at the rule alone raises no alarm, and the doctor tells
    assert editor.status().healthy
    [problem] = editor.status(thorough=True).problems
    assert (problem.kind, problem.mendable) == (ProblemKind.TZDATA, False)
    assert f"tzdata {TZDATA_VERSION}, the worker's last run had those of {theirs}" in problem.what
    assert problem.way_out == way_out
    # Until the worker has the same
    worker.run()
    assert editor.status(thorough=True).healthy


HOUR = timedelta(hours=1)


def test_a_worker_that_started_is_known(deploy: Callable[..., None], editor: Editor) -> None:
    assert editor.worker() is None
    deploy(WORKING)
    start()
    worker = editor.worker()
    assert worker
    assert (worker.error, worker.tzdata, worker.started_at) == (None, TZDATA_VERSION, NOON)
    report, sale = sorted(worker.actions, key=lambda one: one.name, reverse=True)
    assert (report.name, report.attempts, report.schema, report.recurring) == ("report", 5, None, ("daily",))
    assert (sale.name, sale.attempts, sale.recurring) == ("put_on_sale", 3, ())
    assert sale.schema
    assert sale.schema["properties"] == {"item": {"type": "integer"}}
    assert sale.schema["required"] == ["item"]


def test_a_cold_start_reads_once_and_writes_only_what_is_new(
    deploy: Callable[..., None], calls: Calls, aws: Hooks, editor: Editor, clock: Clock
) -> None:
    # Given the calls of a start that are about the worker record
    made: list[str] = []
    for operation in ("GetItem", "PutItem"):

        def note(params: dict[str, Any], operation: str = operation, **_: Any) -> None:
            if '"worker"' in params["body"].decode():
                made.append(operation)

        aws.before(f"dynamodb.{operation}", note)
    # When a version starts first, it is marked, and described
    deploy(WORKING)
    start()
    assert made == ["GetItem", "PutItem", "PutItem"]
    # Then a start of the same is one read, and an invocation of the same process nothing
    described = editor.worker()
    clock.advance(HOUR)
    made.clear()
    start()
    assert made == ["GetItem"]
    entry.handler(None, CONTEXT)
    assert made == ["GetItem"]
    assert editor.worker() == described


@pytest.mark.parametrize("operation", ["GetItem", "PutItem"])
def test_a_worker_that_may_not_make_itself_known_runs_all_the_same(
    backend: Backend, editor: Editor, aws: Hooks, log: Log, operation: str
) -> None:
    editor.add("act", due=timedelta(0))
    aws.refuse(f"dynamodb.{operation}", "AccessDeniedException", when=lambda body: '"worker"' in body)
    worker = Worker(backend=backend)
    worker.action("act")(lambda: None)
    assert worker.handler(None, CONTEXT)["done"] == 1
    assert "AccessDenied" in log.lines("worker_not_registered")[0]["error"]


def test_simultaneous_starts_write_one_after_the_other(backend: Backend, editor: Editor, aws: Hooks) -> None:
    # Given another start that gets in first, between this one's read and its write
    first, second = Worker(backend=backend), Worker(backend=backend)
    first.action("act")(lambda: None)
    second.action("act")(lambda: None)
    second.action("more")(lambda: None)
    left = [first.register]

    def get_in(params: dict[str, Any], **_: Any) -> None:
        if '"worker"' in params["body"].decode() and left:
            left.pop()()

    aws.before("dynamodb.PutItem", get_in)
    second.register()
    assert (known := editor.worker())
    assert [one.name for one in known.actions] == ["act", "more"]


def test_the_version_is_that_of_the_bundle_and_of_its_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = [registration.version()]
    for code in ("abc", "abd"):
        bundle = registration._Bundle(code, "0.1.0")
        monkeypatch.setattr(registration, "_bundle", lambda bundle=bundle: bundle)
        versions.append(registration.version())
    assert registration.duebell_release() == "0.1.0"
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
    versions.append(registration.version())
    assert len(set(versions)) == 4
    assert registration.version() == versions[-1]


def test_settings_of_the_workers_own_are_kept(backend: Backend) -> None:
    worker = Worker(Settings(table="mine"))
    worker.reuse(backend)
    assert worker.backend.settings.table == "mine"
    plain = Worker.from_env()
    plain.reuse(backend)
    assert plain.backend is backend


class Odd(pydantic.BaseModel):
    """A payload that no JSON Schema can describe."""

    call: Callable[[], None]


def act_oddly(payload: Odd) -> None: ...


def test_a_type_without_a_schema_does_not_keep_the_worker_from_starting(
    backend: Backend, editor: Editor, log: Log
) -> None:
    worker = Worker(backend=backend)
    worker.action(act_oddly)
    assert worker.handler(None, CONTEXT)["lanes"] == 4
    assert (known := editor.worker())
    assert known.actions[0].schema == {}
    assert log.lines("schema_left_out")[0]["action"] == "act_oddly"


# A worker that cannot start says why, and leaves the rule armed.


@pytest.mark.parametrize(
    ("source", "type", "message"),
    [
        ("from nowhere import Trial", "ModuleNotFoundError", "No module named 'nowhere'"),
        ("def broken(:", "SyntaxError", "invalid syntax (starting_for_tests.py, line 1)"),
        ("worker = 42", "InvalidSettings", "'starting_for_tests:worker' is not a duebell.Worker"),
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
    assert log.lines("worker_did_not_start")[0]["error"].startswith(type)
    # And it is written once, whatever Lambda tries
    before = editor._backend.store.read(WorkerRecord)
    with pytest.raises((Exception, SystemExit)):
        start()
    assert editor._backend.store.read(WorkerRecord) == before
    # Until it is set right
    deploy(WORKING)
    start()
    assert (worker := editor.worker())
    assert worker.error is None


class Killed(BaseException):
    """The end of the process, of which nothing in it hears."""


def test_a_process_that_ends_in_the_import_is_told_by_its_mark(
    deploy: Callable[..., None], editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch
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
    ring = minute_of(editor.status().expression or "", clock.now)
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
