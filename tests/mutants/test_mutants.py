"""The mutants stand where the catalogue says, and it is heard what a test says; `make mutants` tries them."""

from typing import Any

import pytest

from . import sampling
from .catalogue import MUTANTS
from .coverage_map import CoverageMap
from .lab import Lab
from .random_mutants import sample
from .source import place_of


def test_what_each_mutant_breaks_is_there_and_can_be_broken() -> None:
    for mutant in MUTANTS:
        place, count = place_of(mutant.source, mutant.within)
        source = place.replaced(mutant.broken, count)
        compile(source, place.module, "exec")
        assert place.difference(source)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.source, mutant.within, mutant.broken) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.slow
def test_breaking_the_protocol_makes_a_test_fail() -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == "armed without lowering"]
    with Lab() as lab:
        assert lab.killed_by(mutant)


@pytest.mark.parametrize(
    ("broken", "whole", "fate"),
    [
        ("FAILED tests/one.py::test", None, "1 killed, 0 survived, 0 undecided"),
        (None, None, "0 killed, 1 survived, 0 undecided"),
        # A test that fails without the mutant, too, kills none
        ("the tests went on for ever", "the tests went on for ever", "0 killed, 0 survived, 1 undecided"),
    ],
)
def test_a_random_mutant_is_killed_by_a_test_that_fails_only_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, broken: str | None, whole: str | None, fate: str
) -> None:
    [mutant] = sample(1, 7, "run/lease.py")
    calls = CoverageMap({"tests/one.py::test": {(mutant.place.module, 7)}}, {"tests/one.py::test": 0.1})
    monkeypatch.setattr(sampling, "_coverage_map", lambda _: calls)

    def failure(lab: Lab, *_: object) -> str | None:
        there = (lab.root / mutant.place.module).read_text()
        return broken if there == mutant.source else whole

    monkeypatch.setattr(sampling, "_failure", failure)
    assert sampling.check_sample([mutant], jobs=1) == 0
    said = capsys.readouterr().out
    assert fate in said
    assert ("@@" in said) == ("1 killed" not in fate)


def test_what_no_test_calls_is_tried_with_the_tests_of_its_file_or_of_the_one_that_names_it() -> None:
    check, rule = "infra/duebell_infra/bundle/import_check.py", "shared/duebell_shared/bell/rule.py"
    calls = CoverageMap({"one": {(check, 7)}, "other": {("pyproject.toml", 7)}}, {"one": 0.1, "other": 0.1})
    assert calls.tests_of(check, 99, limit=60) == (["one"], 1)
    assert calls.tests_of(check.replace(".py", "_child.py"), 99, limit=60) == (["one"], 1)
    assert calls.tests_of(rule, 99, limit=60) == ([], 0)
