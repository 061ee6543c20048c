"""The command line over the library: `app` holds the commands, `run` runs an app as a program does.

Needs typer and rich (`pip install 'duebell[cli]'`).
"""

from . import adding, bulk, changing, commands, listing, moving, serving
from .commands import app
from .everywhere import everywhere
from .running import run

__all__ = ["app", "everywhere", "run"]

for part in (adding.app, listing.app, commands.looking, changing.app, bulk.app, moving.app, serving.app):
    app.add_typer(everywhere(part))
