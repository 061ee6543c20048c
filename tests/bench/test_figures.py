"""Ratios are taken round by round, and what is beyond its limit is said."""

from bench import limits
from bench.costs import measured_in
from bench.document import PAGE, render
from bench.figures import Figures, load
from bench.limited import Limited, Way
from bench.many import Many
from bench.parts import PARTS, beyond
from bench.timing import Rounds
from msgspec.structs import replace

from duebell_editor.simulation.cost import measured


def test_what_is_beyond_its_limit_is_said() -> None:
    slow = Many(tasks=10_000, rounds=Rounds(us={"add_many": [1.0, 1.0], "put_item": [2.0, 2.0]}))
    [line] = beyond(Figures(many=slow), ["many"])
    assert "2.00" in line
    assert "5 is the limit" in line
    assert not beyond(Figures(many=slow), ["capacity"])


def test_limits_of_other_actions_may_cost_neither_time_nor_calls() -> None:
    none = Way(rates=[100.0], cpu_us=[1000.0], calls=[1000], writes=[0], held=[0])
    same = Limited(tasks=2_000, ways={"none": none, "other": none})
    assert not beyond(Figures(limited=same), ["limited"])
    worse = replace(none, cpu_us=[1200.0], calls=[1100])
    lines = beyond(Figures(limited=Limited(tasks=2_000, ways={"none": none, "other": worse})), ["limited"])
    assert [("1.20" in lines[0]), ("1100 calls" in lines[1])] == [True, True]


def test_each_part_is_a_field_of_the_figures_and_each_limit_is_of_a_part() -> None:
    assert {"measured", *PARTS} == set(Figures.__struct_fields__)
    checks = {part.beyond.__name__ for part in PARTS.values()} - {"<lambda>"}
    assert checks == set(limits.__all__)


def test_the_page_is_made_of_the_figures_that_are_kept_beside_it() -> None:
    assert render(load()) == PAGE.read_text()


def test_duebell_cost_computes_from_the_figures_of_the_page() -> None:
    # If this is no longer so: make bench of any part writes it anew
    assert measured() == measured_in(load())
