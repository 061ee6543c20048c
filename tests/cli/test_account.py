"""The AWS account and the scheduler that options and the environment choose."""

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError
from msgspec.structs import asdict

from duebell import DuebellError, Editor, Settings
from duebell_editor.cli.account import Account, EndpointSession
from duebell_editor.cli.context import Context
from duebell_editor.cli.local_note import LocalNote
from tests import transcript
from tests.cli.conftest import ACCOUNT
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


#: The answers of Lambda, by the name of the function.
FUNCTIONS: dict[str, Any] = {
    "sales": function(),
    "bare": {},
    "encrypted": function(Environment={"Error": {"ErrorCode": "AccessDenied", "Message": "no kms:Decrypt"}}),
    "denied": ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetFunction"),
    "gone": ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}, "GetFunction"),
    "throttled": ClientError({"Error": {"Code": "Throttling", "Message": "slow"}}, "GetFunction"),
    "silent": ClientError({}, "GetFunction"),
    "away": EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
}


class Lambda:
    def get_function_configuration(self, *, FunctionName: str) -> Any:  # noqa: N803
        answer = FUNCTIONS[FunctionName]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.usefixtures("duebell")
def test_accounts_are_found_as_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = MINE\naws_secret_access_key = s\n")
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-mine-1\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    monkeypatch.setattr("getpass.getuser", lambda: "anna")
    monkeypatch.setattr("socket.gethostname", lambda: "laptop")
    create = EndpointSession.create_client
    monkeypatch.setattr(
        EndpointSession,
        "create_client",
        lambda self, name, **given: Lambda() if name == "lambda" else create(self, name, **given),
    )
    for name in [name for name in os.environ if name.startswith(("AWS_", "DUEBELL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def ask(line: str) -> str:
        if line.startswith("LOCAL "):
            (tmp_path / ".duebell").mkdir(exist_ok=True)
            LocalNote(pid=1, editor="", environment=json.loads(line[6:])).write(tmp_path / ".duebell")
            return ""
        before, after = re.split("(?:^| )duebell(?: |$)", line)
        words = iter(shlex.split(after))
        account = Account(**{one[2:].replace("-", "_"): next(words) for one in words})
        with monkeypatch.context() as patch:
            for one in shlex.split(before):
                patch.setenv(*one.split("=", 1))
            return "".join(f"{name}: {told(account)}\n" for name, told in TOLD.items())

    transcript.check(Path(__file__).with_name("account.txt"), transcript.stage(), ask)


def _told(tell: Callable[[Account], Any]) -> Callable[[Account], str]:
    def tell_or_refuse(account: Account) -> str:
        try:
            return json.dumps(tell(account), default=str)
        except (DuebellError, BotoCoreError) as error:
            return f"{type(error).__name__}: {error}"

    return tell_or_refuse


def _session(account: Account) -> Any:
    credentials, meta = account.session.get_credentials(), account.session.client("events").meta
    return [credentials and [credentials.access_key, credentials.token], meta.region_name, meta.endpoint_url]


def _settings(account: Account) -> Any:
    standard = asdict(Settings())
    return {name: one for name, one in asdict(account.settings).items() if one != standard[name]}


def _exported(account: Account) -> Any:
    with mock.patch.dict(os.environ):
        account.export()
        return {name: os.environ.get(name) for name in ACCOUNT if name in os.environ}


TOLD = {
    "session": _told(_session),
    "settings": _told(_settings),
    "scheduler": _told(lambda account: account.scheduler),
    "by": _told(lambda account: [account.editor().changed_by, account.editor(by=None).changed_by]),
    "exported": _told(_exported),
}
