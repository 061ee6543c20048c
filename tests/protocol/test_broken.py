"""The protocol with one part removed, or one line of the real arming code broken: each is found out."""

import ast
from collections.abc import Sequence
from typing import Any

import pytest

from duebell_shared.bell import arming
from duebell_shared.bell.arming import ArmingRecord
from tests.mutants.source import place_of

from . import giving, relaning, reserving, tries
from .explore import explore
from .model import CASES
from .world import LATE_IN_THE_HOUR, Case, Ingredients

pytestmark = pytest.mark.slow

#: So many states of each case are explored first, and more if nothing is found in any of them.
_MOST = (2_000, 100_000)

#: The parts of the model, each without one.
_PARTS = {
    "clear before read": Ingredients(clear_first=False),
    "write before lower": Ingredients(write_first=False),
    "echoes": Ingredients(echoes=False),
    "what is put back counts": Ingredients(put_back=False),
    "what was changed while it ran is looked for": Ingredients(superseded=False),
}

#: Lines of the arming record: the source, what stands there instead, and the method, if the source stands in
#: several.
_LINES = {
    "lock": ("self.applier is not None and self.applier_until + skew > now", "False"),
    "watchdog": (
        "min(lane.wake(self.head_start) for lane in self.lanes)",
        "min(lane.due for lane in self.lanes)",
    ),
    "unknown while applying": ("self.unarmed()", "self", "ArmingRecord.applying"),
    "a held lane is lowered": ("due < looked_at", "due < looked_at and not lane.owner"),
    "a lease is no look": ("lane.due", "min(lane.due, lane.until)", "ArmingRecord.lowered"),
    "all free lanes claimed": (
        "unowned = {number: lane for number, lane in enumerate(self.lanes) if not lane.owner}",
        "mine, unowned = sorted(mine, key=lambda number: self.lanes[number].due)[:1], {}",
    ),
    "what is left free is due when any was": ("{**left, **claimed}", "claimed"),
    "release heeds what was added": (
        "min(self.lanes[number].due, heads[number])",
        "heads[number]",
        "ArmingRecord.released",
    ),
    "a lane that was added to is read again": ("self.lanes[number].due == NEVER", "True"),
    "late calls do not count": ("self.applier_until <= now", "False"),
    "dispute": ("replace(self.unarmed(), applier=self.applier and 'disputed')", "self"),
    "an unanswered try keeps the hold": (
        "confirmed if may_land_again else confirmed.unheld()",
        "confirmed.unheld()",
    ),
    "an echo that comes soon": ("echo is None or echo > lease_end + ECHO_SOON", "echo is None"),
    "an echo that there is": (
        "self.rings_at is not None and self.rings_at <= now and self.echo_of is None",
        "self.rings_at is not None and self.rings_at <= now",
    ),
    "an echo is for leases": (
        "self.armed == self.lease_end and (free == NEVER or self.rings_at <= minute_for(free, now))",
        "True",
    ),
}

#: The same, of the transitions by which the queue is given more lanes.
_OF_A_RELANER = {
    "what was added while lanes were held": (
        "self.released(self.relaner, heads)",
        "self.cleared(self.relaner).released(self.relaner, heads)",
    ),
    "all lanes are held while tasks are moved": (
        "replace(self.unarmed(), lanes=held, earlier=earlier)",
        "replace(self.unarmed(), lanes=(*(Lane(due=due) for due in dues[:-1]), held[-1]), earlier=earlier)",
    ),
}


def broken(source: str, instead: str, within: str = "") -> Ingredients:
    """The protocol whose arming record has something else in the place of this source."""
    place, count = place_of(source, within)
    [record] = [
        node
        for node in ast.parse(place.replaced(instead, count)).body
        if isinstance(node, ast.ClassDef) and node.name == ArmingRecord.__name__
    ]
    names = dict(vars(arming))
    exec(compile(ast.Module([record], []), place.module, "exec"), names)
    return Ingredients(record=names[ArmingRecord.__name__])


def is_found_out(ingredients: Ingredients, explored: Sequence[Case] = CASES, **model: Any) -> bool:
    findings = (explore(case, ingredients, most=most, **model) for most in _MOST for case in explored[::-1])
    return any(finding.fault and finding.trace for finding in findings)


@pytest.mark.parametrize("part", _PARTS)
def test_each_part_is_needed(part: str) -> None:
    assert is_found_out(_PARTS[part])


@pytest.mark.parametrize("line", _LINES)
def test_each_line_is_needed(line: str) -> None:
    assert is_found_out(broken(*_LINES[line]))


@pytest.mark.parametrize("line", _OF_A_RELANER)
def test_each_line_of_a_relaner_is_needed(line: str) -> None:
    assert is_found_out(broken(*_OF_A_RELANER[line]), relaning.CASES, kind=relaning.RelaningModel)


def test_the_trace_tells_what_happened() -> None:
    finding = explore(CASES[0], Ingredients(clear_first=False))
    assert finding.fault == "LOST"
    told = str(finding)
    for what in ("writes its task due 1", "RINGS", "clears", "releases", "RETURNS"):
        assert what in told


def test_lanes_that_are_given_without_a_watchdog_are_lost() -> None:
    without = broken("min(self.lanes[number].until for number in self.lanes_of(taker))", "NEVER")
    finding = explore(giving.TO_A_DEAD_RUN, without, kind=giving.GivingModel)
    assert finding.fault == "LOST"
    assert any("gives its lanes to" in step for step in finding.trace)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Ingredients(asks=False), "UNCONFIRMED"),
        (Ingredients(is_fenced=False), "LOST"),
        (Ingredients(comes_back=False), "LOST"),
    ],
)
def test_each_part_of_a_reservation_is_needed(broken: Ingredients, fault: str) -> None:
    finding = explore(reserving.CASES[0], broken, kind=reserving.ReservingModel)
    assert finding.fault == fault, str(finding)


def test_a_try_that_takes_over_before_the_lease_has_ended_runs_beside_one_that_lives() -> None:
    twice = [case for case in tries.CASES if "twice" in case.faults]
    assert {explore(case, kind=tries.TakesOverAtOnce).fault for case in twice} == {"TWICE"}


def test_a_try_that_waits_without_a_watchdog_may_lose_it_all() -> None:
    findings = (explore(case, LATE_IN_THE_HOUR, kind=tries.DiesUnarmed) for case in tries.CASES)
    assert "LOST" in {finding.fault for finding in findings}
