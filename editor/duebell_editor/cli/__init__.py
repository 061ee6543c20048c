"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from .commands import app
from .moving import app as moving
from .running import run

__all__ = ["app", "run"]

app.add_typer(moving)
