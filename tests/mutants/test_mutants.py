"""The mutants stand where the catalogue says; `make mutants` tries them."""

import ast

import pytest

from .catalogue import MUTANTS
from .lab import Lab, Module, difference, place_of


def test_what_each_mutant_breaks_is_there_and_can_be_broken() -> None:
    for mutant in MUTANTS:
        module, _, nodes = place_of(mutant.source, mutant.within)
        compile(module.replaced(nodes, mutant.broken), module.name, "exec")
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.source, mutant.within, mutant.broken) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.slow
def test_breaking_the_protocol_makes_a_test_fail() -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == "armed without lowering"]
    with Lab() as lab:
        assert lab.killed_by(mutant), f"{mutant.name} survived:\n{difference(mutant)}"


def test_statements_are_replaced_with_their_indentation() -> None:
    module = Module(
        "lease.py", "def release(é):\n    if é:\n        é = 'é'; stop()\n        go()  # now\n    return é\n"
    )
    ((scope, row),) = module.pieces[ast.dump(ast.parse("go()").body[0])]
    assert scope == "release"
    replaced = module.replaced(row[:1], "if x:\n    pass")
    assert replaced == module.source.replace("go()", "if x:\n            pass")
