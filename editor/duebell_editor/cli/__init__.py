"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import add, change, failures, queue, serve, show, watch
from . import list as list_
from .program import app, everywhere, run

__all__ = ["app", "everywhere", "run"]

for part in (add.app, list_.app, failures.app, show.app, watch.app, change.app, queue.app, serve.app):
    app.add_typer(everywhere(part))
