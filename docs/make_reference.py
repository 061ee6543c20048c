"""Writes docs/reference.md from docstrings, and docs/commands.md from the commands: `make reference`."""

import enum
import inspect
import re
from collections.abc import Iterator
from logging import getLevelName
from pathlib import Path
from typing import Any, is_typeddict

import typer

import duebell
import duebell.http
import duebell.testing
from duebell_editor.cli.errors import MEANINGS, exit_of
from duebell_editor.cli.program import GROUPS as GROUPS_OF_COMMANDS
from duebell_editor.cli.program import app
from duebell_editor.library.export import ImportReport
from duebell_editor.library.relane import Relaned
from duebell_editor.status.dead_letters import DeadLetter
from duebell_shared.audit import Change, Changes
from duebell_shared.schedules.schedule import OnHoliday
from duebell_shared.settings import SETTINGS
from duebell_shared.tasks.fields import FIELDS, names_of
from duebell_worker.log import LogLine

PAGE = Path(__file__).with_name("reference.md")

COMMANDS = Path(__file__).with_name("commands.md")

_COMMANDS = """# Commands

All commands with their options. Made by `make reference`; do not edit. [The command line](command-line.md)
explains times, output, errors and the options of every command.
"""

INTRODUCTION = """# Reference

The public names by task, from their docstrings. Made by `make reference`; do not edit. They are imported
from `duebell`, unless the heading names another module.
"""

#: The public names by what they are for.
GROUPS = {
    "Adding and changing tasks": (
        "Editor AsyncEditor NewTask TaskChange IfExists Then Added AddReport AddFailure Selection "
        "ChangeReport ChangeFailure"
    ),
    "Tasks": (
        "Task Status Verb Recurrence Missed Result Occurrence Failure FollowUp Owed Schedule "
        "Members Holidays Calendar make_schedule"
    ),
    "Looking into the queue": (
        "Page Bucket Step PastCounts Snapshot Ended PastTimeline Simulation Forecast "
        "ActionForecast Start Flattening FailureGroup Failures ActionLimit"
    ),
    "Status and doctor": (
        "SchedulerStatus Diagnosis Problem ProblemKind Why WaitCause Event Lateness LastRun LateRing "
        "RestingLane WorkerDescription ActionDescription"
    ),
    "Transactions": "Transaction Reservation TransactionItem",
    "Backfill": "BackfillReport",
    "Declared tasks": "SyncReport SyncStep",
    "Actions and the worker": (
        "Worker Action ArgumentsAction PayloadAction PreparedAction Backoff Retry Snooze Abort "
        "stopping RunReport"
    ),
    "Settings": "Settings Precision History BellKind",
    "Errors": (
        "DuebellError InvalidInput InvalidTask InvalidSchedule InvalidQuery InvalidSettings "
        "InvalidTransaction TaskNotFound TaskConflict TaskExists TaskChanged NotArmed NotDeployed "
        "IndexNotReady QueueFull AwsError AwsRefused AwsUnavailable UnreadableTask "
        "WorkerNotStarted TransactionCancelled ItemRefusal TransactionUnknown"
    ),
    "Warnings": "UnknownAction DoubtfulPayload",
}

#: Classes that only few methods return. Users read their attributes, and import none of them.
RETURNED = (Changes, Change, DeadLetter, ImportReport, Relaned, OnHoliday)

#: The classes whose methods users call; of all others they read the attributes.
CALLED = {
    "Action", "ArgumentsAction", "AsyncEditor", "Backoff", "Editor", "FrozenClock", "InlinePool",
    "MemoryStore", "PayloadAction", "PreparedAction", "Rehearsal", "Reservation", "Schedule", "Settings",
    "Transaction", "TransactionItem", "Worker",
}  # fmt: skip


#: The classes that users make themselves: the page shows the constructor of these only.
MADE = {
    "Abort", "AsyncEditor", "Backoff", "Calendar", "Editor", "InlinePool", "MemoryStore", "Rehearsal",
    "Retry", "Settings", "Snooze", "Then", "Worker",
}  # fmt: skip


