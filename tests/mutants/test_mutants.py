"""The mutants stand where the catalogue says; `make mutants` tries them."""

import ast

import pytest

from .catalogue import MUTANTS
from .lab import Lab, difference
from .source import Module, place_of


def test_what_each_mutant_breaks_is_there_and_can_be_broken() -> None:
    for mutant in MUTANTS:
        place = place_of(mutant.source, mutant.within)
        compile(place.replaced(mutant.broken), place.module.name, "exec")


def test_no_two_mutants_are_the_same() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.source, mutant.within, mutant.broken) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.slow
def test_breaking_the_protocol_makes_a_test_fail() -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == "armed without lowering"]
    with Lab() as lab:
        killed = lab.killed_by(mutant)
    place = place_of(mutant.source, mutant.within)
    assert killed, f"{mutant.name} survived:\n{difference(place.module, place.replaced(mutant.broken))}"


def test_statements_are_replaced_with_their_indentation() -> None:
    module = Module(
        "lease.py", "def release(é):\n    if é:\n        é = 'é'; stop()\n        go()  # now\n    return é\n"
    )
    ((scope, row),) = module.pieces[ast.dump(ast.parse("go()").body[0])]
    assert scope == "release"
    assert module.replaced(row[0], row[0], "if x:\n    pass") == module.source.replace(
        "go()", "if x:\n            pass"
    )
