"""The cost of each path is as the page says, and so are the rules behind it."""

import pytest
from bench.capacity import measure
from bench.capacity.units import read_units, refused_units, size_of, write_units
from bench.document import PAGE, capacity_table

pytestmark = pytest.mark.slow

KEYS = {"lane": {"S": "0"}, "id": {"S": "task"}}
QUEUED = {"queued": {"S": "2026-12-31T00:00:00.000Z"}}


#: The highest cost of a task's life: calls, write units, read units.
LIFE = {
    "`add`, not the new head": ({"PutItem": 1, "GetItem": 1}, 2, 1),
    "`transaction()` that adds one task, not the new head": (
        {"PutItem": 1, "GetItem": 1, "TransactWriteItems": 1},
        4,
        1,
    ),
    "a task that is done: claim, outcome": ({"UpdateItem": 2}, 4, 0),
    "an attempt that is to be retried": ({"UpdateItem": 2}, 4, 0),
    "an hourly task's first occurrence": ({"UpdateItem": 2}, 4, 0),
    "`cancel`": ({"GetItem": 1, "UpdateItem": 1}, 3, 1),
}


def test_each_path_costs_what_the_page_says() -> None:
    # When every path is walked with a meter running
    paths = measure()
    # Then a task's life costs this
    costs = {path.name: (path.calls, path.write_units, path.read_units) for path in paths}
    assert {name: costs[name] for name in LIFE} == LIFE
    # And the page says so of all; if it does not any more, and that is meant: make bench ARGS=capacity
    assert capacity_table(paths) in PAGE.read_text()


def test_an_item_is_as_large_as_its_names_and_values() -> None:
    item = {"id": {"S": "zwölf"}, "rev": {"N": "12345"}, "attempt": {"N": "0"}}
    assert size_of(item) == (2 + 6) + (3 + 3 + 1) + (7 + 0 + 1)


def test_a_write_takes_a_unit_for_each_kilobyte_of_the_larger_item() -> None:
    small, large = KEYS, {**KEYS, "payload": {"S": "x" * 1024}}
    assert write_units(None, small) == 1
    assert write_units(small, large) == write_units(large, small) == write_units(large, None) == 2
    assert refused_units(None) == 1
    assert refused_units(large) == 2


def test_the_index_takes_a_write_when_an_item_enters_or_leaves_it_and_two_when_its_key_changes() -> None:
    waiting = {**KEYS, **QUEUED}
    later = {**KEYS, "queued": {"S": "2027-01-01T00:00:00.000Z"}}
    assert write_units(None, waiting) == 2
    assert write_units(waiting, KEYS) == 2
    assert write_units(waiting, later) == 3
    assert write_units(waiting, {**waiting, "status": {"S": "running"}}) == 1


def test_a_query_adds_up_what_it_looks_at_and_nothing_found_is_a_unit_too() -> None:
    assert read_units([]) == 1
    assert read_units([KEYS] * 300) == 1
    assert read_units([{**KEYS, "payload": {"S": "x" * 1024}}] * 4) == 2