def main() -> None:
    """Write the pages."""
    page = "\n".join([INTRODUCTION, *_page()])
    PAGE.write_text(page.rstrip() + "\n", encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")


def _page() -> Iterator[str]:
    for title, names in GROUPS.items():
        yield f"## {title}\n"
        if title == "Errors":
            yield _kinds(names.split())
        for name in names.split():
            yield from _thing(name, getattr(duebell, name))
    yield "## Returned by few methods\n\n`duebell` does not export these classes: read their attributes.\n"
    for one in RETURNED:
        yield from _thing(one.__name__, one)
    for module in (duebell.http, duebell.testing):
        yield f"## {module.__name__}\n"
        for name in module.__all__:
            yield from _thing(name, getattr(module, name))
    yield from _requests()
    yield "## Lines of the log\n\nThe `event` of a line of the worker's [log](logs.md) is one of these.\n"
    yield "| event | usual level | what it means |\n|---|---|---|"
    lines = (f"| `{one.name.lower()}` | {getLevelName(one.level)} | {one.means} |\n" for one in LogLine)
    yield "".join(lines)


def _requests() -> Iterator[str]:
    """The requests of the HTTP API, from its OpenAPI description."""
    with duebell.testing.Rehearsal(duebell.Worker()) as rehearsal:
        paths = duebell.http.create_app(rehearsal.editor).openapi()["paths"]
    yield "## HTTP requests\n\n[The page and the HTTP API](http.md) explains them.\n"
    for path, operations in paths.items():
        for method, said in operations.items():
            yield f"### {method.upper()} {path}\n\n{said['summary']}. {said['description']}\n"
            queries = [f"`{one['name']}`" for one in said.get("parameters", ()) if one["in"] == "query"]
            if queries:
                yield f"Parameters: {', '.join(queries)}\n"


def commands_page() -> str:
    """The text of docs/commands.md."""
    return "\n".join([_COMMANDS, *_commands()]).rstrip() + "\n"


def _commands() -> Iterator[str]:
    program: Any = typer.main.get_command(app)
    for title, names in GROUPS_OF_COMMANDS.items():
        listed = [f"| [`{name}`](#duebell-{name}) | {summary} |" for name, (_, summary) in names.items()]
        yield "\n".join([f"| {title.lower()} | |", "|---|---|", *listed]) + "\n"
    for title, names in GROUPS_OF_COMMANDS.items():
        yield f"## {title}\n"
        for name in names:
            yield from _command(program.get_command(None, name), f"duebell {name}")
    statuses = [f"| {status:d} | {meaning} |" for status, meaning in MEANINGS.items()]
    yield "\n".join(["## Exit status\n", "| exit status | meaning |", "|---|---|", *statuses]) + "\n"


def _command(command: Any, path: str) -> Iterator[str]:
    call = " ".join([path, *(one.metavar or one.name.upper() for one in _arguments(command))])
    yield f"### {path}\n\n```text\n{call}\n```\n\n{_marked(command.help)}\n"
    own = [one for one in command.params if one.name != "help" and not one.hidden]
    rows = [f"| {_named(one)} | {_marked(one.help).replace('|', '&#124;')} |" for one in own]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"
    if command.epilog:
        first, _, more = command.epilog.partition("\n\n")
        yield f"```text\n{inspect.cleandoc(first.partition(':')[2])}\n```\n"
        if more:
            yield _marked(more) + "\n"
    for name, part in getattr(command, "commands", {}).items():
        yield from _command(part, f"{path} {name}")


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "argument"]


