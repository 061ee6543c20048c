"""A newer version writes more than this one knows: what it wrote survives whatever this one changes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from duebell import Editor

from .foreign import ITEM, Table, number, text
from .scene import Scene

pytestmark = [pytest.mark.moto, pytest.mark.slow]

SOON = timedelta(minutes=10)

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
