"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import moving
from .commands import app
from .running import run

__all__ = ["app", "run"]

app.add_typer(moving.app)
