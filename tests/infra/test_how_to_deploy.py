"""The files of docs/how-to for other tools that deploy, held against the template and the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from cfnlint.decode import decode  # type: ignore[import-untyped]
from typer.main import get_command

from duebell_editor.cli.program import app

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = ("sam", "serverless", "pulumi", "cdk", "github-actions")

#: The variables of a service that adds tasks, with the stack's outputs for them.
ENVIRONMENT = {
    "DUEBELL_TABLE": "TableName",
    "DUEBELL_RULE": "RuleName",
    "DUEBELL_FUNCTION": "FunctionName",
}


def text_of(page: str) -> str:
    return (HOW_TO / f"{page}.md").read_text(encoding="utf-8")


def file_of(page: str, folder: Path) -> Path:
    """The file that a page shows, written down."""
    [(name, content)] = re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", text_of(page), re.DOTALL)
    file = folder / Path(name).name
    file.write_text(content, encoding="utf-8")
    return file


def fits(parameters: Any, template: Any) -> None:
    """Check that the template has these parameters, and that none it needs is missing."""
    needed = {name for name, one in template["Parameters"].items() if "Default" not in one}
    assert needed <= set(parameters) <= set(template["Parameters"])
    assert parameters["Name"] == "shop"


def test_sam(tmp_path: Path, template: Any) -> None:
    resources = decode(str(file_of("sam", tmp_path)))[0]["Resources"]
    parameters = resources["Scheduler"]["Properties"]["Parameters"]
    fits(parameters, template)
    assert json.loads(parameters["Environment"])
    service = resources["Orders"]["Properties"]
    given = service["Environment"]["Variables"]
    assert given == {
        name: {"Fn::GetAtt": ["Scheduler", f"Outputs.{one}"]} for name, one in ENVIRONMENT.items()
    }
    assert service["Policies"] == [{"Fn::GetAtt": ["Scheduler", "Outputs.EditorPolicyArn"]}]
    assert {*ENVIRONMENT.values(), "EditorPolicyArn"} <= set(template["Outputs"])


def test_serverless(tmp_path: Path, template: Any) -> None:
    read = yaml.safe_load(file_of("serverless", tmp_path).read_text())
    parameters = read["resources"]["Resources"]["Scheduler"]["Properties"]["Parameters"]
    fits(parameters, template)
    assert json.loads(parameters["Environment"])
    provider = read["provider"]
    wanted = {name: {"Fn::GetAtt": ["Scheduler", f"Outputs.{one}"]} for name, one in ENVIRONMENT.items()}
    assert provider["environment"] == wanted
    [policy] = provider["iam"]["role"]["managedPolicies"]
    assert policy == {"Fn::GetAtt": ["Scheduler", "Outputs.EditorPolicyArn"]}


def test_the_template_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    from duebell_infra.deploy.stack import template_text  # noqa: PLC0415

    get_command(app).main(["template"], standalone_mode=False)
    assert capsys.readouterr().out == template_text()
