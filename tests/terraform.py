"""Terraform as a child process, with the real AWS provider of this machine.

The provider is taken from DUEBELL_TERRAFORM_PLUGINS, the folder that holds registry.terraform.io: nothing is
downloaded in a test.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["MODULE", "NEEDS_TERRAFORM", "Change", "Terraform", "output_of"]

MODULE = Path(__file__).parents[1] / "infra" / "terraform"
PLUGINS = os.environ.get("DUEBELL_TERRAFORM_PLUGINS", "")

NEEDS_TERRAFORM = [
    pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not installed"),
    pytest.mark.skipif(
        not PLUGINS, reason="DUEBELL_TERRAFORM_PLUGINS does not name the folder of the AWS provider"
    ),
]

#: The plan for one resource: its type, the actions, and its attributes before and after.
Change = dict[str, Any]


class Terraform:
    """Terraform in this folder, initialised, with nothing of this machine's settings but what is given."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self("init", "-plugin-dir", PLUGINS)

    def __call__(self, command: str, *options: str) -> str:
        return self.run(command, "-input=false", "-no-color", *options)

    def run(self, *arguments: str) -> str:
        """One command of Terraform's; what it prints."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        fixed = {"TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
        done = subprocess.run(
            ["terraform", *arguments],
            cwd=self._folder,
            env={**inherited, **fixed, **self._environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def apply(self) -> None:
        """Apply what the files say."""
        self._in_two_goes("apply")

    def destroy(self) -> None:
        """Destroy what there is."""
        self._in_two_goes("destroy")

    def _in_two_goes(self, command: str) -> None:
        """On a busy machine the emulator loses an answer now and then.

        A second go finds what is there already, as it would for a person.
        """
        try:
            self(command, "-auto-approve")
        except AssertionError:
            self(command, "-auto-approve")

    def plan(self, *options: str) -> list[Change]:
        """The changes that a plan makes; the plan itself is kept for `apply_plan`."""
        self("plan", "-out", "plan", *options)
        plan: dict[str, Any] = json.loads(self.run("show", "-json", "plan"))
        return [
            {"type": one["type"], **one["change"]}
            for one in plan["resource_changes"]
            if one["change"]["actions"] not in (["no-op"], ["read"])
        ]

    def apply_plan(self) -> None:
        """The changes of the last plan, as they were then."""
        self("apply", "plan")


#: The head of each test of the module: no AWS is asked, and the bundle is what `output_of` writes.
_MOCKED = """
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
}
variables {
  bundle = "bundle.zip"
}
"""


def output_of(runs: str, folder: Path, *, megabytes: int = 0) -> str:
    """The output of `terraform test` for these runs of the module, with a bundle of this size."""
    module = Path(shutil.copytree(MODULE, folder / "module"))
    with (module / "bundle.zip").open("wb") as bundle:
        bundle.truncate(megabytes * 1_000_000)
    (module / "runs.tftest.hcl").write_text(_MOCKED + runs)
    return Terraform(module, {}).run("test", "-no-color")
