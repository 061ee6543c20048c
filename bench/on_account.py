"""The lateness of a thousand tasks in a real account: added now, read when all of them are over.

(cd bench && duebell --name NAME deploy --actions actions:worker)
python -m bench.on_account add --name NAME --hours 24
python -m bench.on_account report --name NAME
"""

import argparse
import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

import msgspec

from duebell import Editor, NewTask, Status, Task
from duebell_shared.instants import utc_now

from .lateness import Lateness, percentiles

__all__ = ["add", "report"]

_TASKS = 1_000

#: The beginning of the tasks' ids.
_PREFIX = "lateness-"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the tasks by their outcome.

    seconds  by due date and id: the lateness of the task's start, in seconds
    missing  the ids of those that are not done
    early    the ids of those that were started before their due dates
    """

    lateness: Lateness | None
    missing: tuple[str, ...]
    early: tuple[str, ...]
    seconds: dict[str, float]


def add(editor: Editor, *, hours: float, tasks: int = _TASKS, now: datetime | None = None) -> None:
    """Add the tasks, due at random moments of so many hours. A repetition adds none twice."""
    chance, begin = Random(1), now or utc_now()
    dues = [begin + timedelta(hours=hours) * chance.random() for _ in range(tasks)]
    new = [NewTask(action="act", due=due, id=f"{_PREFIX}{number}") for number, due in enumerate(dues)]
    added = editor.add_many(new, if_exists="keep")
    if added.failures:
        raise SystemExit(f"{len(added.failures)} tasks were not added: {added.failures[0].error}")


def report(editor: Editor, *, tasks: int = _TASKS) -> Report:
    """Return the outcome of the tasks, and the lateness of each that is done."""
    done = sorted((task for task in _found(editor) if task.status is Status.DONE), key=lambda task: task.due)
    late = {task: (task.started_at - task.due).total_seconds() for task in done if task.started_at}
    found = {task.id for task in late}
    return Report(
        lateness=percentiles("in an account of AWS", list(late.values())) if late else None,
        missing=tuple(id for number in range(tasks) if (id := f"{_PREFIX}{number}") not in found),
        early=tuple(task.id for task, seconds in late.items() if seconds < 0),
        seconds={f"{task.due:%Y-%m-%dT%H:%M:%S} {task.id}": seconds for task, seconds in late.items()},
    )


def _found(editor: Editor) -> Iterator[Task]:
    cursor = None
    while True:
        page = editor.list(status=list(Status), prefix=_PREFIX, limit=1000, cursor=cursor)
        yield from page.tasks
        if (cursor := page.cursor) is None:
            return


def main() -> None:
    """Add the tasks, or print the report as JSON; exit with 1 if a task is not done, or was started early."""
    parser = argparse.ArgumentParser(prog="python -m bench.on_account")
    parser.add_argument("do", choices=["add", "report"])
    parser.add_argument("--name", required=True)
    parser.add_argument("--hours", type=float, default=24)
    given = parser.parse_args()
    os.environ["DUEBELL_NAME"] = given.name
    editor = Editor.from_env()
    if given.do == "add":
        add(editor, hours=given.hours)
        return
    found = report(editor)
    print(msgspec.json.format(msgspec.json.encode(found)).decode())
    sys.exit(bool(found.missing or found.early))


if __name__ == "__main__":
    main()
