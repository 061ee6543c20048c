"""The environment in the status: the scheduler's name, where it is, and what it is called."""

import boto3
import pytest

from duebell import Editor, Settings
from duebell_shared.bell.bell import BellState
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import Color
from tests.support import REGION

#: moto's.
ACCOUNT = "123456789012"


@pytest.mark.moto
def test_the_region_and_the_account_are_those_of_the_rule(session: boto3.Session) -> None:
    settings = Settings(color=Color.RED)
    status = Editor(settings, session=session).status()
    assert (status.name, status.region, status.account) == ("duebell", REGION, ACCOUNT)
    assert status.color is Color.RED
    named = Settings(name="sales")
    assert Editor(named, session=session).status().name == "sales"


@pytest.mark.parametrize("arn", ["", "arn", "a:b:c"])
def test_an_arn_that_tells_nothing_is_nowhere(arn: str) -> None:
    assert BellState(expression="", state="ENABLED", arn=arn).place == ("", "")


def test_one_name_names_table_rule_and_function() -> None:
    settings = Settings.from_env({"DUEBELL_NAME": "sales", "DUEBELL_RULE": "bell"})
    assert (settings.name, settings.table, settings.rule, settings.function) == (
        "sales",
        "sales",
        "bell",
        "sales",
    )
    without = Settings.from_env({"DUEBELL_NAME": "sales", "DUEBELL_FUNCTION": ""})
    assert without.function is None
    assert Settings.from_env({}).name == ""


def test_the_name_of_the_local_stack_is_for_the_command_line() -> None:
    with pytest.raises(InvalidSettings, match="DUEBELL_NAME: local stands for the stack of `duebell local`"):
        Settings.from_env({"DUEBELL_NAME": "local"})
