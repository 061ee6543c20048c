"""`duebell watch`: how the scheduler stands and what comes next, on the terminal, kept up to date."""

import time
from collections.abc import Callable
from datetime import datetime

from rich.console import Group
from rich.live import Live

from duebell_editor import AwsUnavailable, Editor

from .output import console, status_facts, tasks_table

__all__ = ["watch"]

#: How many of the tasks to come are shown.
_TASKS = 20


def watch(
    editor: Editor,
    *,
    every: float,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show it until Ctrl-C. A look costs a dozen reads, and goes on when AWS does not answer for a while."""
    with Live(console=console(), screen=console().is_terminal, auto_refresh=False) as live:
        while True:
            try:
                status, page = editor.status(), editor.list(limit=_TASKS)
            except AwsUnavailable as error:
                live.update(f"AWS does not answer, trying again: {error}", refresh=True)
            else:
                now = clock()
                live.update(Group(status_facts(status, now), tasks_table(page.tasks, now)), refresh=True)
            sleep(every)
