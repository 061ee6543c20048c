"""The first call of a worker that was deployed."""

import io
import json
from collections.abc import Sequence
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_infra.deploy.worker import call_once
from duebell_infra.errors import WorkerFailed
from duebell_worker.worker import lanes_in


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


STARTED = {"StatusCode": 200, "Payload": io.BytesIO(b"{}")}


def failed(type: str, message: str, trace: Sequence[str] = ()) -> dict[str, Any]:
    told = {"errorType": type, "errorMessage": message, "stackTrace": list(trace)}
    return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(told).encode())}


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "said so"}}, "Invoke")


def test_it_sets_the_rule_and_runs_nothing() -> None:
    function = FakeLambda(STARTED)
    function.call()
    assert [lanes_in(event) for event in function.events] == [()]
    assert not function.said
    assert not function.pauses


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


def test_what_passes_is_waited_for() -> None:
    # A role whose permissions are not there yet, and a function that gets its network
    function = FakeLambda(failed("AwsRefused", "no"), refused("ResourceConflictException"), STARTED)
    function.call()
    assert (len(function.events), len(function.pauses), function.said) == (3, 2, [])


def test_what_does_not_pass_is_raised_in_the_end() -> None:
    with pytest.raises(WorkerFailed, match="AwsRefused: not allowed"):
        FakeLambda(*(failed("AwsRefused", "not allowed") for _ in range(5))).call()


@pytest.mark.parametrize(
    "answer",
    [
        ReadTimeoutError(endpoint_url="https://there"),
        {
            "FunctionError": "Unhandled",
            "Payload": io.BytesIO(b'{"errorMessage": "Task timed out after 3.0 s"}'),
        },
    ],
)
def test_a_worker_that_never_ends_is_said_to(answer: Any) -> None:
    with pytest.raises(WorkerFailed, match="its VPC has no way to DynamoDB, EventBridge and Lambda"):
        FakeLambda(answer).call()


def test_whoever_may_not_call_it_is_told_so() -> None:
    function = FakeLambda(refused("AccessDeniedException"))
    function.call()
    [said] = function.said
    assert said.startswith("the worker was not called to see whether it starts: ")
    assert "AccessDenied" in said
