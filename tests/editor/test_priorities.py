"""Priorities of tasks as users give them: stored, changed, listed, exported, refused if they cannot be."""

import json
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidTask, Status
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR = timedelta(hours=1)


def test_a_priority_is_changed_and_taken_away(editor: Editor) -> None:
    task = editor.add("act", due=HOUR, id="a")
    changed = editor.update("a", priority=5)
    assert (changed.priority, changed.queued, changed.due) == (5, task.queued, task.due)
    assert editor.move("a", due=2 * HOUR).priority == 5
    editor.pause("a")
    assert editor.update("a", priority=6).status == "paused"
    assert editor.resume("a").priority == 6
    assert editor.update("a", priority=None).priority == 0
    assert [task.id for task in editor.list().tasks] == ["a"]
    assert editor.cancel("a").priority == 0


@pytest.mark.parametrize("given", [-1, 10, 1.0, True, "9"])
def test_what_is_no_priority_is_refused_before_anything_is_written(scheduler: Scheduler, given: Any) -> None:
    with pytest.raises(InvalidTask, match="priority: must be a whole number, 0 to 9"):
        scheduler.editor.add("act", due=HOUR, priority=given)
    assert scheduler.is_untouched()
    scheduler.editor.add("act", due=HOUR, id="a")
    with pytest.raises(InvalidTask, match="priority: must be a whole number, 0 to 9"):
        scheduler.editor.update("a", priority=given)


@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("latest_first", [False, True])
@pytest.mark.parametrize("prefix", ["", "t"])
def test_tasks_of_one_moment_and_several_priorities_come_once_each(
    editor: Editor, limit: int, latest_first: bool, prefix: str
) -> None:
    editor.add_many(
        {"action": "act", "due": NOON + HOUR, "id": f"t-{n:02}", "priority": n % 4} for n in range(20)
    )
    found, cursor = [], None
    while True:
        page = editor.list(limit=limit, cursor=cursor, latest_first=latest_first, prefix=prefix)
        found += [task.id for task in page.tasks]
        if (cursor := page.cursor) is None:
            break
    assert sorted(found) == [f"t-{n:02}" for n in range(20)]


def test_a_priority_is_exported_and_imported() -> None:
    before, after = Scheduler.start(), Scheduler.start()
    before.editor.add("act", due=HOUR, id="urgent", priority=7)
    before.become(before.editor.add("act", due=HOUR, id="over", priority=3), Status.DONE)
    lines = list(before.editor.export_tasks())
    assert not after.editor.import_tasks(lines).failures
    assert (after.editor.get("urgent").priority, after.editor.get("over").priority) == (7, 3)
    [line] = [line for line in lines if b"urgent" in line]
    with pytest.raises(InvalidTask, match=r"line 1: .*priority"):
        after.editor.import_tasks([json.dumps({**json.loads(line), "priority": 10})])
