"""The Terraform module by itself, as Terraform checks it: no AWS, and no emulator of it."""

import shutil
from pathlib import Path

import pytest

from tests.terraform import MODULE, NEEDS_TERRAFORM, Terraform

pytestmark = NEEDS_TERRAFORM


@pytest.fixture
def example(tmp_path: Path) -> Terraform:
    """The example root, beside the module as in the repository."""
    shutil.copytree(MODULE, tmp_path / "terraform")
    return Terraform(tmp_path / "terraform" / "example", {})


def test_the_example_is_valid_and_formatted(example: Terraform) -> None:
    assert "The configuration is valid" in example.run("validate", "-no-color")
    assert example.run("fmt", "-check", "-recursive", str(MODULE)) == ""
