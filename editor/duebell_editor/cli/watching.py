"""`duebell watch`: how the scheduler stands and what comes next, on the terminal, kept up to date."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from types import FrameType

import msgspec
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from duebell_editor import AwsUnavailable, Editor, SchedulerStatus
from duebell_shared.instants import render
from duebell_shared.task import Status, Task

from ..filtering import make_filter
from ..listing import Page, search
from .output import status_facts
from .tables import tasks_table
from .terminal import console
from .text import local, plain

__all__ = ["Watched", "watch"]

#: Tasks that are read; what does not fit on the terminal is counted.
_TASKS = 100


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks are shown, as `list` has it."""

    status: Iterable[Status] | None = None
    action: str | None = None
    prefix: str = ""


@dataclass(frozen=True)
class _View:
    """What was seen last, laid out anew for the terminal's size each time it is drawn."""

    at: datetime
    status: SchedulerStatus
    page: Page
    trouble: str = ""

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or out.height
        head: list[RenderableType] = [
            Text(f"as of {local(self.at)}", style="dim"),
            status_facts(self.status, self.at),
        ]
        below = [Text(plain(f"trying again: {self.trouble}"), style="red")] if self.trouble else []
        used = sum(len(out.render_lines(part, options.update(height=None))) for part in (*head, *below))
        room = max(0, height - used - 1)
        yield Group(*head)
        yield from self._tasks(out, options, room)
        yield from below

    def _tasks(self, out: Console, options: ConsoleOptions, room: int) -> Iterator[RenderableType]:
        """As many tasks as there is room for, and how many there are besides."""
        tasks = self.page.tasks
        if not tasks:
            yield Text("no tasks")
            return
        for count in range(min(len(tasks), room), 0, -1):
            table = tasks_table(tasks[:count], self.at, options.max_width, encoding=out.encoding)
            lines = len(out.render_lines(table, options.update(height=None)))
            if lines + (count < len(tasks) or self.page.cursor is not None) <= room:
                yield table
                break
        else:
            count = 0
        if count < len(tasks) or self.page.cursor is not None:
            more = "or more " if self.page.cursor else ""
            yield Text(f"and {len(tasks) - count} {more}that are not shown", style="dim")


def watch(
    editor: Editor,
    watched: Watched,
    *,
    every: float,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show it until Ctrl-C. When AWS does not answer, what was seen last stays, with the error below."""
    out = console()
    looks = _looks(editor, watched, every, clock, sleep)
    with contextlib.suppress(KeyboardInterrupt), _ended_in_order():
        if out.is_terminal:
            # Drawn anew four times a second, so that it follows the terminal's size.
            with Live(Text("looking…"), console=out, screen=True, refresh_per_second=4) as live:
                for view in looks:
                    live.update(view, refresh=True)
        else:
            before = ""
            for view in looks:
                line = _line(view) if isinstance(view, _View) else f"\t\t\t{plain(str(view))}"
                if line != before:
                    print(f"{render(clock())}\t{line}", flush=True)
                before = line


def _looks(
    editor: Editor,
    watched: Watched,
    every: float,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> Iterator["_View | Text"]:
    which = make_filter(status=watched.status, action=watched.action, prefix=watched.prefix, limit=_TASKS)
    view: _View | None = None
    while True:
        try:
            view = _View(clock(), editor.status(), search(editor.queue, which))
        except AwsUnavailable as error:
            if view is None:
                yield Text(plain(f"AWS does not answer, trying again: {error}"))
            else:
                view = replace(view, trouble=str(error))
        if view is not None:
            yield view
        sleep(every)


def _line(view: _View) -> str:
    """What is worth a line when it changes: the next ring, the next task, and whether all is well."""
    status, tasks = view.status, view.page.tasks
    rings = render(status.rings_at) if status.rings_at else "parked"
    health = "healthy" if status.healthy else plain("; ".join(one.what for one in status.problems))
    if view.trouble:
        health = f"AWS does not answer: {plain(view.trouble)}"
    return "\t".join((rings, *_next(tasks), health))


def _next(tasks: tuple[Task, ...]) -> tuple[str, str]:
    if not tasks:
        return "", ""
    return tasks[0].id, render(tasks[0].queued or tasks[0].due)


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Have SIGTERM leave through the same doors as everything else, so that the terminal is as it was."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
