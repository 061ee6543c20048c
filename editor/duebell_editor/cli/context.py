"""The context of a command, and the options that every command has."""

import contextlib
import inspect
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_args

import typer

from duebell_shared.instants import utc_now

from .errors import describe, describe_as_json
from .output import Output

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor

    from .account import Account


@dataclass
class Context:
    """The account, clock and output of a command. Made at the start; the options fill it in."""

    name: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    is_verbose: bool = False
    out: Output = field(default_factory=Output)
    call: typer.Context | None = None

    @classmethod
    def of(cls, call: typer.Context) -> Self:
        """The context of this call of the program."""
        return call.ensure_object(cls)

    @property
    def chosen_name(self) -> str | None:
        """The name of the scheduler, by --name or DUEBELL_NAME."""
        return self.name or os.environ.get("DUEBELL_NAME") or None

    @cached_property
    def account(self) -> "Account":
        """The account and the scheduler that are chosen."""
        from .account import Account  # noqa: PLC0415 (the AWS SDK is slow to import)

        return Account(
            name=self.chosen_name,
            by_option=self.name is not None,
            profile=self.profile,
            region=self.region,
            endpoint_url=self.endpoint_url,
            warn=self.out.warn,
        )

    def editor(self, *, by: str | None = "cli") -> "Editor":
        """The editor of the queue: see `Account.editor`."""
        return self.account.editor(by=by)

    def now(self) -> datetime:
        """The wall clock."""
        return utc_now()

    def answer(self, document: Any) -> None:
        """Print the answer of the command, as JSON or for people."""
        self.out.answer(document, self.now())

    def be_verbose(self) -> None:
        """Print tracebacks, log lines, and each call to AWS that is tried again, on standard error."""
        self.is_verbose = True
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_WithFields("%(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
        logging.getLogger("duebell").setLevel(logging.DEBUG)
        logging.getLogger("botocore.retries").setLevel(logging.DEBUG)

    def print_error(self, error: BaseException) -> None:
        """Print the error on standard error, in one line or as JSON."""
        line = self.out.in_full(describe(error, self.option_of, is_verbose=self.is_verbose))
        self.out.note(f"error: {line}", describe_as_json(error, line))

    def option_of(self, field: str) -> str:
        """The command line's name for a field of the library: `--max-runs` of max_runs, `ID` of id."""
        if self.call is None:
            return field
        values = self.call.params
        if field == "due" and values.get("due") is None and values.get("in_") is not None:
            field = "in_"
        for parameter in self.call.command.params:
            if parameter.name == field:
                is_argument = parameter.param_type_name == "argument"
                return parameter.metavar or field if is_argument else parameter.opts[0]
        return field

    def given_besides(self, *others: str) -> list[str]:
        """Names of the options and arguments that were given, except these and those of every command."""
        values: Mapping[str, Any] = self.call.params if self.call else {}
        given = (name for name, value in values.items() if value is not None and value is not False)
        return [self.option_of(name) for name in given if name not in {*others, *EVERYWHERE}]


class _WithFields(logging.Formatter):
    """Appends the fields of a structured log line to its message."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in fields.items())])


def profiles(incomplete: str) -> list[str]:
    """The profiles in the AWS SDK's files."""
    import boto3  # noqa: PLC0415 (slow to import)

    with contextlib.suppress(Exception):
        return [name for name in boto3.Session().available_profiles if name.startswith(incomplete)]
    return []


def option(name: str, metavar: str, help: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=help, **more)


def flag(name: str, help: str, *more: str) -> Any:
    """An option without a value; `more` are its other names."""
    return typer.Option(name, *more, help=help)


def _account(name: str, metavar: str, what: str, **more: Any) -> Any:
    """An option that sets a field of the context. Given after the command, it wins over one before it."""

    def keep(call: typer.Context, parameter: typer.CallbackParam, value: str | None) -> str | None:
        if value is not None:
            setattr(Context.of(call), parameter.name or "", value)
            Context.of(call).out.account[name] = value
        return value

    return option(name, metavar, f"{what}, whatever the environment says.", callback=keep, **more)


def _set_json(call: typer.Context, *, is_asked: bool) -> bool:
    Context.of(call).out.as_json |= is_asked
    return is_asked


def _set_verbose(call: typer.Context, *, is_asked: bool) -> bool:
    if is_asked:
        Context.of(call).be_verbose()
    return is_asked


def json_option(help: str) -> Any:
    """The option --json, which sets the format of the context's output."""
    return typer.Option("--json", callback=_set_json, is_eager=True, help=help)


#: The options that every command has; they can be given before it or after it.
OPTIONS: dict[str, Any] = {
    "name": Annotated[
        str | None,
        _account(
            "--name",
            "NAME",
            "The scheduler's name, which finds table, rule and function; `local` is that of `duebell local` "
            "(DUEBELL_NAME)",
        ),
    ],
    "profile": Annotated[
        str | None, _account("--profile", "NAME", "The AWS profile", autocompletion=profiles)
    ],
    "region": Annotated[str | None, _account("--region", "REGION", "The AWS region")],
    "endpoint_url": Annotated[str | None, _account("--endpoint-url", "URL", "The address of AWS")],
    "verbose": Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", callback=_set_verbose, help="Say more about errors, and where they came from."
        ),
    ],
}

#: The names of these options, and that of --json.
EVERYWHERE = (*OPTIONS, "as_json")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(command: _Function, options: Mapping[str, Any]) -> _Function:
    """Give a command these options by their names, in place of its `**given`; flags are off by default."""
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    vars(command)["__signature__"] = signature.replace(
        parameters=[
            *own,
            *(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=option,
                    default=False if get_args(option)[0] is bool else None,
                )
                for name, option in options.items()
            ),
        ]
    )
    return command
