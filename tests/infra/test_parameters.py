"""The parameters of a stack: the lists made of the table, the name, and what editors are told of them."""

import inspect
from datetime import timedelta
from pathlib import Path

import pytest
from docs import make_settings

from duebell_infra import commands
from duebell_infra.deploy.parameters import PARAMETERS, check_scheduler_name, environment_of, settings_of
from duebell_infra.errors import InvalidDeployment
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import History


@pytest.mark.parametrize("file", make_settings.made())
def test_the_lists_are_made_of_the_table(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == make_settings.made()[file], "make reference"


def test_each_option_of_the_table_is_one_of_deploy() -> None:
    options = {row.option for row in PARAMETERS.values() if row.option} - {"--name"}
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(commands.deploy).parameters}
    assert options <= known


#: AWS's longest names, and what of it follows the scheduler's own.
LONGEST = {
    "-worker-": 38,  # a role with what Terraform adds at the end
    "-lost-rings": 80,  # a queue
    "": 64,  # a function
}


@pytest.mark.parametrize("name", ["abc", "Shop-2", "a" * 30])
def test_names_that_can_be(name: str) -> None:
    assert check_scheduler_name(name) == name
    assert all(len(name + end) <= longest for end, longest in LONGEST.items())


@pytest.mark.parametrize("name", ["ab", "a" * 31, "my_queue", "2nd-queue", "Ünique", "duebell\n"])
def test_names_that_cannot_be_are_refused_before_anything_is_asked(name: str) -> None:
    with pytest.raises(InvalidDeployment, match=r"3 to 30 letters, digits and hyphens, and a letter first"):
        check_scheduler_name(name)


def test_what_is_kept_of_tasks_is_the_same_for_editors_as_for_the_worker() -> None:
    names = {f"DUEBELL_{name}": name[0].lower() for name in ("TABLE", "RULE", "FUNCTION")}
    assert environment_of(Settings(table="t", rule="r", function="f")) == names
    settings = Settings(retention=timedelta(days=3), history=History.FAILED, kept_payload=0, function="f")
    assert Settings.from_env(environment_of(settings)) == settings


def test_editors_are_told_of_the_intake() -> None:
    settings = settings_of("shop", {"Intake": "yes"})
    assert environment_of(settings)["DUEBELL_INTAKE"] == settings.intake == "shop-intake"
    assert Settings.from_env(environment_of(settings)).intake == "shop-intake"
    assert "DUEBELL_INTAKE" not in environment_of(settings_of("shop", {"Intake": "no"}))