def _named(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    choices = ", ".join(map(str, getattr(parameter.type_descriptor.annotation, "__members__", {}).values()))
    value = f" {choices or parameter.metavar or ''}".rstrip() if not parameter.is_flag else ""
    return ", ".join(f"`{name}{value}`" for name in names)


def _marked(text: str | None) -> str:
    """The text of a help, in which Markdown finds no signs of its own."""
    return re.sub(r"([<>*_])", r"\\\1", inspect.cleandoc(text or ""))


def _kinds(names: list[str]) -> str:
    """The kinds of errors, as programs see them."""
    classes: list[Any] = [getattr(duebell, name) for name in names]
    errors = [one.__new__(one) for one in classes if issubclass(one, duebell.DuebellError)]
    rows = [
        f"| [{name}](#{name.lower()}) | `{one.kind}` | {one.http_status} | {exit_of(one)} |"
        for one in errors[1:]
        for name in [type(one).__name__]
    ]
    head = "| error | kind | HTTP status | exit status |\n|---|---|---|---|"
    words = (
        "The kind is the `type` of the API's problem document, after `urn:duebell:`, and of an error in JSON."
    )
    return "\n".join([words, "", head, *rows]) + "\n"


def _thing(name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}\n"
    if not inspect.isclass(thing):
        yield f"```python\n{name}{_signature(thing)}\n```\n"
        yield _prose(thing)
    elif issubclass(thing, Exception):
        bases = [base.__name__ for base in thing.__mro__ if base.__module__ == thing.__module__]
        yield (
            f"```python\nclass {name}{_signature(thing)}\n```\n"
            if name in MADE
            else f"*{' → '.join(bases)}*\n"
        )
        yield _prose(thing)
        yield _prose(thing.__dict__.get("__init__") if name in MADE else None)
    elif issubclass(thing, enum.Enum):
        yield _prose(thing)
        yield "Values: " + ", ".join(f"`{member.value}`" for member in thing) + "\n"
    elif is_typeddict(thing):
        yield _prose(thing)
        unset = "None means" if name == "TaskChange" else "if not given"
        yield f"| field | what it means | {unset} |\n|---|---|---|"
        rows = [(one, FIELDS[one]) for one in names_of(thing)]
        yield "".join(f"| `{one}` | {row.means} | {row.unset} |\n" for one, row in rows).replace("\n\n", "\n")
    else:
        if name in MADE:
            yield f"```python\nclass {name}{_signature(thing)}\n```\n"
        yield _prose(thing)
        yield from _attributes(name, thing)
        if thing is duebell.Settings:
            yield "| attribute | variable | what it means |\n|---|---|---|"
            yield "".join(f"| `{one}` | `{row.variable}` | {row.means} |\n" for one, row in SETTINGS.items())
        yield _prose(thing.__dict__.get("__init__") if name in MADE else None)
        yield from _members(name, thing)


def _attributes(name: str, thing: Any) -> Iterator[str]:
    """The names of the attributes that have no row in the docstring, unless the constructor shows them."""
    names = getattr(thing, "__struct_fields__", ())
    rows = re.findall(r"(?m)^ *((?:\w+, )*\w+)  ", inspect.cleandoc(thing.__doc__ or ""))
    told = {one for row in rows for one in row.split(", ")}
    others = [f"`{one}`" for one in names if one not in told]
    if others and name not in MADE:
        yield f"{'Further attributes' if told else 'Attributes'}: {', '.join(others)}\n"


def _members(name: str, thing: type) -> Iterator[str]:
    members = dict(thing.__dict__)
    if coroutines := [one for one, value in members.items() if _is_an_editors(value)]:
        listed = ", ".join(f"`{one}`" for one in coroutines)
        yield f"Coroutines, with the parameters and results of the [Editor](#editor)'s methods: {listed}\n"
    for member, value in members.items():
        function = getattr(value, "__func__", value)
        if member.startswith("_") or not inspect.getdoc(function):
            continue
        if inspect.isfunction(function) and name in CALLED and not _is_an_editors(function):
            begin = "async " if inspect.iscoroutinefunction(function) else ""
            yield f"#### {name}.{member}\n\n```python\n{begin}{member}{_signature(function)}\n```\n"
            yield _prose(function)
        elif isinstance(value, property):
            yield f"#### {name}.{member}\n"
            yield _prose(value)


def _is_an_editors(function: Any) -> bool:
    """Tell whether it is a coroutine of an Editor's method, whose section describes it."""
    method = getattr(function, "__wrapped__", None)
    return method is not None and method is getattr(duebell.Editor, method.__name__, None)


def _signature(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except ValueError:
        return ""
    text = re.sub(r"= environ\(\{.*?\}\)", "= os.environ", text)
    text = re.sub(r"<function .*? at 0x\w+>", "…", text)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    text = re.sub(r"<(\w+)\.(\w+): ('[^']*')>", r"\3", text)
    text = re.sub(
        r"\b(?:duebell_\w+|datetime|collections|typing|pathlib|boto3)\.(?:\w+\.)*(?=[A-Za-z])", "", text
    )
    text = text.replace("NoneType", "None")
    return text.replace("(self, ", "(").replace("(self)", "()").replace("(cls)", "()")


def _prose(thing: Any) -> str:
    """Its docstring as Markdown; what stands in columns stays as it is."""
    doc = thing.__doc__ if thing is not None else None
    blocks = inspect.cleandoc(doc or "").split("\n\n")
    marked = (f"```\n{block}\n```" if re.search(r"(?m)^\S.*? {2,}\S", block) else block for block in blocks)
    return "\n\n".join(marked) + "\n"


if __name__ == "__main__":
    main()
