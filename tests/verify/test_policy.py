"""The policy that docs/security.md gives for `duebell verify`: with an editor's, it is all that is needed."""

import json
import re
from pathlib import Path

import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_infra.verify import Result
from duebell_shared.settings import Settings
from tests.infra.policies import Guarded, Statements, granted, statements_of
from tests.infra.test_policies import PAGE
from tests.support import Clock
from tests.verify.account import Account, all_ok

pytestmark = pytest.mark.moto


@pytest.fixture
def editors() -> Statements:
    """What an editor may do."""
    template = decode(str(Path(__file__).parents[2] / "infra" / "template.yaml"))[0]
    return statements_of(template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"])


@pytest.fixture
def more() -> Statements:
    """What the page says that verify needs besides an editor's policy."""
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if "dynamodb:DescribeTimeToLive" in block]
    statements: Statements = json.loads(block)["Statement"]
    return statements


def test_it_is_enough_and_not_more(
    editors: Statements, more: Statements, account: Account, clock: Clock
) -> None:
    guarded = Guarded([*editors, *more])
    allowed = Account(clock, Settings(function="duebell"), guarded.session)

    assert all_ok(allowed.verify())
    assert guarded.made >= granted(more), "something is allowed that verify does not use"
    assert allowed.items() == []


def test_an_editor_alone_is_told_what_it_lacks(editors: Statements, account: Account, clock: Clock) -> None:
    allowed = Account(clock, Settings(function="duebell"), Guarded(editors).session)

    found = allowed.verify()

    assert {name for name, one in found.items() if one.result is Result.FAILED} == {"expiry"}
    assert "not authorized to perform: dynamodb:DescribeTimeToLive" in found["expiry"].found
