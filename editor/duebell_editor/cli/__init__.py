"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import add, change, queue, show, tasks, watch, worker
from .program import app, everywhere, run

__all__ = ["app", "everywhere", "run"]

for part in (add, tasks, show, watch, change, queue, worker):
    app.add_typer(everywhere(part.app))
