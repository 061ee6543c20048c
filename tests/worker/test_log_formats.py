"""The log as Lambda and a process of one's own have it: the time, the level and the request."""

import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from duebell import Task, Worker
from duebell_infra.testing import Rehearsal
from duebell_worker.log import emit, invocation, to_stdout

LOGGERS = ("", "duebell", "duebell.worker", "botocore")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin without what other tests set up in this process, and put everything back in the end."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(one.handlers, one.level, one.propagate) for one in loggers]
    loggers[0].setLevel(logging.WARNING)
    for one in loggers[1:]:
        one.handlers, one.propagate = [], True
        one.setLevel(logging.NOTSET)
    monkeypatch.delenv("AWS_LAMBDA_LOG_LEVEL", raising=False)
    yield
    for one, (handlers, level, propagate) in zip(loggers, before, strict=True):
        one.handlers, one.level, one.propagate = handlers, level, propagate
        one.setLevel(level)


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
        emit("odd", id="a")
    emit("odd", level=logging.WARNING)
    inside, outside = map(json.loads, written(capsys))
    assert list(inside) == ["timestamp", "level", "requestId", "event", "id"]
    assert (inside["level"], inside["requestId"], inside["event"]) == ("INFO", "3f2c", "odd")
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
    emit("odd")
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


def test_what_an_action_logs_tells_its_task_with_any_handler() -> None:
    records: list[logging.LogRecord] = []
    log, keep = logging.getLogger("shop"), logging.StreamHandler(io.StringIO())

    def kept(record: logging.LogRecord) -> bool:
        records.append(record)
        return True

    keep.addFilter(kept)
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

    log.addHandler(keep)
    try:
        with Rehearsal(worker) as rehearsal:
            mail.using(due=rehearsal.now, id="one").add()
            bill.using(due=rehearsal.now, id="two").add({})
            log.warning("outside")
            rehearsal.let_time_pass(timedelta(minutes=5))
            log.warning("outside")
    finally:
        log.removeHandler(keep)
    told = {
        (
            record.getMessage(),
            *(getattr(record, f"duebell_{name}", None) for name in ("task", "action", "attempt")),
        )
        for record in records
    }
    assert told == {
        ("outside", None, None, None),
        ("a function", "one", "mail", 1),
        *{(f"a {what}", "two", "bill", n) for what in ("coroutine", "thread of a coroutine") for n in (1, 2)},
    }
