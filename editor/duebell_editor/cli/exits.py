"""Exit statuses that scripts can rely on."""

from enum import IntEnum
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from duebell_shared.errors import (
    AwsError,
    DuebellError,
    InvalidInput,
    NotArmed,
    NotDeployed,
    QueueFull,
    TaskConflict,
    TaskExists,
    TaskNotFound,
    UnreadableTask,
)

__all__ = ["HELP", "Exit", "exit_of", "is_usage"]

#: What typer raises for wrong usage. It has a copy of click of its own or not, by its version.
_USAGE: Any = typer.BadParameter.__mro__[1]


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    AWS = 5
    WRONG = 6
    SOME_FAILED = 7
    INTERRUPTED = 130


_EXITS: dict[type[BaseException], Exit] = {
    InvalidInput: Exit.USAGE,
    ProfileNotFound: Exit.USAGE,
    TaskNotFound: Exit.NOT_FOUND,
    TaskExists: Exit.CONFLICT,
    TaskConflict: Exit.CONFLICT,
    AwsError: Exit.AWS,
    NotDeployed: Exit.AWS,
    NotArmed: Exit.AWS,
    QueueFull: Exit.AWS,
    UnreadableTask: Exit.FAILURE,
    BotoCoreError: Exit.AWS,
    ClientError: Exit.AWS,
}

HELP = """\b
Exit status:
  0    all went well
  1    another failure
  2    wrong usage, or input that cannot be right; nothing was changed
  3    there is no such task
  4    the task exists, its status does not allow it, or it changed meanwhile
  5    AWS does not answer or refuses, nothing is deployed there, or a lane is full
  6    status, doctor, verify: looked, and something is wrong
  7    some of many failed; the others are done
  130  ended by Ctrl-C

Errors are one line on standard error; with --json, one JSON object there.
"""


def exit_of(error: BaseException) -> Exit:
    """The exit status that tells a script what kind of error this is."""
    if is_usage(error):
        return Exit.USAGE
    for one in (error, error.__cause__ if isinstance(error, DuebellError) else None):
        for kind, status in _EXITS.items():
            if isinstance(one, kind):
                return status
    return Exit.FAILURE


def is_usage(error: BaseException) -> bool:
    """Whether it is typer's error for a command line that is wrong."""
    return isinstance(error, _USAGE)
