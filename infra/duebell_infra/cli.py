"""The program `duebell`. Tells what to install where its libraries are missing."""

import gc
import sys
from importlib.util import find_spec
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that `sys.argv` names, and exit."""
    gc.set_threshold(100_000, 20, 20)  # imports make many objects and no garbage
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.exit("error: the command line needs typer and rich: pip install 'duebell[cli]'")
    from duebell_editor.cli.program import run  # noqa: PLC0415

    run()
