"""The Terraform module with the real AWS provider, against the embedded stack's AWS.

The provider is taken from DUEBELL_TERRAFORM_PLUGINS, the folder that holds registry.terraform.io: nothing is
downloaded in a test.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duebell_editor import Editor, Settings, Status
from duebell_infra.bundle import build
from duebell_infra.local import EmbeddedStack
from duebell_infra.session import embedded_environment
from duebell_infra.target import Target
from duebell_shared.rule import SENTINEL, expression_at
from tests.e2e.support import ACTIONS, HERE, wait_for
from tests.e2e.test_ringing import SOON

PLUGINS = os.environ.get("DUEBELL_TERRAFORM_PLUGINS", "")
MODULE = Path(__file__).parents[2] / "infra" / "terraform"
NAME = "terraformed"

#: What the emulator answers otherwise than it was asked, at each plan. AWS does not.
EMULATORS_DRIFT = {"aws_cloudwatch_metric_alarm", "aws_lambda_function"}

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not installed"),
    pytest.mark.skipif(
        not PLUGINS, reason="DUEBELL_TERRAFORM_PLUGINS does not name the folder of the AWS provider"
    ),
]


class Terraform:
    """The module as a user's root configuration has it, on the embedded AWS."""

    def __init__(self, folder: Path, stack: EmbeddedStack) -> None:
        self._folder = folder
        self._stack = stack
        (folder / "main.tf").write_text(
            f"""
            variable "memory_size" {{ default = 512 }}
            variable "bundle" {{}}
            provider "aws" {{
              region                      = "{stack.session.region_name}"
              s3_use_path_style           = true
              skip_credentials_validation = true
              skip_metadata_api_check     = true
            }}
            module "duebell" {{
              source              = {json.dumps(str(MODULE))}
              name                = "{NAME}"
              bundle              = var.bundle
              worker              = "{ACTIONS}"
              memory_size         = var.memory_size
              deletion_protection = false
              saved_queries       = false
              architecture        = "x86_64"
            }}
            output "all" {{ value = module.duebell }}
            """
        )
        self._bundle = folder / "bundle.zip"
        self._bundle.write_bytes(build(ACTIONS, Target.this_machine(), folder=HERE).data)
        self("init", "-plugin-dir", PLUGINS)

    def __call__(self, command: str, *options: str) -> str:
        return self.run(command, "-input=false", "-no-color", *options)

    def run(self, *arguments: str) -> str:
        """One command of Terraform's; what it prints."""
        done = subprocess.run(
            ["terraform", *arguments],
            cwd=self._folder,
            env={
                **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
                **embedded_environment(self._stack.endpoint_url),
                "TF_CLI_CONFIG_FILE": os.devnull,
                "TF_VAR_bundle": str(self._bundle),
                "CHECKPOINT_DISABLE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def changes(self, *options: str) -> set[str]:
        """The types of resources that a plan would change."""
        self("plan", "-out", "plan", *options)
        plan: dict[str, Any] = json.loads(self.run("show", "-json", "plan"))
        return {
            change["type"]
            for change in plan["resource_changes"]
            if change["change"]["actions"] not in (["no-op"], ["read"])
        }


@pytest.fixture
def terraform(tmp_path: Path, stack: EmbeddedStack) -> Iterator[Terraform]:
    terraform = Terraform(tmp_path, stack)
    yield terraform
    terraform("destroy", "-auto-approve")


def test_the_whole_way(terraform: Terraform, stack: EmbeddedStack) -> None:
    events = stack.session.client("events")

    def rule() -> str:
        return events.describe_rule(Name=NAME)["ScheduleExpression"]

    # Given the module, applied
    terraform("apply", "-auto-approve")
    assert rule() == SENTINEL
    editor = Editor(Settings(table=NAME, rule=NAME), session=stack.session)
    assert editor.status().healthy

    # When tasks are added, the rule really rings and the bundle runs
    editor.add("succeed", due=SOON, id="soon")
    later = editor.add("succeed", schedule="cron(0 0 1 1 ? 2100)", id="later")
    wait_for(lambda: editor.get("soon").status is Status.DONE)
    wait_for(lambda: rule() == expression_at(later.due))

    # Then the next plan changes nothing, above all not the rule
    assert terraform.changes() <= EMULATORS_DRIFT
    # And an apply that changes a setting leaves it armed
    assert "aws_lambda_function" in terraform.changes("-var", "memory_size=1024")
    terraform("apply", "-auto-approve", "-var", "memory_size=1024")
    function = stack.session.client("lambda").get_function_configuration(FunctionName=NAME)
    assert function["MemorySize"] == 1024
    assert rule() == expression_at(later.due)
    assert editor.status().healthy

    # And the table outlives the rest when it is taken out of Terraform's hands first
    terraform.run("state", "rm", "module.duebell.aws_dynamodb_table.queue")
    terraform("destroy", "-auto-approve")
    assert editor.get("later").due == later.due
    stack.session.client("dynamodb").delete_table(TableName=NAME)
