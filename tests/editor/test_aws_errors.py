"""Refusals of AWS as duebell's own errors: each says what is wrong and what to do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from duebell import AwsRefused, AwsUnavailable, Editor, InvalidSettings, NotArmed, NotDeployed, Settings
from duebell_infra.aws import aws_calls
from duebell_infra.errors import DeployFailed
from duebell_shared.aws.aws_session import way_out
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import CALL_LIMIT
from tests.support import REGION
from tests.worker.hooks import Hooks

HOUR = timedelta(hours=1)

CALLS: dict[str, Callable[[Editor], object]] = {
    "add": lambda editor: editor.add("act", due=HOUR),
    "get": lambda editor: editor.get("one"),
    "list": lambda editor: editor.list(),
    "ensure_armed": lambda editor: editor.ensure_armed(),
}

# Nobody who answers, or no stack.


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_when_nobody_answers_on_this_machine_it_is_asked_whether_the_local_stack_runs(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:1")
    with pytest.raises(AwsUnavailable, match=r"is `duebell local` running\?$"):
        Editor.from_env().add("act", due=HOUR)


def test_elsewhere_it_is_not() -> None:
    failure = EndpointConnectionError(endpoint_url="https://dynamodb.eu-central-1.amazonaws.com")
    assert way_out(failure) == ""
    assert way_out(EndpointConnectionError(endpoint_url="https://10.0.0.1:4566")) == ""
    assert way_out(EndpointConnectionError(endpoint_url="http://[::1]:4566")) != ""
    assert way_out(None) == ""


def test_an_error_without_credentials_names_the_variables_to_set() -> None:
    with pytest.raises(DeployFailed, match="set AWS_PROFILE, or AWS_ACCESS_KEY_ID"), aws_calls("asking AWS"):
        raise NoCredentialsError


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_table_that_is_not_there_is_said_to_be_so_with_the_way_out(
    session: boto3.Session, call: Callable[[Editor], object]
) -> None:
    editor = Editor(Settings(table="elsewhere"), session=session)
    with pytest.raises(NotDeployed) as raised:
        call(editor)
    assert str(raised.value) == (
        f"there is no DynamoDB table 'elsewhere' in {REGION}: run `duebell deploy`, "
        f"or set DUEBELL_TABLE and AWS_REGION to where it is"
    )


def test_a_rule_that_is_not_there_is_said_when_the_task_is_stored(session: boto3.Session) -> None:
    editor = Editor(Settings(rule="elsewhere"), session=session)
    with pytest.raises(NotArmed) as raised:
        editor.add("act", due=HOUR, id="one")
    assert str(raised.value) == (
        f"task 'one' is stored, but the rule could not be set: there is no EventBridge rule 'elsewhere' in "
        f"{REGION}: run `duebell deploy`, or set DUEBELL_RULE, DUEBELL_BELL and AWS_REGION to where it is"
    )
    assert isinstance(raised.value.__cause__, NotArmed)
    assert editor.get("one").queued


# Calls that AWS refuses.


REFUSALS = {
    "AccessDeniedException": AwsRefused,
    "UnrecognizedClientException": AwsRefused,
    "ProvisionedThroughputExceededException": AwsUnavailable,
    "ThrottlingException": AwsUnavailable,
    "InternalServerError": AwsUnavailable,
}


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("GetItem", CALLS["get"]),
        ("PutItem", CALLS["add"]),
        ("UpdateItem", lambda editor: editor.pause("one")),
        ("Query", CALLS["list"]),
        ("Query", lambda editor: editor.list(status="done")),
    ],
)
def test_what_is_refused_says_what_and_where(
    editor: Editor, aws: Hooks, operation: str, call: Callable[[Editor], object]
) -> None:
    editor.add("act", due=HOUR, id="one")
    for code, error in REFUSALS.items():
        allow = aws.refuse(f"dynamodb.{operation}", code)
        with pytest.raises(error, match=f"^DynamoDB, table 'duebell': .*{code}.*as the test wants it"):
            call(editor)
        allow()


def test_a_record_that_may_not_be_written_is_not_armed(editor: Editor, aws: Hooks) -> None:
    # Given a queue in use, and a policy that allows tasks to be written, but not the record
    editor.add("act", due=2 * HOUR)
    aws.refuse("dynamodb.PutItem", "AccessDeniedException", when=lambda body: '"arming"' in body)
    # When a new head is added
    with pytest.raises(
        NotArmed, match=r"^task 'one' is stored, but DynamoDB, table 'duebell': .*AccessDenied"
    ):
        editor.add("act", due=HOUR, id="one")
    # Then it is there
    assert editor.get("one").queued


# Settings of the SDK.


def test_without_a_region_it_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(
        InvalidSettings, match=r"^AWS_REGION: is not set: name the region that duebell is deployed in"
    ) as raised:
        Editor.from_env()
    # And how to reach the local stack, with none of the SDK's own lines above it
    assert "for the stack of `duebell local`, run the `export` line that `duebell local wait` prints" in str(
        raised.value
    )
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("url", ["localhost:4566", "nonsense"])
def test_an_endpoint_that_is_no_url_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(InvalidSettings, match=f"AWS settings: .*{url}"):
        Editor.from_env()


def test_a_call_to_the_rule_is_made_once_and_within_its_limit(backend: Backend) -> None:
    # The arming protocol counts on it: see Rule and HOLD.
    config: Any = backend.rule._client.meta.config
    assert timedelta(seconds=config.connect_timeout + config.read_timeout) <= CALL_LIMIT
    assert config.retries["total_max_attempts"] == 1
