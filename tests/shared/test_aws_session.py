"""The session that clients are made of without one of the user's: the SDK's settings count as in boto3."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.loaders import create_loader

from duebell_shared.aws.aws_session import QuickLoader, client_maker

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


# The quick loader of the SDK's descriptions: the same contents, from the same places, as the SDK's own.


def test_services_and_endpoints_are_described_as_by_the_sdk() -> None:
    ours, theirs = QuickLoader(), create_loader()
    for kind in ("service-2", "endpoint-rule-set-1"):
        for service in ("dynamodb", "events", "sns"):
            described, expected = (loader.load_service_model(service, kind) for loader in (ours, theirs))
            assert json.dumps(described) == json.dumps(expected)  # in the same order
    assert {*theirs.list_available_services("service-2")} <= {*ours.list_available_services("service-2")}
    assert ours.load_data("endpoints") == theirs.load_data("endpoints")


def test_endpoints_in_another_form_are_read_whole(tmp_path: Path) -> None:
    other = {"partitions": [{"partition": "own", "services": ["a", "b"]}], "version": 4}
    (tmp_path / "endpoints.json").write_text(json.dumps(other))
    assert QuickLoader(str(tmp_path)).load_data("endpoints") == other


def test_descriptions_of_the_user_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "events" / "2099-01-01"
    folder.mkdir(parents=True)
    newer = {**create_loader().load_service_model("events", "service-2"), "documentation": "newer"}
    (folder / "service-2.json").write_text(json.dumps(newer))
    rules = create_loader().load_service_model("events", "endpoint-rule-set-1")
    (folder / "endpoint-rule-set-1.json").write_text(json.dumps(rules))
    monkeypatch.setenv("AWS_DATA_PATH", f"/nowhere:{tmp_path}")
    model = client_maker(None)("events").meta.service_model
    assert (model.api_version, model.documentation) == (newer["metadata"]["apiVersion"], "newer")
