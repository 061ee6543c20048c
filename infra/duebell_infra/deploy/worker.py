"""The worker after a deployment: its first call, and the recurring tasks that it declares."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from duebell_editor.library.editor import Editor
from duebell_infra.aws import code_of
from duebell_infra.errors import WorkerFailed
from duebell_shared.bell.armer import run_event
from duebell_shared.errors import WorkerNotStarted
from duebell_shared.quoting import in_brief

#: Seconds between tries. A role that was just made may lack its permissions for some seconds, and a function
#: in a VPC gets its network: https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html
_PAUSES = (2.0, 4.0, 8.0, 16.0, 0.0)

#: The error of the worker, and the answers of Lambda, after which another try may succeed.
_PASSING_ERRORS = {"AwsRefused"}
_PASSING_ANSWERS = {"ResourceConflictException", "ResourceNotReadyException", "ServiceException"}

#: Seconds. Lambda ends every invocation before.
_LONGEST = 930


def call_once(
    session: boto3.Session,
    function: str,
    *,
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call the worker for no lanes, and wait for its answer. Raises WorkerFailed with the worker's error.

    `say` is told if it could not be called at all: whoever deploys may not be allowed to.
    """
    wait = Config(read_timeout=_LONGEST, retries={"total_max_attempts": 1})
    client = session.client("lambda", config=wait)
    for pause in _PAUSES:
        try:
            answer = client.invoke(FunctionName=function, Payload=json.dumps(run_event(())).encode())
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and code_of(error) in _PASSING_ANSWERS and pause:
                sleep(pause)
                continue
            say(f"the worker was not called to see whether it starts: {error}")
            return
        if "FunctionError" not in answer:
            return
        told = json.loads(answer["Payload"].read())
        if told.get("errorType") not in _PASSING_ERRORS or not pause:
            raise WorkerFailed(_why(function, told))
        sleep(pause)


def _why(function: str, error: Mapping[str, Any]) -> str:
    message = in_brief(error.get("errorMessage", "no reason given"))
    trace = error.get("stackTrace") or [""]
    at = " ".join(str(trace[-1]).split())
    type = error.get("errorType")
    said = f"{type}: {message}" if type else message
    return (
        f"{function} is deployed, and its worker fails: {said}{f' ({at})' if at else ''}. Tasks "
        f"wait until a version that works is deployed; its log says more"
    )


def sync_declared(editor: Editor, *, say: Callable[[str], None]) -> None:
    """Make the recurring tasks of the queue match what the worker declares.

    `say` is given a line for each task that was changed, and for each that could not be. The last line has
    the minute that the rule rings in after the changes. If the worker has not started yet, the only line says
    so. Raises AwsError and NotArmed.
    """
    try:
        report = editor.sync()
    except WorkerNotStarted as error:
        say(f"sync  nothing was changed: {error}; then `duebell sync`")
        return
    failed = {failure.id for failure in report.failures}
    made = [step for step in report.steps if step.id not in failed]
    for step in made:
        say(f"sync  {step}")
    for failure in report.failures:
        say(f"sync  {failure.id} stays as it was, call `duebell sync` later: {failure.error}")
    # The worker was called before these changes, so its log has an outdated time of the rule.
    if made and (rings_at := editor.status().rings_at):
        say(f"sync  the rule rings by {rings_at.astimezone():%Y-%m-%d %H:%M}")
