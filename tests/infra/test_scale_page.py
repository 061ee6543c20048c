"""The figures of docs/scale.md, computed anew from the limits and prices that it names."""

from pathlib import Path

import pytest

from duebell_editor.simulation import cost
from duebell_editor.simulation.cost import PRICES, measured

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()

#: Of DynamoDB: write units a second for a partition, and bytes for an item collection.
PARTITION, LANE = 1_000, 10e9

#: Write units of a task with items up to 1 KB: in all, by history; in its lane; of its add.
ADD, DONE = measured().add.write, measured().done.write
UNITS = {"all": ADD + DONE, "failed": ADD + DONE - 1, "none": ADD + DONE - 1}
IN_LANE, OF_ADD = ADD + DONE - 1, ADD

MONTH, DAY = cost.MONTH.total_seconds(), 86_400
ON_DEMAND, PROVISIONED = PRICES["write"].dollars / 1e6, PRICES["write_hour"].dollars / 3600


def rows(heading: str) -> dict[str, list[str]]:
    """The table whose first row begins so: each row's other cells by its first."""
    table = PAGE[PAGE.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return {first: rest for first, *rest in cells}


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.removesuffix(" million").replace(",", "")) for cell in cells]


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_what_lanes_carry(lanes: int) -> None:
    rates = [lanes * PARTITION / OF_ADD, lanes * PARTITION / IN_LANE]
    waiting = [lanes * LANE / size / 1e6 for size in (500, 1_000, 4_000)]
    assert numbers(rows("lanes | adds a second")[str(lanes)]) == [*rates, *waiting]
    ended = [int(lanes * LANE / (days * DAY * 1_000)) for days in (1, 3, 14, 30)]
    assert numbers(rows("lanes | 1 day")[str(lanes)]) == ended


def test_a_tasks_units() -> None:
    assert f"**{UNITS['all']:g} · {UNITS['failed']:g} · {UNITS['none']:g}**" in PAGE
