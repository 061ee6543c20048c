"""All that verify says while it may not query the table: tests/verify/transcript.txt."""

from pathlib import Path

import pytest

from duebell_infra.verify import tell
from tests.transcript import compare
from tests.verify.account import Account, denied

pytestmark = [pytest.mark.moto, pytest.mark.slow]

FILE = Path(__file__).with_name("transcript.txt")


def test_verify_says_which_checks_a_refusal_touches(
    account: Account, capsys: pytest.CaptureFixture[str]
) -> None:
    account.refuse("Query", "AccessDeniedException", denied("dynamodb:Query"))
    status = tell(account.findings(probe=False), as_json=False)
    compare(FILE, f"{capsys.readouterr().out}exit {status}\n")
