"""`duebell verify`: what it says to people and to programs, and its exit status."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duebell_editor.cli.program import run
from duebell_infra import commands
from duebell_infra.verify import Finding, Result
from duebell_shared.settings import Settings
from tests.cli.program import Outcome, lines

FINE = Finding(check="insert", result=Result.OK, found="2 PutItem")
SLOW = Finding(check="claim-many", result=Result.SLOWER, found="one by one", way_out="look")
WRONG = Finding(
    check="probe", result=Result.FAILED, found="no run\tcame of it\n", way_out="look into the log"
)
LACKS = Finding(check="call", result=Result.SKIPPED, found="not allowed", lacks="lambda:InvokeFunction")
NOT_ASKED = Finding(check="probe", result=Result.SKIPPED, found="--no-probe")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options that the command was given."""
    return {}


@pytest.fixture
def verify(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: dict[str, Any]
) -> Callable[..., Outcome]:
    """`duebell verify`, which finds these."""

    def run_it(*arguments: str, findings: Iterator[Finding] = iter(())) -> Outcome:  # noqa: B008
        def made(_session: object, settings: Settings, **options: Any) -> Any:
            given.update(options, settings=settings)
            return (finding for finding in findings)

        monkeypatch.setattr(commands, "make_checks", made)
        monkeypatch.setattr(sys, "argv", ["duebell", "verify", *arguments])
        with pytest.raises(SystemExit) as raised:
            run()
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *capsys.readouterr())

    return run_it


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ([FINE], 0),
        ([FINE, SLOW, NOT_ASKED], 0),
        ([FINE, LACKS], 5),
        ([LACKS, WRONG, FINE], 6),
    ],
)
def test_the_exit_status_is_that_of_the_worst(
    verify: Callable[..., Outcome], findings: list[Finding], status: int
) -> None:
    assert verify(findings=iter(findings)).status == status


def test_for_people_it_is_a_line_and_what_to_do(verify: Callable[..., Outcome]) -> None:
    out = verify(findings=iter([FINE, WRONG])).out
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "ok insert 2 PutItem",
        "failed probe no run came of it",
        "to do: look into the log",
    ]
    # And for programs a document to a line
    fine, wrong = lines(verify("--json", findings=iter([FINE, WRONG])).out)
    assert (fine["check"], fine["result"], fine["way_out"]) == ("insert", "ok", None)
    assert (wrong["result"], wrong["way_out"], wrong["answers"]) == ("failed", "look into the log", [])


def test_what_is_to_be_made_follows_from_the_options(
    verify: Callable[..., Outcome], given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUEBELL_TABLE", "mine")
    monkeypatch.delenv("DUEBELL_FUNCTION", raising=False)
    verify()
    assert given["probe"] is True
    assert (given["settings"].table, given["settings"].function) == ("mine", None)

    found = Settings(table="other", rule="bell", function="other")
    monkeypatch.setattr("duebell_editor.cli.account.Account.settings", found)
    verify("--name", "other", "--no-probe")
    assert given["probe"] is False
    assert given["settings"] == found
