"""Running an app of commands as a program: errors are one line, and the exit status says how it went."""

import contextlib
import io
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import typer

from .complaining import complain
from .exits import Exit, exit_of

__all__ = ["run", "say_more"]

_LOG = logging.getLogger("duebell")


def say_more() -> None:
    """Tell on stderr what is behind an error, and each call to AWS that is tried again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Said("%(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])
    _LOG.setLevel(logging.DEBUG)
    logging.getLogger("botocore.retries").setLevel(logging.DEBUG)


class _Said(logging.Formatter):
    """What a logger said, and the fields of a structured line behind it."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in fields.items())])


def run(app: typer.Typer) -> NoReturn:
    """Run the command that `sys.argv` names, and exit with one of the statuses of `Exit`.

    No error leaves as a traceback. When whoever reads the output goes away (`duebell list | head`), it ends
    quietly.
    """
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show an id shows it as escapes: what was done must not fail when it is told.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(prog_name=Path(sys.argv[0]).name, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        status = Exit.FAILURE
    except typer.Abort as error:  # a question that was not answered with yes
        is_interrupted = isinstance(error.__context__, KeyboardInterrupt)
        status = Exit.INTERRUPTED if is_interrupted else Exit.FAILURE
        print("nothing was done", file=sys.stderr)
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 (whatever it is, it is told in one line)
        with contextlib.suppress(OSError):
            if _LOG.isEnabledFor(logging.DEBUG):
                traceback.print_exc()
            complain(error)
        status = exit_of(error)
    _give_up_what_cannot_be_written()
    sys.exit(int(status) if isinstance(status, int) else Exit.DONE)


def _open_what_is_closed() -> None:
    """Give a command that is started without them (`>&-`) streams that lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 (as long as the process is)


def _give_up_what_cannot_be_written() -> None:
    """What is still buffered may have nowhere to go; the interpreter would complain of it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
