"""The audit of our own dependencies never passes without having asked anybody."""

from typing import Any

import pytest

from tests.audit import verdict

CLEAN = {"name": "sums", "version": "1.0", "vulns": []}
SKIPPED = {"name": "numbers", "skip_reason": "Dependency not found"}
FIXED = {"id": "GHSA-1", "fix_versions": ["1.1"]}
UNFIXED = {"id": "GHSA-2", "fix_versions": []}
VULNERABLE = {"name": "letters", "version": "1.0", "vulns": [FIXED, UNFIXED]}


@pytest.mark.parametrize(
    ("packages", "status", "said"),
    [
        ([CLEAN], 0, ["no known vulnerability in any of 1 packages"]),
        (
            [CLEAN, SKIPPED, VULNERABLE],
            1,
            ["letters 1.0: GHSA-1, fixed in 1.1", "letters 1.0: GHSA-2, fixed in no version yet"],
        ),
        ([CLEAN, SKIPPED], 2, ["NOT AUDITED, for the advisory database does not know them: numbers"]),
    ],
)
def test_what_was_found(packages: list[Any], status: int, said: list[str]) -> None:
    assert verdict({"dependencies": packages}) == (status, said)


@pytest.mark.parametrize("packages", [[], [SKIPPED], [SKIPPED, SKIPPED]])
def test_nothing_known_of_anything_is_no_audit(packages: list[Any]) -> None:
    status, [said] = verdict({"dependencies": packages})
    assert status == 2
    assert "could not be asked" in said
