"""Errors as the command line prints them: the exit status, and one line in terms of its options."""

from collections.abc import Callable, Iterable
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
    WorkerNotStarted,
)

from .output import plain

#: The base of typer's errors for wrong usage: of click, or of typer's copy of click, by typer's version.
UsageError: Any = typer.BadParameter.__mro__[1]


class WrongUsage(DuebellError):
    """The command line is wrong; the message names its options and what to give instead."""


class Exit(IntEnum):
    """The exit status of a command."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    AWS = 5
    WRONG = 6
    SOME_FAILED = 7
    WORN_OUT = 8
    INTERRUPTED = 130


#: The exit statuses of duebell's own errors by their HTTP status, and of others by their class.
_OF_STATUS = {
    404: Exit.NOT_FOUND, 409: Exit.CONFLICT, 412: Exit.CONFLICT, 422: Exit.USAGE,
    502: Exit.AWS, 503: Exit.AWS, 507: Exit.AWS,
}  # fmt: skip
_OF_CLASS: dict[type[BaseException], Exit] = {
    UsageError: Exit.USAGE,
    WrongUsage: Exit.USAGE,
    ProfileNotFound: Exit.USAGE,
    FileNotFoundError: Exit.USAGE,
    WorkerNotStarted: Exit.WRONG,
    AwsError: Exit.AWS,
    BotoCoreError: Exit.AWS,
    ClientError: Exit.AWS,
}

#: The meanings of the exit statuses.
MEANINGS = {
    Exit.DONE: "success",
    Exit.FAILURE: "another failure, or a question that was not answered with yes",
    Exit.USAGE: "wrong usage or input; nothing was changed",
    Exit.NOT_FOUND: "there is no such task",
    Exit.CONFLICT: "the task exists, its status does not allow it, or it changed meanwhile; "
    "local: the stack runs already",
    Exit.AWS: "AWS does not answer or refuses, nothing is deployed, a lane is full, "
    "or the rule could not be set",
    Exit.WRONG: "status, doctor, actions, sync, verify: something is wrong",
    Exit.SOME_FAILED: "some of many failed, the others are done; run: a task failed; "
    "worker: actions did not end in time",
    Exit.WORN_OUT: "worker: half of its places are lost to actions that run on after their time-out; "
    "start it again",
    Exit.INTERRUPTED: "ended by Ctrl-C",
}

_STATUSES = "\n".join(f"  {status:<5}{MEANINGS[status]}" for status in Exit)

HELP = f"""\b
Exit status:
{_STATUSES}

Errors are one line on standard error; with --json, one JSON object there.
"""


def exit_of(error: BaseException) -> Exit:
    """The exit status for this error, or for the cause of a DuebellError."""
    for one in (error, error.__cause__ if isinstance(error, DuebellError) else None):
        if status := _OF_STATUS.get(getattr(one, "http_status", 0)):
            return status
        for kind, status in _OF_CLASS.items():
            if isinstance(one, kind):
                return status
    return Exit.FAILURE


def kind_of(error: BaseException) -> str:
    """The kind of error, as the HTTP editor's problem documents name it: `task-not-found` of TaskNotFound."""
    match error:
        case WrongUsage() | UsageError():
            return "usage"
        case DuebellError():
            return error.kind
        case BotoCoreError() | ClientError():
            return "aws-error"
        case OSError():
            return "io-error"
    return "unexpected"


def describe(error: BaseException, option_of: Callable[[str], str] = str, *, is_verbose: bool = False) -> str:
    """The error and the way out, in one line without control characters.

    `option_of` names a field of the library as the command line does.
    """
    match error:
        case DuebellError():
            text = words_of(error, option_of)
        case UsageError():
            text = _usage(error)
        case ProfileNotFound():
            text = f"{error}: see `aws configure list-profiles`"
        case BotoCoreError() | ClientError():
            text = f"AWS: {error}"
        case OSError() if error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        case _:
            more = "" if is_verbose else " (--verbose shows where)"
            text = f"unexpected, {type(error).__name__}: {error}{more}"
    return plain(" ".join(text.split("\n")))


def describe_as_json(error: BaseException, detail: str) -> dict[str, Any]:
    """The error for programs, with the field or the task that it is about, if any."""
    about = {
        name: getattr(error, name)
        for name in ("field", "id")
        if isinstance(error, DuebellError) and hasattr(error, name)
    }
    return {"error": {"type": kind_of(error), "detail": detail, **about}}


def words_of(error: DuebellError, option_of: Callable[[str], str] = str) -> str:
    """The message of an error of the library, with the way out in terms of the command line."""
    match error:
        case NotArmed():
            is_there = not isinstance(error.__cause__, NotDeployed)
            return f"{error.what}; `duebell doctor --fix` sets it right" if is_there else error.what
        case InvalidInput():
            return f"{option_of(error.field)}: {error.reason}"
    return str(error)


def failure_fields(failures: Iterable[Any]) -> list[dict[str, str]]:
    """Failures of the library, each with an id and an error, for `Output.report`."""
    return [{"id": one.id, "type": one.error.kind, "detail": plain(words_of(one.error))} for one in failures]


def _usage(error: Any) -> str:
    """typer's message in our form. A BadParameter without a parameter already says the way out."""
    if isinstance(error, typer.BadParameter) and error.param is None and error.param_hint is None:
        return str(error.message)
    message = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")  # pydantic's
    path = error.ctx.command_path if error.ctx else "duebell"
    return f"{message[:1].lower()}{message[1:]}{' -' if message.endswith('?') else ';'} see `{path} --help`"
