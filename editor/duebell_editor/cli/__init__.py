"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import changing, moving, serving
from .commands import app
from .running import run

__all__ = ["app", "run"]

for part in (changing, moving, serving):
    app.add_typer(part.app)
