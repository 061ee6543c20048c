"""Running an app of commands as a program: errors are one line, and the exit status says how it went."""

import logging
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

from duebell_shared.errors import DuebellError

from .text import in_options, plain

__all__ = ["run", "say_more"]

_LOG = logging.getLogger("duebell")


def say_more() -> None:
    """Tell on stderr what is behind an error, and each call to AWS that is tried again."""
    logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stderr)
    _LOG.setLevel(logging.DEBUG)
    logging.getLogger("botocore.retries").setLevel(logging.DEBUG)


def run(app: typer.Typer) -> NoReturn:
    """Run the command that `sys.argv` names, and exit.

    0 done · 1 a DuebellError, in one line on stderr, or the command's own "no" · 2 wrong usage ·
    130 interrupted. When whoever reads the output goes away (`duebell list | head`), it ends quietly.
    """
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except DuebellError as error:
        _LOG.debug("the error, and what led to it:", exc_info=True)
        print("error:", plain(in_options(error)), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # What is still buffered has nowhere to go; the interpreter would complain of it at exit.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(0)
