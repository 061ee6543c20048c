"""The call of a command: its account, clock and output. Also functions that make options."""

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import typer

from duebell_shared.instants import utc_now

from .errors import WrongUsage, describe, describe_as_json
from .output import Output

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor

    from .account import Account


class Context(typer.Context):
    """A call of a command. The program and its command share their output."""

    @property
    def out(self) -> Output:
        """The output of the program."""
        return self.ensure_object(Output)

    @property
    def chosen_name(self) -> str | None:
        """The name of the scheduler, by --name or DUEBELL_NAME."""
        return self.out.account.get("name") or os.environ.get("DUEBELL_NAME") or None

    @cached_property
    def account(self) -> "Account":
        """The account and the scheduler that are chosen."""
        from .account import Account  # noqa: PLC0415 (the AWS SDK is slow to import)

        return Account(**{**self.out.account, "name": self.chosen_name})

    def editor(self, *, by: str | None = "cli") -> "Editor":
        """The editor of the queue: see `Account.editor`."""
        return self.account.editor(by=by)

    def now(self) -> datetime:
        """The wall clock."""
        return utc_now()

    def answer(self, document: Any) -> None:
        """Print the answer of the command, as JSON or for people."""
        self.out.answer(document, self.now())

    def confirm(self, question: str) -> None:
        """Ask a person; abort the command unless the answer is yes. Raises WrongUsage in a script."""
        if not self.out.can_ask:
            raise WrongUsage(f"{question}: give --yes to do it")
        with contextlib.redirect_stdout(sys.stderr):  # `err=True` leaves a space on standard output
            typer.confirm(f"{question}. Do it?", abort=True)

    def option_of(self, field: str) -> str:
        """The command line's name for a field of the library: `--max-runs` of max_runs, `ID` of id."""
        if field == "due" and self.params.get("due") is None and self.params.get("in_") is not None:
            field = "in_"
        for parameter in self.command.params:
            if parameter.name == field:
                is_argument = parameter.param_type_name == "argument"
                return str(parameter.metavar or field if is_argument else parameter.opts[0])
        return field


def print_error(out: Output, error: BaseException) -> None:
    """Print the error on standard error, in one line or as JSON."""
    line = out.in_full(describe(error, out.option_of, is_verbose=out.is_verbose))
    out.note(f"error: {line}", describe_as_json(error, line))


def option(name: str, metavar: str, help: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=help, **more)


def flag(name: str, help: str, *more: str) -> Any:
    """An option without a value; `more` are its other names."""
    return typer.Option(name, *more, help=help)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(command: _Function, options: Mapping[str, Any]) -> _Function:
    """Give a command these options by their names, in place of its `**given`; flags are off by default."""
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=option,
            default=False if get_args(option)[0] is bool else None,
        )
        for name, option in options.items()
    ]
    vars(command)["__signature__"] = signature.replace(parameters=[*own, *added])
    return command
