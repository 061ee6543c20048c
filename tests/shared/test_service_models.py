"""The quick loader of the SDK's descriptions: the same contents, from the same places, as the SDK's own."""

import json
from pathlib import Path

import pytest
from botocore.loaders import create_loader

from duebell_shared.aws.aws_session import QuickLoader, client_maker

SERVICES = ("dynamodb", "events", "sns")


@pytest.mark.parametrize("kind", ["service-2", "endpoint-rule-set-1"])
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_described_as_by_the_sdk(service: str, kind: str) -> None:
    ours, theirs = (
        QuickLoader().load_service_model(service, kind),
        create_loader().load_service_model(service, kind),
    )
    assert ours == theirs
    assert json.dumps(ours) == json.dumps(theirs)  # in the same order


def test_no_service_of_the_sdk_is_missing() -> None:
    assert set(create_loader().list_available_services("service-2")) <= set(
        QuickLoader().list_available_services("service-2")
    )


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


def test_what_is_no_strict_json_is_read_by_the_sdk(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"pattern": "\\ud800", "size": NaN}')
    assert QuickLoader(str(tmp_path)).load_data("odd")["pattern"] == "\ud800"
