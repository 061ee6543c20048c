"""What an error says, in one line, to people and to programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from duebell_shared.errors import DuebellError

from .exits import is_usage
from .text import in_options, plain

__all__ = ["complain", "error_json", "error_line", "wants_json"]


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a program reads what this command line says, as far as can be told before it is understood."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def error_line(error: BaseException, arguments: Sequence[str] = ()) -> str:
    """What went wrong and the way out, in one line that no terminal obeys."""
    return plain(" ".join(_words(error, arguments).split("\n")))


def error_json(error: BaseException, arguments: Sequence[str] = ()) -> str:
    """The same for programs, with the field and the task that it is about, if it is about one."""
    about = {
        name: getattr(error, name)
        for name in ("field", "id")
        if isinstance(error, DuebellError) and hasattr(error, name)
    }
    return json.dumps({"error": {"type": _kind(error), "detail": error_line(error, arguments), **about}})


def _words(error: BaseException, arguments: Sequence[str]) -> str:
    if is_usage(error):
        return _usage(error)
    match error:
        case DuebellError():
            return in_options(error, arguments)
        case ProfileNotFound():
            return f"{error}: see `aws configure list-profiles`"
        case BotoCoreError() | ClientError():
            return f"AWS: {error}"
        case OSError() if error.strerror:
            return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    more = "" if "--verbose" in arguments or "-v" in arguments else " (--verbose shows where)"
    return f"unexpected, {type(error).__name__}: {error}{more}"


def _usage(error: Any) -> str:
    """typer's words in our form; our own have no parameter, and say the way out themselves."""
    if isinstance(error, typer.BadParameter) and error.param is None and error.param_hint is None:
        return str(error.message)
    message = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx else "duebell"
    message = message.replace("Input should be", "it must be").replace("Value error, ", "")
    return f"{message[:1].lower()}{message[1:]}{' -' if message.endswith('?') else ';'} see `{path} --help`"


def _kind(error: BaseException) -> str:
    """`task-not-found` of TaskNotFound, as the HTTP editor's problem documents have it."""
    if is_usage(error):
        return "usage"
    if isinstance(error, DuebellError):
        return error.kind
    if isinstance(error, BotoCoreError | ClientError):
        return "aws-error"
    return "io-error" if isinstance(error, OSError) else "unexpected"


def complain(error: BaseException) -> None:
    """Say on standard error what went wrong."""
    arguments = sys.argv[1:]
    text = error_json(error, arguments) if wants_json(arguments) else f"error: {error_line(error, arguments)}"
    print(text, file=sys.stderr)
