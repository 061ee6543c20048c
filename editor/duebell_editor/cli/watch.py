"""`duebell watch`: the scheduler's status and the next tasks, kept up to date on the terminal."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from time import sleep
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from duebell_editor.library.editor import Editor
from duebell_editor.listing.listing import QUICKLY, Page
from duebell_editor.status.health import SchedulerStatus
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import render

from .context import Context, option
from .options import filters_from, with_filters
from .output import cell, console, local, plain
from .program import examples
from .show import status_facts
from .tasks import tasks_table

app = typer.Typer()

#: Tasks that are read; those that do not fit on the terminal are counted.
_TASKS = 100


@app.command(epilog=examples("watch --prefix sale- --status failed --every 10"))
@with_filters("status", "action", "prefix")
def watch(
    context: Context,
    *,
    every: Annotated[float, option("--every", "SECONDS", "How often to look.", min=0.5)] = 2.0,
    **given: Any,
) -> None:
    """It ends with Ctrl-C. Each look costs a dozen reads.

    In a pipe it prints a line for every change, with tabs between the time, the next ring of the rule, the
    next task's id and its time, and the verdict.
    """
    editor = context.editor()
    find = partial(editor.list, **filters_from(given), limit=_TASKS, most_keys=QUICKLY)
    looks = _looks(context, editor, find, every)
    out = console()
    with contextlib.suppress(KeyboardInterrupt), _ended_in_order():
        if out.is_terminal:
            # Drawn four times a second, so that it follows the terminal's size.
            with Live(Text("looking…"), console=out, screen=True, refresh_per_second=4) as live:
                for look in looks:
                    live.update(look, refresh=True)
        else:
            before = ""
            for look in looks:
                line = look.line if isinstance(look, _View) else f"\t\t\t{plain(str(look))}"
                if line != before:
                    print(f"{render(context.now())}\t{line}", flush=True)
                before = line


def _looks(
    context: Context, editor: Editor, find: Callable[[], Page], every: float
) -> Iterator["_View | Text"]:
    """Poll for ever. When AWS does not answer, the last view stays, with the error below."""
    view: _View | None = None
    while True:
        try:
            view = _View(context.now(), editor.status(), find(), context.out.in_full)
        except AwsUnavailable as error:
            if view is None:
                yield Text(plain(f"AWS does not answer, trying again: {error}"))
            else:
                view = replace(view, trouble=str(error))
        if view is not None:
            yield view
        sleep(every)


@dataclass(frozen=True)
class _View:
    """The state at one moment, laid out for the terminal's size each time it is drawn."""

    at: datetime
    status: SchedulerStatus
    page: Page
    in_full: Callable[[str], str] = str
    trouble: str = ""

    @property
    def line(self) -> str:
        """The next ring, the next task, and whether all is well, with a tab between."""
        status, tasks = self.status, self.page.tasks
        rings = render(status.rings_at) if status.rings_at else "parked"
        id, looked_at = (cell(tasks[0].id), render(tasks[0].queued or tasks[0].due)) if tasks else ("", "")
        health = "healthy" if status.healthy else plain("; ".join(one.what for one in status.problems))
        if self.trouble:
            health = f"AWS does not answer: {plain(self.trouble)}"
        return "\t".join((rings, id, looked_at, health))

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or out.height
        head: list[RenderableType] = [
            Text(f"as of {local(self.at)}", style="dim"),
            status_facts(self.status, self.at, self.in_full),
        ]
        below = [Text(plain(f"trying again: {self.trouble}"), style="red")] if self.trouble else []
        used = sum(len(out.render_lines(part, options.update(height=None))) for part in (*head, *below))
        yield from head
        yield from self._tasks(out, options, room=max(0, height - used - 1))
        yield from below

    def _tasks(self, out: Console, options: ConsoleOptions, room: int) -> Iterator[RenderableType]:
        """The tasks that there is room for, and the number of others."""
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


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that the terminal is restored."""

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
