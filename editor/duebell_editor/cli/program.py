"""The program: its options, the context of its commands, and its exit status."""

import contextlib
import difflib
import functools
import gc
import importlib
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from duebell_shared.quoting import quoted
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction

from .context import Context, print_error
from .errors import HELP, Exit, UsageError, exit_of
from .output import Output

#: The modules of the commands about tasks, and of those about the stack.
_TASKS, _STACK = "duebell_editor.cli", "duebell_infra"

#: The commands by group: the module that holds each, and its summary of at most 60 characters. The module is
#: imported when one of its commands is called.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Change tasks": {
        "add": (f"{_TASKS}.add", "Add a task, or many from a file."),
        **{verb.replace("_", "-"): (f"{_TASKS}.change", verb.rules.means) for verb in Verb},
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
    """The commands that a module holds, each with its summary."""
    root = typer.Typer(rich_markup_mode=None)
    app = importlib.import_module(module).app
    for command in app.registered_commands:
        command.cls = _Command
    root.add_typer(app)
    found = typer.main.get_group(root).commands
    for name, command in found.items():
        command.help = "\n\n".join(filter(None, [_COMMANDS[name][1], command.help]))
    return found


class _Checks:
    """The checks of a parameter's value. A text or a default is not checked: it needs no check.

    Problem: typer checks with pydantic. Importing pydantic takes a quarter of the time of `duebell list`.
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
    """A command that has the options of the program, too."""

    context_class = Context

    def get_params(self, ctx: Any) -> list[Any]:
        everywhere = [one for one in ctx.find_root().command.params if one.name in EVERYWHERE]
        return _checked_by_need([*super().get_params(ctx), *everywhere])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            status = getattr(error, "option_name", "").removeprefix("--")
            if status in {*Status} and "--status" in {name for one in self.params for name in one.opts}:
                vars(error)["possibilities"] = [f"--status {status}"]
            raise

    def invoke(self, ctx: Any) -> Any:
        ctx.out.option_of = ctx.option_of
        gc.freeze()  # Python would look for garbage in all modules, at exit too: a fifth of a short command
        return super().invoke(ctx)


class _Group(TyperGroup):
    """The commands of GROUPS."""

    context_class = Context

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
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            near = [_SYNONYMS[name]] if name in _SYNONYMS else difflib.get_close_matches(name, _COMMANDS)
            meant = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {quoted(name)}.{meant}")
        return super().resolve_command(ctx, args)


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
    if is_asked:
        from importlib.metadata import version  # noqa: PLC0415 (slow to import)

        print(f"duebell {version('duebell')}")
        raise typer.Exit


def _set_json(call: Context, *, is_asked: bool) -> bool:
    call.out.as_json |= is_asked
    return is_asked


def _be_verbose(call: Context, *, is_asked: bool) -> bool:
    """Print tracebacks, log lines, and each call to AWS that is tried again, on standard error."""
    if is_asked:
        call.out.is_verbose = True
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s %(fields)s", defaults={"fields": ""}))
        logging.basicConfig(handlers=[handler])
        logging.getLogger("duebell").setLevel(logging.DEBUG)
        logging.getLogger("botocore.retries").setLevel(logging.DEBUG)
    return is_asked


def _choose(call: Context, parameter: typer.CallbackParam, value: str | None) -> str | None:
    """Choose the account or the scheduler. An option after the command wins over one before it."""
    if value == "":  # such as of a variable that is not set: it would mean the default
        raise typer.BadParameter("must not be empty: leave it out")
    if value is not None:
        call.out.account[str(parameter.name)] = value
    return value


def _everywhere(name: str, *more: str, **settings: Any) -> Any:
    """An option that every command has; it can be given before the command or after it."""
    return typer.Option(name, *more, expose_value=False, **settings)


#: The names of these options.
EVERYWHERE = ("name", "profile", "region", "endpoint_url", "as_json", "verbose")

_NAME = "The scheduler's name, which finds table, rule and function; `local` is that of `duebell local`"
_JSON = "Answers and errors as JSON, for programs."


@app.callback()
def program(
    call: Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end."),
    ] = False,
    name: Annotated[
        str | None, _everywhere("--name", metavar="NAME", callback=_choose, help=f"{_NAME}. [DUEBELL_NAME]")
    ] = None,
    profile: Annotated[
        str | None, _everywhere("--profile", metavar="NAME", callback=_choose, help="The AWS profile.")
    ] = None,
    region: Annotated[
        str | None, _everywhere("--region", metavar="REGION", callback=_choose, help="The AWS region.")
    ] = None,
    endpoint_url: Annotated[
        str | None,
        _everywhere("--endpoint-url", metavar="URL", callback=_choose, help="The address of AWS."),
    ] = None,
    as_json: Annotated[bool, _everywhere("--json", callback=_set_json, is_eager=True, help=_JSON)] = False,
    verbose: Annotated[
        bool, _everywhere("--verbose", "-v", callback=_be_verbose, help="Say more about errors.")
    ] = False,
) -> None:
    """Run things later on AWS: look at the queue of tasks and change it."""
    del version, name, profile, region, endpoint_url, as_json, verbose  # callbacks have read them
    if call.invoked_subcommand is None:
        print(call.get_help(), file=sys.stderr)
        raise typer.Exit(Exit.USAGE)


def run() -> NoReturn:
    """Run the command that the process was called with, and exit with one of the statuses of `Exit`.

    Errors are printed in one line, without a traceback. When the reader of the output goes away, as in
    `duebell list | head`, the command ends quietly.
    """
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal cannot show are escaped: printing must not fail after a change.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    out = Output()
    try:
        with _warning_by(out):
            status = app(prog_name=Path(sys.argv[0]).name, standalone_mode=False, obj=out)
        sys.stdout.flush()
    except BrokenPipeError:
        status = _nobody_reads()
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        status = _nobody_reads()  # click ends so then
    except typer.Abort as error:  # a question that was not answered with yes
        is_interrupted = isinstance(error.__context__, KeyboardInterrupt)
        status = Exit.INTERRUPTED if is_interrupted else Exit.FAILURE
        print("nothing was done", file=sys.stderr)
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 (every error is printed in one line)
        if out.is_verbose:
            traceback.print_exc()
        print_error(out, error)
        status = exit_of(error)
    sys.exit(int(status) if isinstance(status, int) else Exit.DONE)


@contextlib.contextmanager
def _warning_by(out: Output) -> Iterator[None]:
    """Print each warning as one of the command's own."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: out.warn(str(message))
        for category in (UnknownAction, DoubtfulPayload):
            warnings.simplefilter("default", category)
        yield


def _nobody_reads() -> Exit:
    """Drop the rest of the output, or the interpreter would report an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return Exit.DONE
