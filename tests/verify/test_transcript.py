"""The requests of verify to AWS, and its findings for wrong answers and without the right to query."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from duebell_infra.verify import checks, queue, tell
from duebell_shared.errors import DuebellError
from tests.transcript import compare, masked
from tests.verify.account import Account, denied

pytestmark = [pytest.mark.moto, pytest.mark.slow]

FILE = Path(__file__).with_name("transcript.txt")
REQUESTS, FAULTS = FILE.with_name("requests.txt"), FILE.with_name("faults.txt")


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "randrange", lambda _: 1)


def test_verify_says_what_a_refusal_touches(account: Account, capsys: pytest.CaptureFixture[str]) -> None:
    account.refuse("Query", "AccessDeniedException", denied("dynamodb:Query"))
    status = tell(account.findings(probe=False), as_json=False)
    compare(FILE, f"{capsys.readouterr().out}exit {status}\n")


def test_verify_makes_the_same_requests_as_before(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, text = list[str](), ""
    monkeypatch.setattr(checks, "uuid", SimpleNamespace(uuid4=lambda: UUID(int=1)))  # it decides on lanes

    def note(params: Any, model: Any, **_: Any) -> None:
        left_out = {"TableName", "ExpressionAttributeNames"}
        shown = {name: params[name] for name in sorted(params.keys() - left_out)}
        requests.append(f"{model.name} {json.dumps(shown, default=lambda _: 'bytes', sort_keys=True)}\n")

    account.session.events.register("provide-client-params", note)
    for finding in account.findings():
        text += f"{finding.check}: {finding.found}\n" + "".join(sorted(set(requests)))
        requests.clear()
        if finding.check == "status":
            text = ""
    compare(REQUESTS, masked(text))


def test_verify_tells_what_is_wrong_with_an_answer(account: Account) -> None:
    text, usual = "", account._hooks
    for line in re.findall(r"(?m)^# .*$", FAULTS.read_text(encoding="utf-8")):
        check, operation, answer = line[2:].split(" ", 2)
        account._hooks = dict(usual)
        if answer.startswith("{"):
            account.answer(operation, json.loads(answer))
        else:
            account.refuse(operation, *answer.split(" ", 1))
        try:
            text += f"{line}\n{json.dumps(msgspec.to_builtins(account.check(check)))}\n"
        except DuebellError as error:
            text += f"{line}\n{type(error).__name__}: {error}\n"
    compare(FAULTS, masked(text))
