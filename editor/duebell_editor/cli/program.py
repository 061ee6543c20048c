"""The program: its options, the context of its commands, and its exit status."""

import contextlib
import difflib
import functools
import gc
import importlib
import inspect
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo, TyperInfo

from duebell_shared.quoting import quoted
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction

from .context import OPTIONS, Context, json_option, with_options
from .errors import HELP, Exit, UsageError, exit_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


#: The modules of the commands about tasks, and of those about the stack.
_TASKS, _STACK = "duebell_editor.cli", "duebell_infra"

#: The commands by group: the module that holds each, and its summary of at most 60 characters. The module is
#: imported when one of its commands is called.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Change tasks": {
        "add": (f"{_TASKS}.add", "Add a task, or many from a file."),
        **{verb.replace("_", "-"): (f"{_TASKS}.change", verb.rule.means) for verb in Verb},
        "batch": (f"{_TASKS}.change", "Make, close or show a batch of tasks."),
        "backfill": (f"{_TASKS}.change", "Add past occurrences of a recurring task as tasks."),
    },
    "Look at the queue": {
        "list": (f"{_TASKS}.tasks", "List tasks by time; filter by status, action, tag."),
        "show": (f"{_TASKS}.show", "Show everything about one task."),
        "why": (f"{_TASKS}.show", "Explain why a task waits, or why it started late."),
        "history": (f"{_TASKS}.show", "Show what happened to one task before."),
        "failures": (f"{_TASKS}.tasks", "Group the failed tasks by action and type of error."),
        "changes": (f"{_TASKS}.tasks", "List the changes by editors, with DUEBELL_AUDIT=table."),
        "simulate": (f"{_TASKS}.simulate", "Forecast the queue, as it is and with changes."),
        "preview": (f"{_TASKS}.show", "Explain a schedule, and list its next times."),
        "status": (f"{_TASKS}.show", "Show the state of the scheduler, and its problems."),
        "actions": (f"{_TASKS}.worker", "List the actions of the worker, and their limits."),
        "editor": (f"{_TASKS}.queue", "Serve the HTTP API and its page."),
    },
    "Operate": {
        "doctor": (f"{_TASKS}.show", "Find what is wrong; repair it with --fix."),
        "dead-letters": (f"{_TASKS}.queue", "List, redrive or delete dead letters."),
        "limit": (f"{_TASKS}.worker", "Limit or pause an action."),
        "calendar": (f"{_TASKS}.calendars", "Import, list or show calendars of holidays."),
        "sync": (f"{_TASKS}.worker", "Add, change and cancel recurring tasks as the code declares."),
        "relane": (f"{_TASKS}.queue", "Give the queue more lanes while it is in use."),
        "export": (f"{_TASKS}.queue", "Write every task to standard output, as JSON lines."),
        "import": (f"{_TASKS}.queue", "Add the tasks of an export, except those that are there."),
    },
    "Deploy": {
        "deploy": (f"{_STACK}.commands", "Create or update the stack on AWS."),
        "verify": (f"{_STACK}.commands", "Make each kind of call once, to see that AWS accepts it."),
        "destroy": (f"{_STACK}.commands", "Delete the stack from AWS."),
        "bundle": (f"{_STACK}.commands", "Build the worker's Lambda bundle, a zip file."),
        "template": (f"{_STACK}.commands", "Print the CloudFormation template."),
        "cost": (f"{_STACK}.cost", "Estimate the monthly cost of tasks on AWS, in dollars."),
    },
    "Develop": {
        "local": (f"{_STACK}.local.commands", "Run the whole stack on this machine, without AWS."),
        "run": (f"{_STACK}.commands", "Run the due tasks once, in this process."),
        "worker": (f"{_STACK}.local.worker_command", "Run due tasks in this process until it is stopped."),
    },
}
_COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}

#: Words that users of other tools try, and the command for them.
_SYNONYMS = {"delete": "cancel", "explain": "why", "failed": "failures", "logs": "history", "rerun": "retry"}


def examples(*lines: str, more: str = "") -> str:
    """The end of a command's help: calls of it, each in a line, and `more` in lines of its own."""
    calls = "".join(f"  duebell {line}\n" for line in lines)
    return f"\b\nExample{'s'[: len(lines) - 1]}:\n{calls}" + (f"\n{more}" if more else "")


@functools.cache
def _commands_of(module: str) -> Mapping[str, Any]:
    """The commands that a module holds: each with its summary, and the options that every command has."""
    root = typer.Typer(rich_markup_mode=None)
    root.add_typer(everywhere(importlib.import_module(module).app))
    found = typer.main.get_group(root).commands
    for name, command in found.items():
        command.help = "\n\n".join(filter(None, [_COMMANDS[name][1], command.help]))
    return found


class _Checks:
    """The checks of a parameter's value, without those that texts and defaults do not need.

    Problem: typer checks with pydantic, and its import takes a quarter of the time of `duebell list`.
    """

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        of = param.type_descriptor
        is_text = isinstance(value, str) and str in {of.annotation, of.parameter_info.parser}
        return value if is_text or type(value) is int else self._typers().coerce(value, param=param, ctx=ctx)


def _checked_by_need(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        typers = getattr(type(parameter), "get_runtime_param", None)
        if typers:  # other versions of typer check without pydantic
            parameter.get_runtime_param = functools.partial(_Checks, functools.partial(typers, parameter))
    return parameters


class _Command(TyperCommand):
    """A command that reports wrong usage as JSON if --json is anywhere among its arguments."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _checked_by_need(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _asking_for_json(ctx, args):
            try:
                return super().parse_args(ctx, args)
            except UsageError as error:
                status = getattr(error, "option_name", "").removeprefix("--")
                if status in {*Status} and "--status" in {name for one in self.params for name in one.opts}:
                    vars(error)["possibilities"] = [f"--status {status}"]
                raise


class _Group(TyperGroup):
    """The commands of GROUPS. It reports an unknown one as JSON if --json is anywhere among its arguments."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _checked_by_need(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        return _commands_of(_COMMANDS[cmd_name][0])[cmd_name] if cmd_name in _COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _asking_for_json(ctx, args):
            name = args[0]
            if name not in _COMMANDS and not name.startswith("-"):
                near = [_SYNONYMS[name]] if name in _SYNONYMS else difflib.get_close_matches(name, _COMMANDS)
                meant = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
                ctx.fail(f"No such command {quoted(name)}.{meant}")
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
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(*, is_asked: bool) -> None:
    if not is_asked:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow to import)

    try:
        print(f"duebell {version('duebell')}")
    except PackageNotFoundError:  # run from its sources
        print("duebell, not installed as a package")
    raise typer.Exit


def _program(
    call: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end."),
    ] = False,
    **given: Any,
) -> None:
    """Run things later on AWS: look at the queue of tasks and change it."""
    del version, given  # callbacks have read them
    if call.invoked_subcommand is None:
        print(call.get_help(), file=sys.stderr)
        raise typer.Exit(Exit.USAGE)


app.callback()(with_options(_program, OPTIONS))


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


def _with_context(command: Callable[..., Any]) -> Callable[..., Any]:
    options = OPTIONS
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
        gc.freeze()  # Python would look for garbage in all modules, at exit too: a fifth of a short command
        return command(**rest, **dict.fromkeys(of_context, context))

    call = inspect.Parameter("call", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    vars(with_context)["__signature__"] = signature.replace(parameters=[call, *own])
    return with_options(with_context, options)


def run() -> NoReturn:
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
