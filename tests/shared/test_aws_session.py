"""The session that clients are made of without one of the user's: the SDK's settings count as in boto3."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from duebell_shared.aws.aws_session import client_maker

CONFIG = """
[default]
region = eu-west-1
[profile other]
region = eu-north-1
services = near
[services near]
dynamodb =
  endpoint_url = http://near.example:8000
"""


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"AWS_PROFILE": "other"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000"},
        {"AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "adaptive"},
    ],
)
def test_clients_are_those_of_boto3(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    make = client_maker(None)
    for service in ("dynamodb", "events", "lambda"):
        ours: Any = make(service)
        theirs: Any = boto3.Session().client(service)
        assert ours.meta.endpoint_url == theirs.meta.endpoint_url
        assert ours.meta.region_name == theirs.meta.region_name
        assert ours.meta.config.retries == theirs.meta.config.retries


def test_the_region_that_lambda_sets_counts_where_nothing_else_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert client_maker(None)("dynamodb").meta.region_name == "eu-central-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    assert client_maker(None)("dynamodb").meta.region_name == "ap-south-1"


def test_the_entry_of_the_lambda_loads_only_what_it_needs() -> None:
    code = (
        "import sys, duebell_worker.entry; from duebell_shared.aws.aws_session import client_maker;"
        "client_maker(None);"
        "print(*{'boto3', 's3transfer', 'asyncio', 'multiprocessing', 'duebell_editor'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
