"""The worker after a deployment: its first call, and what is told of the recurring tasks that it declares."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from duebell import Editor, Worker
from duebell_infra.deploy.worker import call_once, sync_declared
from duebell_infra.errors import WorkerFailed
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_worker.worker import lanes_in
from tests.support import Clock


class FakeLambda:
    """Answers each call with the next of these, or raises it; keeps the events and the pauses."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.events: list[Any] = []
        self.pauses: list[float] = []
        self.said: list[str] = []

    def client(self, name: str, **_: Any) -> "FakeLambda":
        assert name == "lambda"
        return self

    def invoke(self, **given: Any) -> dict[str, Any]:
        assert given.pop("FunctionName") == "shop"
        self.events.append(json.loads(given.pop("Payload")))
        assert not given  # it waits for the answer
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast("dict[str, Any]", answer)

    def call(self) -> None:
        call_once(cast("boto3.Session", self), "shop", say=self.said.append, sleep=self.pauses.append)


def failed(type: str, message: str, trace: Sequence[str] = ()) -> dict[str, Any]:
    told = {"errorType": type, "errorMessage": message, "stackTrace": list(trace)}
    return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(told).encode())}


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "said so"}}, "Invoke")


def test_the_workers_error_is_raised() -> None:
    trace = [
        '  File "/var/task/duebell_worker/entry.py", line 1',
        '  File "/var/task/jobs.py", line 7\n    x',
    ]
    function = FakeLambda(failed("Runtime.ImportModuleError", "No module named 'x'", trace))
    with pytest.raises(
        WorkerFailed,
        match=r"^shop is deployed, and its worker fails: Runtime.ImportModuleError: No module named 'x' "
        r'\(File "/var/task/jobs.py", line 7 x\)\. Tasks wait until a version that works is deployed',
    ):
        function.call()


def test_it_sets_the_rule_and_runs_nothing_and_what_passes_is_waited_for() -> None:
    # A role whose permissions are not there yet, and a function that gets its network
    function = FakeLambda(
        failed("AwsRefused", "no"), refused("ResourceConflictException"), {"StatusCode": 200}
    )
    function.call()
    assert [lanes_in(event) for event in function.events] == [(), (), ()]
    assert (function.pauses, function.said) == ([2.0, 4.0], [])


def test_what_does_not_pass_is_raised_in_the_end() -> None:
    with pytest.raises(WorkerFailed, match="AwsRefused: not allowed"):
        FakeLambda(*(failed("AwsRefused", "not allowed") for _ in range(5))).call()


def test_whoever_may_not_call_it_is_told_so() -> None:
    function = FakeLambda(refused("AccessDeniedException"))
    function.call()
    [said] = function.said
    assert said.startswith("the worker was not called to see whether it starts: ")
    assert "AccessDenied" in said


@pytest.fixture
def told(editor: Editor, backend: Backend) -> Callable[..., list[str]]:
    """The lines of a deployment of code that declares these tasks, by id: their arguments of `recurring`."""

    def told(**declared: Any) -> list[str]:
        worker = Worker(backend=backend, pool=lambda _: InlinePool())
        action = worker.action("scan")(lambda: None)
        for id, arguments in declared.items():
            worker.recurring(**{"schedule": "rate(1 day)", **arguments}, id=id)(action)
        worker.register()
        lines: list[str] = []
        sync_declared(editor, say=lines.append)
        return lines

    return told


def test_each_change_is_told_and_when_the_rule_rings_then(
    told: Callable[..., list[str]], editor: Editor
) -> None:
    def rings() -> str:
        rings_at = editor.status().rings_at
        assert rings_at
        return f"sync  the rule rings by {rings_at.astimezone():%Y-%m-%d %H:%M}"

    assert told(daily={}, hourly={"schedule": "rate(1 hour)"}) == [
        "sync  add daily (scan, rate(1 day))",
        "sync  add hourly (scan, rate(1 hour))",
        rings(),
    ]
    before = rings()
    assert told(daily={"timezone": "Europe/Berlin"}, hourly={"schedule": "rate(50 minutes)"}) == [
        "sync  change daily (scan, rate(1 day)), timezone",
        "sync  change hourly (scan, rate(50 minutes)), schedule",
        rings(),
    ]
    assert rings() != before  # what a run knew before this is outdated
    assert told(daily={"timezone": "Europe/Berlin"})[0] == ("sync  cancel hourly (scan, rate(50 minutes))")
    assert told(daily={"timezone": "Europe/Berlin"}) == []


def test_what_could_not_be_made_is_not_told_as_made(
    told: Callable[..., list[str]], editor: Editor, clock: Clock
) -> None:
    editor.add("scan", due=clock(), id="daily")
    [line] = told(daily={})
    assert line.startswith("sync  daily stays as it was, call `duebell sync` later: a task 'daily' exists")


def test_a_worker_that_has_not_started_is_told_of(editor: Editor) -> None:
    lines: list[str] = []
    sync_declared(editor, say=lines.append)
    [line] = lines
    assert line.startswith("sync  nothing was changed: no worker has started")
