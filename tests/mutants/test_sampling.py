"""What the tests say of a random mutant: noticed, not noticed, or nothing, where they fail without it."""

import subprocess
from contextlib import nullcontext
from typing import Any

import pytest

from . import sampling
from .coverage_map import CoverageMap
from .random_mutants import RandomMutant
from .source import Module

TEST = "tests/test_lease.py::test_release[a b]"
MUTANT = RandomMutant(Module("lease.py", "x = 1\n"), "constant changed", line=1, function=0, source="x = 2\n")


class OneLab:
    """A lab whose runs answer what a test says they do; the last answer again, once there is no other."""

    def __init__(self, root: Any, *answers: subprocess.CompletedProcess[str] | None) -> None:
        self.root = root
        self.answers = list(answers)
        self.asked: list[str] = []

    def __enter__(self) -> "OneLab":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def broken(self, *_: object) -> nullcontext[None]:
        return nullcontext()

    def run(self, *_: str, limit: float) -> subprocess.CompletedProcess[str]:
        self.asked.append((self.root / "tests-to-run").read_text())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise subprocess.TimeoutExpired("pytest", limit)
        return answer


def done(returncode: int, stdout: str = "", stderr: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess((), returncode, stdout, stderr)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    calls = CoverageMap({TEST: {("lease.py", 7)}}, {TEST: 0.1})
    monkeypatch.setattr(sampling, "_coverage_map", lambda _: calls)

    def check(*answers: subprocess.CompletedProcess[str] | None) -> tuple[str, list[str]]:
        lab = OneLab(tmp_path, *answers)
        monkeypatch.setattr(sampling, "Lab", lambda: lab)
        assert sampling.check_sample([MUTANT], jobs=1) == 0
        return capsys.readouterr().out, lab.asked

    return check


FAILED = done(1, f"FAILED {TEST} - AssertionError: 1 = 2\n")


def test_a_mutant_is_killed_by_a_test_that_passes_without_it(checked: Any) -> None:
    said, _ = checked(FAILED, done(0))
    assert "1 killed, 0 survived, 0 undecided" in said


def test_a_test_that_fails_without_the_mutant_kills_none(checked: Any) -> None:
    said, _ = checked(FAILED, FAILED)
    assert "0 killed, 0 survived, 1 undecided" in said
    assert "fails without it, too" in said


def test_a_mutant_is_killed_if_only_with_it_the_tests_go_on_for_ever(checked: Any) -> None:
    assert "1 killed, 0 survived, 0 undecided" in checked(None, done(0))[0]
    assert "0 killed, 0 survived, 1 undecided" in checked(None, None)[0]


def test_tests_renamed_by_the_mutant_run_with_all_their_parameters(checked: Any) -> None:
    said, asked = checked(done(4, stderr=f"ERROR: not found: {TEST}"), done(0))
    assert asked == [TEST, "tests/test_lease.py::test_release"]
    assert "0 killed, 1 survived, 0 undecided" in said


def test_a_survivor_is_printed_with_its_diff(checked: Any) -> None:
    said, _ = checked(done(0))
    assert "SURVIVED, 1 of the 1 tests that call it" in said
    assert "-x = 1\n+x = 2" in said


def test_what_no_test_calls_is_tried_with_the_tests_of_its_file() -> None:
    calls = CoverageMap({TEST: {("lease.py", 7)}, "other": {("rule.py", 7)}}, {TEST: 0.1, "other": 0.1})
    assert calls.tests_of("lease.py", 99, limit=60) == ([TEST], 1)
    assert calls.tests_of("queue.py", 99, limit=60) == ([], 0)
