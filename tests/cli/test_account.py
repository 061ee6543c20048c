"""Which AWS the options choose, before the command or after it."""

import os
from pathlib import Path

import boto3
import pytest

from duebell import Editor
from duebell_editor.cli.context import Context
from duebell_editor.cli.program import run
from duebell_infra import commands
from duebell_infra.deploy.deploy import Deployment
from tests.cli.program import Duebell

BEFORE = {
    "AWS_PROFILE": "before",
    "AWS_SESSION_TOKEN": "before",
    "AWS_REGION": "before",
    "AWS_DEFAULT_REGION": "before",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:2",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
}


@pytest.fixture
def profile(duebell: Duebell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A profile with keys of its own, in an environment (set up by `duebell`) that says everything else."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    credentials = tmp_path / "credentials"
    credentials.write_text("[before]\n[mine]\naws_access_key_id = MINE\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    for name, value in BEFORE.items():
        monkeypatch.setenv(name, value)
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
    duebell: Duebell, profile: str, chosen: list[boto3.Session], *, is_before: bool
) -> None:
    # Given keys in the environment, which the SDK takes before any profile
    assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"
    # When a profile is asked for, before the command or after it
    option = ("--profile", profile)
    assert duebell(*((*option, "list") if is_before else ("list", *option))).status == 0
    # Then the session has the profile's
    [session] = chosen
    credentials = session.get_credentials()
    assert credentials
    assert (credentials.access_key, credentials.token) == ("MINE", None)
    assert session.region_name == "before"


@pytest.mark.usefixtures("profile")
def test_an_endpoint_beats_what_the_environment_says_of_a_service(
    duebell: Duebell, chosen: list[boto3.Session]
) -> None:
    # When an endpoint is asked for
    url = "http://127.0.0.1:4566"
    assert duebell("list", "--endpoint-url", url, "--region", "mars-north-1").status == 0
    # Then every service is there, in that region
    [session] = chosen
    for service in ("dynamodb", "events", "cloudformation"):
        client = session.client(service)
        assert (client.meta.endpoint_url, client.meta.region_name) == (url, "mars-north-1")


def stopped(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Call a command about the stack, which is stopped by Ctrl-C."""
    monkeypatch.setattr("sys.argv", ["duebell", *arguments])
    with pytest.raises(SystemExit, match="130"):
        run()


def test_commands_about_the_stack_go_by_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given the command that deploys, up to where AWS is called
    found: list[str | None] = []

    def deploy(session: boto3.Session, _deployment: Deployment, **_: object) -> None:
        found.append(session.region_name)
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "deploy_stack", deploy)
    # When a region is given after it, then the session has it
    stopped(monkeypatch, "deploy", "--actions", "a:b", "--region", "mars-north-1")
    assert found == ["mars-north-1"]


def test_a_worker_that_is_run_here_finds_them_in_its_environment(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a program that makes clients of its own
    found: list[object] = []

    def load(_actions: str) -> None:
        credentials = boto3.Session().get_credentials()
        client = boto3.client("dynamodb")
        assert credentials
        found.extend([credentials.access_key, client.meta.endpoint_url, client.meta.region_name])
        raise KeyboardInterrupt

    monkeypatch.setattr("duebell_worker.entry.load", load)
    monkeypatch.setattr("duebell_worker.log.to_stdout", lambda: None)
    # When it is run with an account, then they have it
    where = ("--endpoint-url", "http://127.0.0.1:4566", "--region", "mars-north-1")
    stopped(monkeypatch, "run", "--actions", "a:b", "--profile", profile, *where)
    assert found == ["MINE", "http://127.0.0.1:4566", "mars-north-1"]
