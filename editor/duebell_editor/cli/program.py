"""The program: its options, the context of its commands, and its exit status."""

import contextlib
import inspect
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo, TyperInfo

from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction

from .context import Context
from .errors import HELP, Exit, exit_of
from .options import EndpointUrl, Name, Profile, Region, Verbose, json_option, with_options

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Command(TyperCommand):
    """A command that reports wrong usage as JSON if --json is anywhere among its arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _asking_for_json(ctx, args):
            return super().parse_args(ctx, args)


class _Group(TyperGroup):
    """A group that reports an unknown command as JSON if --json is anywhere among its arguments."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _asking_for_json(ctx, args):
            return super().resolve_command(ctx, args)


@contextlib.contextmanager
def _asking_for_json(ctx: Any, arguments: list[str]) -> Any:
    """On an error, look for --json among the arguments: typer stops at the first wrong one."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments[:]
    try:
        yield
    except Exception:
        Context.of(ctx).out.as_json = "--json" in options
        raise


app = typer.Typer(
    name="duebell",
    cls=_Group,
    help="Run things later on AWS: look at the queue of tasks and change it.",
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(*, is_asked: bool) -> None:
    if not is_asked:
        return
    try:
        print(f"duebell {version('duebell')}")
    except PackageNotFoundError:  # run from its sources
        print("duebell, not installed as a package")
    raise typer.Exit


@app.callback()
def options(
    call: typer.Context,
    *,
    name: Name = None,
    profile: Profile = None,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
    verbose: Verbose = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version, and end."),
    ] = False,
) -> None:
    """Run things later on AWS: look at the queue of tasks and change it."""
    if call.invoked_subcommand is None:
        print(call.get_help(), file=sys.stderr)
        raise typer.Exit(Exit.USAGE)


def with_json(help: str = "JSON for programs.") -> Callable[[_Function], _Function]:
    """Give a command the option --json, which sets the format of its context's output."""

    def mark(command: _Function) -> _Function:
        vars(command)["json_help"] = help
        return command

    return mark


def everywhere(app: typer.Typer) -> typer.Typer:
    """Give each command of this app its Context, and the options that every command has.

    A group that does something by itself is a command, too.
    """
    group = app.registered_callback
    commands: list[CommandInfo | TyperInfo] = [*app.registered_commands, *([group] if group else [])]
    for command in commands:
        if command.callback is not None:
            command.callback = _with_context(command.callback)
            if isinstance(command, CommandInfo):
                command.cls = _Command
    return app


#: The options that every command has; they can be given before it or after it.
_OPTIONS: dict[str, Any] = {
    "name": Name,
    "profile": Profile,
    "region": Region,
    "endpoint_url": EndpointUrl,
    "verbose": Verbose,
}


def _with_context(command: Callable[..., Any]) -> Callable[..., Any]:
    options = dict(_OPTIONS)
    if help := vars(command).get("json_help"):
        options = {"as_json": Annotated[bool, json_option(help)], **options}
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.annotation is not Context]
    of_context = [name for name, one in signature.parameters.items() if one.annotation is Context]

    @wraps(command)
    def with_context(call: typer.Context, **given: Any) -> Any:
        context = Context.of(call)
        context.call = call
        rest = {name: value for name, value in given.items() if name not in options}
        return command(**rest, **dict.fromkeys(of_context, context))

    call = inspect.Parameter("call", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    vars(with_context)["__signature__"] = signature.replace(parameters=[call, *own])
    return with_options(with_context, options)


def run(app: typer.Typer) -> NoReturn:
    """Run the command that the process was called with, and exit with one of the statuses of `Exit`.

    Errors are printed in one line, without a traceback. When the reader of the output goes away, as in
    `duebell list | head`, the command ends quietly.
    """
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal cannot show are escaped: printing must not fail after a change.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    context = Context()
    try:
        with _warning_in(context):
            status = app(prog_name=Path(sys.argv[0]).name, standalone_mode=False, obj=context)
        sys.stdout.flush()
    except BrokenPipeError:
        status = Exit.DONE
    except SystemExit as error:  # click's end when nobody reads on
        status = Exit.DONE if isinstance(error.__context__, BrokenPipeError) else error.code
    except typer.Abort as error:  # a question that was not answered with yes
        is_interrupted = isinstance(error.__context__, KeyboardInterrupt)
        status = Exit.INTERRUPTED if is_interrupted else Exit.FAILURE
        print("nothing was done", file=sys.stderr)
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 (every error is printed in one line)
        with contextlib.suppress(OSError):
            if context.is_verbose:
                traceback.print_exc()
            context.print_error(error)
        status = exit_of(error)
    _drop_unwritable_output()
    sys.exit(int(status) if isinstance(status, int) else Exit.DONE)


#: Warnings that are printed as the command's own.
_TOLD = (UnknownAction, DoubtfulPayload)


@contextlib.contextmanager
def _warning_in(context: Context) -> Iterator[None]:
    """Print each warning of the library as one of the command's own."""
    with warnings.catch_warnings():
        pythons = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, _TOLD):
                context.out.warn(str(message))
            else:
                pythons(message, category, *place, **more)

        warnings.showwarning = show
        for category in _TOLD:
            warnings.simplefilter("default", category)
        yield


def _open_missing_streams() -> None:
    """Open the null device for standard streams that are closed, as by `>&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 (as long as the process is)


def _drop_unwritable_output() -> None:
    """Drop buffered output that cannot be written, or the interpreter would report an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
