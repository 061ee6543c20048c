"""The two descriptions of the system, read: the CloudFormation template and the Terraform module."""

import re
from typing import Any

import hcl2
import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_infra.deploy.stack import template_text
from tests.terraform import MODULE


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("template") / "template.yaml"
    file.write_text(template_text())
    return decode(str(file))[0]


@pytest.fixture(scope="session")
def module() -> Any:
    """The module's blocks by kind: `module["resource"]["aws_sqs_queue"]["lost_rings"]`."""
    found: dict[str, Any] = {}
    for file in MODULE.glob("*.tf"):
        with file.open() as text:
            parsed = _plain(hcl2.load(text))
        for kind, blocks in parsed.items():
            for block in blocks:
                _merge(found.setdefault(kind, {}), block)
    return found


def properties(template: Any, name: str) -> Any:
    """Returns the properties of this resource of the template."""
    return template["Resources"][name]["Properties"]


def _plain(value: Any) -> Any:
    """Returns the value without the parser's quotes and marks."""
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items() if key != "__is_block__"}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value[1:-1] if isinstance(value, str) and re.fullmatch(r'"[^"]*"', value) else value


def _merge(into: dict[str, Any], block: dict[str, Any]) -> None:
    for key, value in block.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
