"""The program `duebell`: the commands about tasks and those about the stack, in one."""

import sys
from importlib.util import find_spec
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that `sys.argv` names, and exit."""
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.exit("error: the command line needs typer and rich: pip install 'duebell[cli]'")
    from duebell_editor import cli as tasks  # noqa: PLC0415

    from . import commands as stack  # noqa: PLC0415

    tasks.app.add_typer(stack.app)
    tasks.run(tasks.app)
