"""An arming record that someone edited or deleted, while tasks wait: it is made anew, and they all run."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duebell import NotArmed, ProblemKind, Status
from duebell_shared.queue.places import lane_of
from tests.support import NOON

from .conftest import SOON, Scene, Table, number, packed, text

pytestmark = pytest.mark.slow

IDS = ("a", "b", "c", "d")  # in all lanes

Edit = Callable[[Table], None]


def item(**attributes: Any) -> Edit:
    """The item's attributes made these; None takes one away."""

    def change(item: dict[str, Any]) -> None:
        item.update(attributes)
        for name in [name for name, value in item.items() if value is None]:
            del item[name]

    return lambda table: table.change_arming(change)


def record(**fields: Any) -> Edit:
    """The record's fields made these."""
    return lambda table: table.change_record(lambda record: record.update(fields))


def lanes(**fields: Any) -> Edit:
    """Each lane's fields made these."""

    def change(record: dict[str, Any]) -> None:
        for lane in record["lanes"]:
            lane.update(fields)

    return lambda table: table.change_record(change)


DAMAGE: dict[str, Edit] = {
    "deleted": lambda table: table.delete_arming(),
    "text": item(record=text("{oops")),
    "no JSON object": item(record=packed([7])),
    "larger than any record": item(record=packed({"applier": "x" * 5_000_000})),
    "no revision": item(rev=None),
    "another revision beside it": item(rev=number(99)),
    "a due that is earlier": lanes(due="2026-01-25T12:00:00Z"),
    "a due beyond every rule": lanes(due="5026-01-25T12:00:00Z"),
    "no due": lanes(due="9999-12-31T23:59:59.999Z"),
    "a lease that ends soon": lanes(owner="someone", until="2026-11-21T12:12:00Z"),
    "a relaner that has gone": record(relaner="x", relaner_until="2026-11-21T12:00:20Z"),
    "a ring elsewhere": record(rings_at="2026-11-21T13:20:00Z"),
    "armed for something else": record(armed="2026-11-21T13:20:00Z"),
    "not armed": record(armed=None, rings_at=None),
    "an applier that has gone": record(armed=None, applier="x", applier_until="2026-11-21T12:00:20Z"),
}


@pytest.fixture
def damaged(request: pytest.FixtureRequest, scene: Scene) -> str:
    """A queue with a task in every lane, and a damaged record; the damage's name."""
    for id in IDS:
        scene.editor.add("note", due=SOON, id=id)
    DAMAGE[request.param](scene.table)
    return str(request.param)


every_damage = pytest.mark.parametrize("damaged", DAMAGE, indirect=True)


@every_damage
def test_a_run_goes_on(damaged: str, scene: Scene) -> None:
    # When a run is the first to come to it
    scene.clock.advance(SOON + timedelta(minutes=3))
    report = scene.run()

    # Then everything is done once, and the rule is parked
    assert (report.done, sorted(scene.ran)) == (4, list(IDS))
    assert {scene.editor.get(id).status for id in IDS} == {Status.DONE}
    scene.calls.clear()
    status = scene.editor.status()
    assert {problem.kind for problem in status.problems} <= {ProblemKind.RELANE}  # that stays to be repeated
    assert status.rings_at is None


@every_damage
def test_an_editor_goes_on(damaged: str, scene: Scene) -> None:
    # When editors are the first to come to it, one that knew it before and one that did not
    scene.editor.add("note", due=SOON / 2, id="from-the-old")
    scene.newcomer.add("note", due=SOON / 2, id="from-the-new")
    assert {task.id for task in scene.newcomer.list().tasks} == {*IDS, "from-the-old", "from-the-new"}

    # Then what they added is rung for, at the end of a lease at the latest, and so is everything else
    rings_at = scene.newcomer.status().rings_at
    assert rings_at
    assert rings_at <= NOON + (timedelta(minutes=12) if "lease" in damaged else SOON / 2)
    scene.clock.advance(SOON + timedelta(minutes=3))
    scene.run()
    assert sorted(scene.ran) == [*IDS, "from-the-new", "from-the-old"]


FOR_EVER: dict[str, Edit] = {
    "a lease without an end": lanes(owner="someone", until="9999-12-31T23:59:59.999Z"),
    "a relaner for years": record(relaner="x", relaner_until="2100-01-01T00:00:00Z"),
    "a hold on the rule for years": record(armed=None, applier="x", applier_until="2100-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("edit", FOR_EVER.values(), ids=FOR_EVER.keys())
def test_what_is_held_for_years_is_taken_back_by_ensure_armed(edit: Edit, scene: Scene) -> None:
    for id in IDS:
        scene.editor.add("note", due=SOON, id=id)
    edit(scene.table)
    scene.calls.clear()

    assert scene.editor.ensure_armed().rings_at == NOON + SOON
    scene.clock.advance(2 * SOON)
    assert scene.run().done == 4
    assert sorted(scene.ran) == list(IDS)
    assert scene.editor.status().lanes == 4


def test_with_fewer_lanes_an_editor_that_knew_more_says_so(scene: Scene) -> None:
    for id in IDS:
        scene.editor.add("note", due=SOON, id=id)
    scene.table.change_record(lambda record: record.update(lanes=[{}]))

    # The task is stored, in a lane that nobody looks into any more
    id = next(id for id in IDS if lane_of(id, 4) > 0)
    with pytest.raises(NotArmed, match="fewer lanes"):
        scene.editor.move(id, due=SOON / 2)
    stored = scene.editor.queue.store.get(lane_of(id, 4), id)
    assert stored
    assert stored.due == NOON + SOON / 2
