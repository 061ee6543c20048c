"""A verify by somebody who may not do all of it: each check says what is missing, and the others are made."""

import pytest

from duebell import Editor
from duebell_infra.verify import Result
from tests.verify.account import Account, all_ok, denied

pytestmark = [pytest.mark.moto, pytest.mark.slow]

#: The operation that is refused, the permission, and the checks that cannot be made.
REFUSED = {
    "dynamodb:Query": ("Query", {"status", "index", "history", "swaps-lost", "rule"}),
    "lambda:InvokeFunction": ("Invoke", {"call"}),
}


@pytest.mark.parametrize("permission", REFUSED)
def test_a_check_that_is_not_allowed_says_so_and_the_others_are_made(
    account: Account, permission: str
) -> None:
    operation, checks = REFUSED[permission]
    account.refuse(operation, "AccessDeniedException", denied(permission))

    found = account.verify(probe=False)

    for name in checks:
        assert (found[name].result, found[name].lacks) == (Result.SKIPPED, permission), found[name]
        assert permission in found[name].found
        assert "docs/security.md" in str(found[name].way_out)
    assert all_ok(found, *checks), found
    assert account.items() == []


def test_statements_that_are_not_allowed_are_no_slower_path_of_the_worker(account: Account) -> None:
    refusal = {"Error": {"Code": "AccessDenied", "Message": denied("dynamodb:PartiQLDelete")}}
    account.answer("BatchExecuteStatement", {"Responses": [refusal] * 4})

    found = account.check("delete-many", probe=False)

    assert (found.result, found.lacks) == (Result.SKIPPED, "dynamodb:PartiQLDelete")


def test_who_may_not_delete_lets_dynamodb_do_it(account: Account) -> None:
    account.refuse("DeleteItem", "AccessDeniedException", denied("dynamodb:DeleteItem"))
    editor = Editor(backend=account.backend)

    found = account.verify()

    assert found["nothing-left"].lacks == "dynamodb:DeleteItem"
    assert "DynamoDB deletes them when they expire" in found["nothing-left"].found
    # Everything that is left expires, but for the counts of the built-in action
    left = [item for item in account.items() if item["lane"]["S"] != "semaphore"]
    assert left
    assert all("expires_at" in item for item in left)
    assert editor.status(thorough=True).healthy
