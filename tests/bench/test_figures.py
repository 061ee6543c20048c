"""Ratios are taken round by round, and what is beyond its limit is said."""

from datetime import timedelta

from bench import limits
from bench.costs import measured_in, rows
from bench.document import PAGE, render
from bench.figures import Figures, load
from bench.limited import Limited, Way
from bench.many import Many
from bench.parts import PARTS, beyond
from bench.simulated import measure
from bench.timing import Ratio, Rounds, side_by_side
from msgspec.structs import replace

from duebell_editor.simulation.cost import PRICES, measured
from duebell_shared.bell.expression import LEAD


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    # A machine that is ten times as slow in the middle slows both
    ratio = Ratio.of([2.0, 22.0, 2.4], [1.0, 10.0, 1.0])
    assert ratio.median == 2.2
    assert ratio.low < ratio.median < ratio.high


def test_each_round_begins_with_another_one() -> None:
    order: list[str] = []
    calls = {name: lambda name=name: order.append(name) for name in "abc"}
    side_by_side(calls, rounds=3, repeats=1, fewer_rounds={"c": 1})
    assert order == [*"abc", *"ba", *"ab"]


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


def test_every_price_has_a_source_and_its_date() -> None:
    assert all(price.source.startswith("https://") and price.dated for price in PRICES.values())


def test_duebell_cost_computes_from_the_figures_of_the_page() -> None:
    # If this is no longer so: make bench of any part writes it anew
    assert measured() == measured_in(load())


def test_duebell_costs_more_in_each_row_as_the_page_says() -> None:
    for row in rows(measured()):
        assert row.second.dollars > row.minute.dollars > row.with_table.dollars >= row.scheduler.dollars


def test_a_simulated_task_is_never_early_and_never_later_than_the_rule_can_be() -> None:
    # It may come due right after a run: then the lead, the rest of that minute, and the ring
    most = LEAD + timedelta(minutes=2)
    for late in measure(tasks=300):
        assert late.tasks == 300
        assert 0 <= late.p50 <= late.worst <= most.total_seconds()
