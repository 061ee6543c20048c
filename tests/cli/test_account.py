"""The AWS account and the scheduler that options and the environment choose."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ProfileNotFound
from botocore.stub import Stubber

from duebell import Editor
from duebell_editor.cli.account import Account
from duebell_editor.cli.context import Context
from duebell_editor.cli.errors import WrongUsage
from duebell_editor.cli.schedulers import LocalStack
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.settings import Color, Settings
from tests.cli.program import Duebell

pytestmark = pytest.mark.usefixtures("duebell")

WHERE = ("--endpoint-url", "http://127.0.0.1:4566", "--region", "mars-north-1")


@pytest.fixture
def profile(duebell: Duebell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A profile with keys of its own, in an environment (set up by `duebell`) that says everything else."""
    credentials = tmp_path / "credentials"
    credentials.write_text("[before]\n[mine]\naws_access_key_id = MINE\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "before")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    return "mine"


@pytest.fixture
def chosen(duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> list[boto3.Session]:
    """The sessions that commands make their editors with."""
    sessions: list[boto3.Session] = []

    def editor_of(context: Context, **_: object) -> Editor:
        sessions.append(context.account.session)
        return editor

    monkeypatch.setattr(Context, "editor", editor_of)
    return sessions


@pytest.mark.parametrize("is_before", [True, False])
def test_a_profile_beats_keys_in_the_environment(
    duebell: Duebell,
    profile: str,
    chosen: list[boto3.Session],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_before: bool,
) -> None:
    # Given keys in the environment, which the SDK takes before any profile
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    # When a profile is asked for, before the command or after it
    option = ("--profile", profile)
    assert duebell(*((*option, "list") if is_before else ("list", *option))).status == 0
    # Then the session has the profile's
    credentials: Any = chosen[0].get_credentials()
    assert (credentials.access_key, credentials.token) == ("MINE", None)
    assert chosen[0].region_name == "before"


@pytest.mark.usefixtures("profile")
def test_an_endpoint_beats_what_the_environment_says_of_a_service(
    duebell: Duebell, chosen: list[boto3.Session]
) -> None:
    # When an endpoint is asked for, then every service is there, in that region
    assert duebell("list", *WHERE).status == 0
    for service in ("dynamodb", "events", "cloudformation"):
        meta = chosen[0].client(service).meta
        assert (meta.endpoint_url, meta.region_name) == ("http://127.0.0.1:4566", "mars-north-1")


def test_a_worker_that_is_run_here_finds_them_in_its_environment(
    duebell: Duebell, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a program that makes clients of its own
    found: list[object] = []

    def load(_actions: str) -> None:
        credentials: Any = boto3.Session().get_credentials()
        meta = boto3.client("dynamodb").meta
        found.extend([credentials.access_key, meta.endpoint_url, meta.region_name])
        raise KeyboardInterrupt

    monkeypatch.setattr("duebell_worker.entry.load", load)
    monkeypatch.setattr("duebell_worker.log.to_stdout", lambda: None)
    # When keys in the environment would win over the profile, then it says so
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    refused = duebell("run", "--actions", "a:b", "--profile", profile)
    assert (refused.status, "unset AWS_ACCESS_KEY_ID" in refused.err) == (2, True)
    # When it is run with an account, then they have it
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert duebell("run", "--actions", "a:b", "--profile", profile, *WHERE).status == 130
    assert found == ["MINE", "http://127.0.0.1:4566", "mars-north-1"]


VARIABLES = {
    "DUEBELL_TABLE": "sales",
    "DUEBELL_RULE": "sales",
    "DUEBELL_FUNCTION": "sales",
    "DUEBELL_RETENTION_DAYS": "90",
    "DUEBELL_COLOR": "red",
    "DUEBELL_ENVIRONMENT": "{}",
    "SECRET": "of the actions",
}


def function(**more: Any) -> dict[str, Any]:
    return {"Environment": {"Variables": VARIABLES}, **more}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """Lambda, as far as commands ask it: for the configuration of the function."""
    with Stubber(boto3.client("lambda", region_name="eu-north-1")) as stub:
        monkeypatch.setattr(botocore.session.Session, "create_client", lambda *_, **__: stub.client)
        yield stub
        stub.assert_no_pending_responses()


def test_the_settings_are_those_of_the_worker(aws: Stubber, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.add_response("get_function_configuration", function())
    monkeypatch.setenv("DUEBELL_CHANGED_BY", "anna")
    monkeypatch.setenv("DUEBELL_STRICT_ACTIONS", "on")
    monkeypatch.setenv("DUEBELL_TABLE", "another")
    settings = Account(name="sales", region="eu-north-1").settings
    assert settings == Settings(
        table="sales", rule="sales", function="sales", name="sales", retention=timedelta(days=90),
        color=Color.RED, changed_by="anna", strict_actions=True,
    )  # fmt: skip


def test_one_that_is_not_there_says_how_to_find_it(aws: Stubber) -> None:
    aws.add_client_error("get_function_configuration", "ResourceNotFoundException")
    with pytest.raises(
        NotDeployed, match=r"no scheduler 'sales' in eu-north-1: give its --region and --profile"
    ):
        _ = Account(name="sales", region="eu-north-1").settings


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_without_permission_it_names_the_way_out(aws: Stubber, *, is_encrypted: bool) -> None:
    if is_encrypted:
        error = {"Error": {"ErrorCode": "AccessDenied", "Message": "AccessDenied: no kms:Decrypt"}}
        aws.add_response("get_function_configuration", function(Environment=error))
    else:
        aws.add_client_error("get_function_configuration", "AccessDenied")
    with pytest.raises(AwsRefused, match=r"AccessDenied.* set the variables that `duebell deploy` prints"):
        _ = Account(name="sales", region="eu-north-1").settings


def test_a_profile_that_is_not_there_is_told_before_anything_is_called() -> None:
    with pytest.raises(ProfileNotFound, match="could not be found"):
        _ = Account(profile="nope", region="eu-north-1").session


def test_without_a_region_it_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    with pytest.raises(WrongUsage, match="AWS_REGION is not set: give --region, or --name local"):
        _ = Account().backend


@pytest.mark.usefixtures("profile")
def test_local_is_the_stack_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotDeployed, match="no `duebell local` is running in this folder or above"):
        _ = Account(name="local").session
    # Given one that is running, and an environment for something else
    environment = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "KEY",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_SESSION_TOKEN": "KEY",
        "DUEBELL_TABLE": "duebell",
        "DUEBELL_COLOR": "gray",
    }
    (tmp_path / ".duebell").mkdir()
    LocalStack(pid=1, editor="http://127.0.0.1:2/", environment=environment).write(tmp_path / ".duebell")
    monkeypatch.setenv("DUEBELL_TABLE", "another")
    monkeypatch.setenv("DUEBELL_AUDIT", "table")  # nothing is deployed with --audit there
    # Then commands reach the stack, and what they start does
    account = Account(name="local")
    credentials: Any = account.session.get_credentials()
    assert (credentials.access_key, credentials.token) == ("KEY", "KEY")
    meta = account.session.client("dynamodb").meta
    assert (meta.endpoint_url, meta.region_name) == ("http://127.0.0.1:9", "us-east-1")
    settings = account.settings
    assert (settings.table, settings.color, settings.audit) == ("duebell", Color.GRAY, "table")
    account.export()
    assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert "AWS_PROFILE" not in os.environ
