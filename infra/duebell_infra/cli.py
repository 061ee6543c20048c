"""The program `duebell`. Tells what to install where its libraries are missing."""

import sys
from importlib.util import find_spec
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that `sys.argv` names, and exit."""
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.exit("error: the command line needs typer and rich: pip install 'duebell[cli]'")
    from duebell_editor.cli.program import run  # noqa: PLC0415

    run()
