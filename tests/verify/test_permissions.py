"""A verify by somebody who may not do all of it, or just as much as docs/security.md says."""

import json
import re
from pathlib import Path

import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell import Editor
from duebell_infra.verify import Result
from duebell_shared.settings import Settings
from tests.infra.policies import Guarded, Statements, granted, statements_of
from tests.infra.test_policies import PAGE
from tests.support import Clock
from tests.verify.account import Account, all_ok, denied

pytestmark = [pytest.mark.moto, pytest.mark.slow]


def test_who_may_not_delete_lets_dynamodb_do_it(account: Account) -> None:
    account.refuse("DeleteItem", "AccessDeniedException", denied("dynamodb:DeleteItem"))
    editor = Editor(backend=account.backend)

    found = account.verify()

    assert found["nothing-left"].lacks == "dynamodb:DeleteItem"
    assert "DynamoDB deletes them when they expire" in found["nothing-left"].found
    # Everything that is left expires
    assert account.items()
    assert all("expires_at" in item for item in account.items())
    assert editor.status(thorough=True).healthy


@pytest.fixture
def editors() -> Statements:
    """The rights of an editor."""
    template = decode(str(Path(__file__).parents[2] / "infra" / "template.yaml"))[0]
    return statements_of(template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"])


@pytest.fixture
def more() -> Statements:
    """The rights that verify needs besides an editor's, as the page has them."""
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if '"dynamodb:PartiQLDelete", "dynamodb:PartiQLUpdate"]' in block]
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


def test_an_editor_alone_takes_the_slower_path(editors: Statements, account: Account, clock: Clock) -> None:
    allowed = Account(clock, Settings(function="duebell"), Guarded(editors).session)

    found = allowed.verify()

    slower = {name for name, one in found.items() if one.result is Result.SLOWER}
    assert slower == {"claim-many", "change-many", "delete-many"}
    assert all_ok(found, *slower)
