"""The log: a JSON line for each task and each run, never a payload, as Lambda and a process have it."""

import asyncio
import json
import logging
import subprocess
import sys
from datetime import timedelta

import pytest

from duebell import Editor, Task, Worker
from duebell_infra.testing import Rehearsal
from duebell_worker.log import LogLine, emit, invocation, to_stdout
from tests.support import NOON
from tests.worker.log_lines import Log


def test_payloads_are_never_logged(editor: Editor, worker: Worker, log: Log) -> None:
    @worker.action("typed")
    def typed(payload: dict[str, int]) -> None: ...

    worker.action("fail")(lambda payload: 1 / 0)
    for name in ("typed", "fail", "unknown"):
        editor.add(name, due=NOON, payload={"card": "5555-4444"})
    worker.run()
    assert len(log.lines("task")) == 3
    assert "5555" not in log.stream.getvalue()
    assert "card" not in log.stream.getvalue().replace("payload.card", "")


# Its format: the time, the level and the request.

pytestmark = pytest.mark.usefixtures("own_log")


def set_up() -> None:
    """Set up the log in a process of its own, without pytest's handlers."""
    logging.getLogger().handlers = []
    to_stdout()


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_what_actions_log_is_in_lambdas_json_format(capsys: pytest.CaptureFixture[str]) -> None:
    set_up()
    with invocation("3f2c"):
        logging.getLogger("sales").debug("not shown")
        try:
            int("sold out")
        except ValueError:
            logging.getLogger("sales").exception("item %s", 42)
    [line] = map(json.loads, written(capsys))
    assert line.pop("traceback").endswith("'sold out'")
    assert line.pop("timestamp").endswith("Z")
    assert line == {"level": "ERROR", "requestId": "3f2c", "message": "item 42", "logger": "sales"}


def test_our_lines_have_the_time_the_level_and_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    set_up()
    with invocation("3f2c"):
        emit(LogLine.SHARED, id="a")
    emit(LogLine.SHARED, level=logging.WARNING)
    inside, outside = map(json.loads, written(capsys))
    assert list(inside) == ["timestamp", "level", "requestId", "event", "id"]
    assert (inside["level"], inside["requestId"], inside["event"]) == ("INFO", "3f2c", "shared")
    assert "requestId" not in outside


def test_the_level_is_that_of_lambda_or_of_the_users_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR")
    logging.getLogger().setLevel(logging.ERROR)  # as Lambda's runtime does then
    set_up()
    logging.warning("not shown")
    assert written(capsys) == []

    monkeypatch.delenv("AWS_LAMBDA_LOG_LEVEL")
    set_up()
    logging.getLogger().setLevel(logging.DEBUG)
    logging.getLogger("botocore.credentials").info("found")
    logging.getLogger("duebell.editor").info("changed", extra={"fields": {}})
    logging.debug("shown")
    assert [json.loads(line)["message"] for line in written(capsys)] == ["shown"]


def test_a_runtime_that_has_set_up_the_log_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[logging.LogRecord] = []
    lambdas = logging.Handler()
    vars(lambdas)["emit"] = seen.append
    logging.getLogger().handlers = [lambdas]
    to_stdout()
    to_stdout()  # and a second time makes no second line
    emit(LogLine.SHARED)
    assert logging.getLogger().handlers == [lambdas]
    assert logging.getLogger().level == logging.INFO
    assert (len(written(capsys)), seen) == (1, [])


@pytest.mark.parametrize("is_lambda", [True, False])
def test_the_entry_sets_up_the_log_of_a_lambda_and_of_nothing_else(*, is_lambda: bool) -> None:
    code = "import logging, duebell_worker.entry; logging.info('shown')"
    given = {"AWS_LAMBDA_FUNCTION_NAME": "duebell"} if is_lambda else {}
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**given, **path}, capture_output=True, check=True
    )
    assert (b"shown" in done.stdout) == is_lambda
    assert not done.stderr


def test_what_an_action_logs_tells_its_task_with_any_handler(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("shop")
    worker = Worker(concurrency=2)

    @worker.action("mail")
    def mail() -> None:
        log.warning("a function")

    @worker.action("bill", attempts=2)
    async def bill(payload: object, task: Task) -> None:
        await asyncio.to_thread(log.warning, "a thread of a coroutine")
        log.warning("a coroutine", extra={"task_id": "the user's own"})
        if task.attempt == 1:
            raise ValueError

    with Rehearsal(worker) as rehearsal:
        mail.using(due=rehearsal.now, id="one").add()
        bill.using(due=rehearsal.now, id="two").add({})
        log.warning("outside")
        rehearsal.let_time_pass(timedelta(minutes=5))
        log.warning("outside")
    names = ("duebell_task", "duebell_action", "duebell_attempt")
    records = [record for record in caplog.records if record.name == "shop"]
    told = {(one.getMessage(), *(getattr(one, name, None) for name in names)) for one in records}
    assert told == {
        ("outside", None, None, None),
        ("a function", "one", "mail", 1),
        *{(f"a {what}", "two", "bill", n) for what in ("coroutine", "thread of a coroutine") for n in (1, 2)},
    }
