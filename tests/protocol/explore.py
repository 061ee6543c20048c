"""Explores a case exhaustively, breadth first, and prints the shortest way to what goes wrong."""

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from duebell_shared.bell.arming import ArmingRecord

from .model import Model
from .world import NEVER_AT, Case, Ingredients, State, at


@dataclass(frozen=True)
class Finding:
    """The result of exploring a case: the number of states, and the way to the first wrong one."""

    states: int
    fault: str | None = None
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.fault or 'holds'}: {self.states:,} states", *self.trace])


def explore(
    case: Case, ingredients: Ingredients | None = None, *, most: int = sys.maxsize, kind: type[Model] = Model
) -> Finding:
    model = kind(case, ingredients or Ingredients())
    first = model.first()
    before: dict[State, State | None] = {first: None}
    frontier = [first]
    while frontier and len(before) < most:
        following: list[State] = []
        for state in frontier:
            if fault := model.wrong(state):
                return Finding(len(before), fault, tuple(_trace(model, before, state)))
            for _, _, after in model.successors(state):
                if after not in before:
                    before[after] = state
                    following.append(after)
        frontier = following
    return Finding(len(before))


def _trace(model: Model, before: dict[State, State | None], state: State | None) -> Iterator[str]:
    states: list[State] = []
    while state:
        states.append(state)
        state = before[state]
    states.reverse()
    yield f"{'':42} {_show(model, states[0])}"
    for last, this in itertools.pairwise(states):
        who, what = next((who, what) for who, what, after in model.successors(last) if after == this)
        yield f"{who:5}{what:37} {_show(model, this)}"


def _show(model: Model, state: State) -> str:
    record = model.records[state.record]
    tasks = " ".join("done" if due < 0 else _moment(due) for due, _ in state.tasks)
    return f"now {state.now}  rule {_moment(state.rule):>2}  tasks {tasks}  {_show_record(record)}"


def _show_record(record: ArmingRecord) -> str:
    lanes = " | ".join(
        _moment(at(lane.due)) + (f" {lane.owner} until {at(lane.until)}" if lane.owner else "")
        for lane in record.lanes
    )
    armed = "?" if record.armed is None else _moment(at(record.armed))
    applier = f"  {record.applier} applies until {at(record.applier_until)}" if record.applier else ""
    return f"[{lanes}]  armed {armed}{applier}"


def _moment(moment: int) -> str:
    return "-" if moment == NEVER_AT else str(moment)
