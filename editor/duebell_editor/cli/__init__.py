"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import add, change, environments, failures, limit, queue, serve, show, watch, worker
from . import list as list_
from .program import app, everywhere, run

__all__ = ["app", "everywhere", "run"]

for part in (add, list_, failures, show, watch, change, queue, worker, limit, environments, serve):
    app.add_typer(everywhere(part.app))
