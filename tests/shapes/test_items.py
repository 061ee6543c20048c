"""Items in the table that duebell did not write: they are passed over and named, and the others run."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from duebell import DuebellError, Editor, Status, UnreadableTask

from .conftest import ITEM, SOON, Scene, Table, but, number, text

pytestmark = pytest.mark.slow


def without(*names: str) -> dict[str, Any]:
    """The usual item without these."""
    return {name: value for name, value in ITEM.items() if name not in names}


#: Items that no version of ours can read, and so cannot run.
UNREADABLE: dict[str, Mapping[str, Any]] = {
    **{f"no {name}": without(name) for name in ITEM if name != "queued"},
    "nothing but its place in the queue": {"queued": ITEM["queued"]},
    "a counter that is text": but(attempt=text("0")),
    "a payload that is a number": but(payload=number(5)),
    "a status of a newer version": but(status=text("archived")),
    "a due that is no time": but(due=text("soon")),
    "a failure that is no JSON": but(failure=text("{oops")),
    "half an attempt": but(attempt=number("0.5")),
    "a priority above the highest": but(priority=number(10)),
    "more attempts than can be counted": but(attempt=number(10**30)),
    "a spread of centuries": but(spread=number(10**20)),
    "a recurrence that is no JSON": but(recurrence=text("{oops")),
    "a schedule of a newer version": but(recurrence=text('{"schedule": {"expression": "every blue moon"}}')),
    "an expiry after the calendar": but(expires_at=number(10**30)),
}

#: Items whose place in the index is no time as we write it: nobody knows when to run them.
UNTIMELY = {
    "text after every time": but(queued=text("garbage")),
    "a digit before every time": but(queued=text("1")),
    "a time in another form": but(queued=text("2026-11-21T12:10Z")),
}


def run_twice(scene: Scene) -> int:
    """Two runs, some time apart, each of a bounded number of calls; how many tasks they did."""
    first = scene.run().done
    scene.clock.advance(timedelta(minutes=7))
    return first + scene.run().done


def named_in(caplog: pytest.LogCaptureFixture, id: str) -> bool:
    """True if a warning or an error in the log names this item."""
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    return any(getattr(each, "fields", {}).get("id") == id or repr(id) in each.getMessage() for each in said)


@pytest.mark.parametrize("item", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_item_that_cannot_be_read_stops_nothing(
    item: Mapping[str, Any], caplog: pytest.LogCaptureFixture, scene: Scene
) -> None:
    # Given tasks, and an item among them that is none
    for id in ("a", "b", "c", "d"):  # in all lanes
        scene.editor.add("note", due=SOON, id=id)
    scene.table.put("odd", item)
    scene.clock.advance(2 * SOON)

    # When runs come to it
    done = run_twice(scene)

    # Then the others are done once, the log names it, and the status does not say that all is well
    assert (done, sorted(scene.ran)) == (4, ["a", "b", "c", "d"])
    assert named_in(caplog, "odd")
    assert not scene.editor.status().healthy
    # And an editor says clearly what it is, leaves it out of listings and goes on with others
    with pytest.raises(UnreadableTask, match="'odd'"):
        scene.editor.get("odd")
    with pytest.raises(UnreadableTask, match="'odd'"):
        scene.editor.cancel("odd")
    assert scene.editor.list().tasks == ()
    assert [task.id for task in scene.editor.list(status="done").tasks] == ["a", "b", "c", "d"]
    scene.editor.add("note", due=SOON, id="later")
    assert [task.id for task in scene.editor.list().tasks] == ["later"]
    assert scene.editor.ensure_armed().rings_at


@pytest.mark.parametrize("item", UNTIMELY.values(), ids=UNTIMELY.keys())
def test_an_item_queued_for_no_time_wakes_nobody(
    item: Mapping[str, Any], caplog: pytest.LogCaptureFixture, scene: Scene
) -> None:
    scene.editor.add("note", due=SOON, id="a")
    scene.table.put("odd", item)
    scene.clock.advance(2 * SOON)

    done = run_twice(scene)

    # The log names it, and the rule is parked: there is no moment to ring for
    assert (done, scene.ran) == (1, ["a"])
    assert named_in(caplog, "odd")
    assert scene.editor.ensure_armed().rings_at is None


def test_an_item_due_later_than_a_rule_can_ring_parks_the_rule(scene: Scene) -> None:
    scene.table.put("odd", but(queued=text("5000-01-01T00:00:00.000Z")))
    assert scene.run().rings_at is None
    assert scene.editor.status().rings_at is None
    scene.editor.add("note", due=SOON, id="a")
    assert scene.editor.status().rings_at
    assert scene.ran == []


RUNS: dict[str, tuple[Mapping[str, Any], Status]] = {
    "a payload that is no JSON": (but(payload=text("{oops")), Status.FAILED),
    "an action of another version": (but(action=text("later")), Status.FAILED),
    "more attempts than there are": (but(status=text("running"), attempt=number(99)), Status.DONE),
    "more attempts than there are, the last begun": (
        but(status=text("running"), attempt=number(99), begun=number(99)),
        Status.FAILED,
    ),
}


@pytest.mark.parametrize(("item", "end"), RUNS.values(), ids=RUNS.keys())
def test_an_item_with_an_odd_part_gets_to_its_end(item: Mapping[str, Any], end: Status, scene: Scene) -> None:
    # Given a task with a part that is wrong, but not with what makes it a task
    scene.editor.add("note", due=SOON, id="a")
    scene.table.put("odd", item)
    scene.clock.advance(2 * SOON)

    # When a run comes to it
    scene.run()

    # Then it is done, or failed with a reason; and nothing is left to ring for
    odd = scene.editor.get("odd")
    assert odd.status is end
    assert (odd.failure is not None) is (end is Status.FAILED)
    assert scene.editor.get("a").status is Status.DONE
    assert scene.editor.status().rings_at is None


def test_malformed_history_is_left_out_of_listings_and_named(
    caplog: pytest.LogCaptureFixture, scene: Scene
) -> None:
    scene.editor.add("note", due=SOON, id="a")
    scene.clock.advance(2 * SOON)
    scene.run()
    done, failed = (text(f"{kind}#2026-11-21T12:00:00.000Z") for kind in ("done", "failed"))
    scene.table.put("odd-1", {"status": text("done"), "past": done})
    scene.table.put("odd-2", {**without("queued"), "status": text("done"), "rev": text("x"), "past": done})
    scene.table.put("odd-3", {"status": text("failed"), "past": failed})

    assert [task.id for task in scene.editor.list(status=["done", "failed"]).tasks] == ["a"]
    assert scene.editor.status().failed == 1  # an item in the index counts, whatever it is
    for id in ("odd-1", "odd-2", "odd-3"):
        assert named_in(caplog, id)
        with pytest.raises(DuebellError, match=id):
            scene.editor.get(id)


def test_a_queue_that_outlived_its_record_is_found_in_all_of_its_lanes(scene: Scene) -> None:
    # Given tasks in lanes beyond those of the settings, and no record
    scene.table.delete_arming()
    scene.table.put("far", ITEM, lane=9)
    scene.table.put("near", ITEM, lane=0)

    # When it is made anew
    assert scene.newcomer.status().lanes == 10
    scene.clock.advance(2 * SOON)
    scene.run()

    # Then both run
    assert sorted(scene.ran) == ["far", "near"]
    assert scene.newcomer.status().healthy


# A newer version writes more than this one knows: what it wrote survives whatever this one changes.


NEWER = {"urgency": number(7), "labels": {"L": [text("a")]}, "owner": {"M": {"team": text("red")}}}

CHANGES: dict[str, Callable[[Editor], object]] = {
    "moved": lambda editor: editor.move("new", due=2 * SOON),
    "cancelled": lambda editor: editor.cancel("new"),
    "paused and resumed": lambda editor: (editor.pause("new"), editor.resume("new")),
    "replaced": lambda editor: editor.add("note", due=SOON, id="new", if_exists="replace"),
}


def surviving(table: Table) -> dict[str, object]:
    item = table.item("new")
    return {name: item.get(name) for name in NEWER}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_newer_version_wrote_survives_an_editors_change(
    change: Callable[[Editor], object], scene: Scene
) -> None:
    scene.table.put("new", {**ITEM, **NEWER})
    change(scene.editor)
    assert surviving(scene.table) == NEWER


@pytest.mark.parametrize("action", ["note", "unknown", "fails"])
def test_what_a_newer_version_wrote_survives_a_run(action: str, scene: Scene) -> None:
    @scene.worker.action("fails", attempts=2)
    def fails() -> None:
        raise ValueError

    scene.table.put("new", {**ITEM, **NEWER, "action": text(action)})
    scene.clock.advance(2 * SOON)
    scene.run()
    assert surviving(scene.table) == NEWER
    assert scene.editor.get("new").attempt == 1
    if action == "fails":  # and a failed one that is tried again
        scene.clock.advance(2 * SOON)
        scene.run()
        scene.editor.retry("new")
        assert surviving(scene.table) == NEWER
