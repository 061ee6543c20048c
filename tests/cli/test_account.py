"""Which AWS the options choose, before the command or after it."""

import os
from pathlib import Path

import boto3
import pytest

from duebell_editor.cli import run
from duebell_infra import commands
from duebell_infra.deploy import Deployment
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


@pytest.mark.parametrize("is_before", [True, False])
def test_a_profile_beats_keys_in_the_environment(duebell: Duebell, profile: str, *, is_before: bool) -> None:
    # Given keys in the environment, which the SDK takes before any profile
    assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"
    # When a profile is asked for, before the command or after it
    option, command = ("--profile", profile), ("preview", "rate(1 hour)")
    assert duebell(*((*option, *command) if is_before else (*command, *option))).status == 0
    # Then the SDK has the profile's
    credentials = boto3.Session().get_credentials()
    assert credentials
    assert (credentials.access_key, credentials.token) == ("MINE", None)


@pytest.mark.usefixtures("profile")
def test_an_endpoint_beats_what_the_environment_says_of_a_service(duebell: Duebell) -> None:
    # When an endpoint is asked for
    url = "http://127.0.0.1:4566"
    assert duebell("preview", "rate(1 hour)", "--endpoint-url", url, "--region", "mars-north-1").status == 0
    # Then every service is there, in that region
    for service in ("dynamodb", "events", "cloudformation"):
        client = boto3.client(service)
        assert (client.meta.endpoint_url, client.meta.region_name) == (url, "mars-north-1")


@pytest.mark.usefixtures("profile")
def test_what_is_not_asked_for_stays_as_it_was(duebell: Duebell) -> None:
    assert duebell("preview", "rate(1 hour)").status == 0
    assert {name: os.environ[name] for name in BEFORE} == BEFORE
    assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"


def test_commands_about_the_stack_go_by_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given the command that deploys, up to where AWS is called
    found: list[str | None] = []

    def deploy(session: boto3.Session, _deployment: Deployment, **_: object) -> None:
        found.append(session.region_name)
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "deploy_stack", deploy)
    monkeypatch.setattr("sys.argv", ["duebell", "deploy", "--actions", "a:b", "--region", "mars-north-1"])
    # When a region is given after it
    with pytest.raises(SystemExit, match="130"):
        run(commands.app)
    # Then the session has it
    assert found == ["mars-north-1"]
