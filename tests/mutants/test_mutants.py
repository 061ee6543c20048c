"""Some mutants, those that are found out soonest; `make mutants` tries them all."""

import pytest

from .catalogue import MUTANTS
from .lab import Lab, difference
from .mutant import Mutant

FAST = [mutant for mutant in MUTANTS if mutant.is_fast]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_breaks_is_there_and_can_be_broken(mutant: Mutant) -> None:
    place = mutant.place()
    compile(place.replaced(mutant.broken), place.module.name, "exec")
    assert mutant.killers


def test_no_two_mutants_are_the_same() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.line, mutant.within, mutant.file, mutant.broken) for mutant in MUTANTS}) == len(
        MUTANTS
    )


@pytest.mark.slow
@pytest.mark.parametrize("mutant", FAST, ids=lambda mutant: mutant.name)
def test_breaking_the_protocol_makes_a_test_fail(mutant: Mutant) -> None:
    with Lab() as lab:
        killed = lab.killed_by(mutant)
    place = mutant.place()
    diff = difference(place.module, place.replaced(mutant.broken))
    assert killed, f"{mutant.name} survived: {mutant.why}\n{diff}"
