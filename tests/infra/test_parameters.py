"""The table of parameters, and the lists that are made of it."""

import inspect
from pathlib import Path

import pytest
from docs import make_settings

from duebell_infra import commands
from duebell_infra.deploy.parameters import PARAMETERS


@pytest.mark.parametrize("file", make_settings.made())
def test_the_lists_are_made_of_the_table(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == make_settings.made()[file], "make reference"


def test_each_option_of_the_table_is_one_of_deploy() -> None:
    options = {row.option for row in PARAMETERS.values() if row.option} - {"--name"}
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(commands.deploy).parameters}
    assert options <= known
