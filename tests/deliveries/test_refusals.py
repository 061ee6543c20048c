"""Messages that AWS refuses: some are tried again, others fail at once with the way out."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from duebell import Editor, Worker
from duebell_shared.deliveries.delivery import target_of
from duebell_shared.deliveries.kinds import Answer
from duebell_shared.tasks.status import Status
from duebell_worker.deliveries.deliverer import fault_of, fault_of_call
from duebell_worker.run.attempt import Undeliverable, Undelivered
from tests.deliveries.test_services import HOUR, make_queue, received, run_at
from tests.support import REGION, Calls, Clock

QUEUE = f"arn:aws:sqs:{REGION}:123456789012:orders"
TARGET = target_of(QUEUE)
NOT_YET, INVALID = f"{QUEUE} did not accept it", f"{QUEUE} refused the message"
NONE = f"there is no queue {QUEUE}: create it, or deploy the delivery with another target"
LARGE = f"too large for {QUEUE}: keep the data elsewhere, in S3, and put its key into the payload"
RIGHT = "the worker's role needs"
KEY = f"the key that encrypts {QUEUE} cannot be used: {RIGHT} kms:GenerateDataKey and kms:Decrypt on the key"
OTHERS = "and if it belongs to another account, its own policy must allow that, too"
DENIED = f"access denied to {QUEUE}: {RIGHT} sqs:SendMessage on it, {OTHERS}"


@pytest.mark.parametrize(
    ("code", "status", "error", "words"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", 400, Undeliverable, NONE),
        ("ResourceNotFoundException", 404, Undeliverable, NONE),
        ("StateMachineDoesNotExist", 400, Undeliverable, NONE),
        ("KMSNotFound", 400, Undeliverable, KEY),
        ("RequestTooLargeException", 413, Undeliverable, LARGE),
        ("AWS.SimpleQueueService.BatchRequestTooLong", 400, Undeliverable, LARGE),
        ("InvalidMessageContents", 400, Undeliverable, INVALID),
        ("MalformedDetail", 0, Undeliverable, INVALID),
        ("ValidationException", 400, Undeliverable, INVALID),
        ("RedactionFailure", 0, Undeliverable, INVALID),
        # A denied message is tried again, as policies take a while
        ("AccessDenied", 400, Undelivered, DENIED),
        ("SomethingNew", 403, Undelivered, DENIED),
        ("KMS.AccessDeniedException", 400, Undelivered, KEY),
        ("ThrottlingException", 400, Undelivered, NOT_YET),
        ("KMS.ThrottlingException", 400, Undelivered, NOT_YET),
        ("ResourceNotFoundException", 429, Undelivered, NOT_YET),
        ("ExecutionLimitExceeded", 400, Undelivered, NOT_YET),
        ("ExpiredTokenException", 403, Undelivered, NOT_YET),
        ("InvalidClientTokenId", 403, Undelivered, NOT_YET),
        ("InvalidSignatureException", 403, Undelivered, NOT_YET),
        ("ResourceConflictException", 409, Undelivered, NOT_YET),
        ("AccessDenied", 503, Undelivered, NOT_YET),
        ("InternalFailure", 0, Undelivered, NOT_YET),
        ("NobodyKnows", 400, Undelivered, NOT_YET),
    ],
)
def test_the_code_of_a_refusal_says_whether_another_attempt_may_help(
    code: str, status: int, error: type[Exception], words: str
) -> None:
    told = fault_of(TARGET, Answer(code, "so it is", status))
    assert type(told) is error
    assert str(told) == f"{words} ({code}: so it is)"
    assert getattr(told, "of_target", False) is (error is Undeliverable and words in {KEY, NONE})


def test_what_is_the_senders_fault_does_not_mend() -> None:
    assert isinstance(fault_of(TARGET, Answer("Odd", "", is_senders=True)), Undeliverable)
    assert str(fault_of(TARGET, Answer("Throttled", "", is_senders=True))) == f"{NOT_YET} (Throttled)"


def test_no_answer_is_a_failed_attempt() -> None:
    error = fault_of_call(TARGET, ReadTimeoutError(endpoint_url="https://sqs.example"))
    assert isinstance(error, Undelivered)


# Whole runs.


def refuse(session: boto3.Session, call: str, hook: Callable[[dict[str, Any]], Any]) -> None:
    """Have the hook answer the call, by the parameters of its entries; None to let it through."""

    def before(params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        answer = hook(context["asked"])
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else (SimpleNamespace(status_code=200, headers={}), answer)

    def keep(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["asked"] = params

    session.events.register(f"before-parameter-build.{call}", keep)
    session.events.register(f"before-call.{call}", before)


def bad_ids(asked: dict[str, Any]) -> list[str]:
    """The places of the entries whose task is called bad."""
    entries = asked["Entries"]
    return [one["Id"] for one in entries if "bad" in one["MessageAttributes"]["duebell-id"]["StringValue"]]


def test_a_queue_that_is_not_there_fails_its_tasks_at_once(
    worker: Worker, editor: Editor, clock: Clock, calls: Calls
) -> None:
    worker.deliver("remind", to=QUEUE)
    for number in range(3):
        editor.add("remind", due=HOUR, id=f"task-{number}")
    assert run_at(worker, clock).failed == 3
    failed = editor.get("task-0")
    assert failed.failure
    assert failed.status is Status.FAILED
    assert (failed.failure.type, failed.failure.traceback) == ("Undeliverable", "")
    assert failed.failure.message.startswith(f"there is no queue {QUEUE}: create it")
    assert calls["SendMessageBatch"] == 1  # it would be no other for each alone


def test_entries_that_failed_are_told_from_those_that_did_not(
    worker: Worker, editor: Editor, clock: Clock, session: boto3.Session
) -> None:
    _, _, arn = make_queue()
    worker.deliver("remind", to=arn)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        bad = bad_ids(asked)
        return {
            "Successful": [{"Id": one["Id"]} for one in asked["Entries"] if one["Id"] not in bad],
            "Failed": [
                {"Id": id, "Code": "InternalError", "SenderFault": False, "Message": "later"} for id in bad
            ],
            "ResponseMetadata": {"HTTPStatusCode": 200},
        }

    refuse(session, "sqs.SendMessageBatch", answer)
    for id in ("good-1", "bad-1", "good-2"):
        editor.add("remind", due=HOUR, id=id)
    report = run_at(worker, clock)
    assert (report.done, report.retried) == (2, 1)
    waiting = editor.get("bad-1")
    assert waiting.failure
    assert (waiting.status, waiting.attempt) == (Status.SCHEDULED, 1)
    assert waiting.failure.message == f"{arn} did not accept it (InternalError: later)"


def test_an_entry_that_no_answer_names_is_tried_again(
    worker: Worker, editor: Editor, clock: Clock, session: boto3.Session
) -> None:
    _, _, arn = make_queue()
    worker.deliver("remind", to=arn)
    refuse(session, "sqs.SendMessageBatch", lambda _: {"ResponseMetadata": {"HTTPStatusCode": 200}})
    editor.add("remind", due=HOUR)
    assert run_at(worker, clock).retried == 1


def test_one_message_that_is_refused_does_not_fail_its_batch(
    worker: Worker, editor: Editor, clock: Clock, session: boto3.Session
) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("remind", to=arn)

    def refused(asked: dict[str, Any]) -> Exception | None:
        if not bad_ids(asked):
            return None
        told: Any = {
            "Error": {"Code": "InvalidMessageContents", "Message": "odd characters"},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }
        return ClientError(told, "SendMessageBatch")

    refuse(session, "sqs.SendMessageBatch", refused)
    for id in ("good-1", "bad-1", "good-2"):
        editor.add("remind", due=HOUR, id=id)
    report = run_at(worker, clock)
    assert (report.done, report.failed) == (2, 1)
    assert len(received(sqs, url)) == 2


def test_events_that_failed_are_told_by_their_place(
    worker: Worker, editor: Editor, clock: Clock, session: boto3.Session
) -> None:
    worker.deliver("expire", to=f"arn:aws:events:{REGION}:123456789012:event-bus/shop")

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        entries = [
            {"ErrorCode": "ThrottlingException", "ErrorMessage": "slowly"} if '"bad"' in one["Detail"] else {}
            for one in asked["Entries"]
        ]
        return {"Entries": entries, "ResponseMetadata": {"HTTPStatusCode": 200}}

    refuse(session, "events.PutEvents", answer)
    for id in ("good", "bad"):
        editor.add("expire", due=HOUR, id=id)
    report = run_at(worker, clock)
    assert (report.done, report.retried) == (1, 1)
    assert editor.get("good").status is Status.DONE


def test_large_messages_go_in_calls_of_their_own(
    worker: Worker, editor: Editor, clock: Clock, calls: Calls
) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("remind", to=arn)
    for number in range(5):
        editor.add("remind", due=HOUR, payload="x" * 90_000, id=f"task-{number}")
    assert run_at(worker, clock).done == 5
    assert calls["SendMessageBatch"] == 3  # two of them fit into one
    assert len(received(sqs, url)) == 5
