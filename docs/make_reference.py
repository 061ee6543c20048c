"""Writes docs/reference.md from the docstrings of the public names: `make reference`."""

import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, is_typeddict

import duebell
import duebell.http
import duebell.testing
from duebell_shared.settings import SETTINGS
from duebell_shared.tasks.fields import FIELDS, names_of

PAGE = Path(__file__).with_name("reference.md")

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
        "Task Status Verb Recurrence Missed Result Occurrence Failure FailedAttempt FollowUp Owed Schedule "
        "make_schedule"
    ),
    "Looking into the queue": (
        "Page Bucket Step PastCounts Look Ended TaskHistory FailureGroup Failures ActionLimit"
    ),
    "Status and doctor": (
        "SchedulerStatus Diagnosis Problem ProblemKind LastRun LateRing RestingLane WorkerDescription "
        "ActionDescription"
    ),
    "Transactions": "Transaction Reservation TransactionItem",
    "Declared tasks": "SyncReport SyncStep SyncVerb",
    "Actions and the worker": (
        "Worker Action ArgumentsAction PayloadAction PreparedAction Backoff Retry Snooze Abort RunReport"
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

#: The classes whose methods users call; of all others they read the attributes.
CALLED = {
    "Action", "ArgumentsAction", "AsyncEditor", "Backoff", "Editor", "FrozenClock", "InlinePool",
    "MemoryStore", "PayloadAction", "PreparedAction", "Rehearsal", "Reservation", "Schedule", "Settings",
    "Transaction", "TransactionItem", "Worker",
}  # fmt: skip


#: The classes that users make themselves: the page shows the constructor of these only.
MADE = {
    "AsyncEditor", "Backoff", "Editor", "InlinePool", "MemoryStore", "Rehearsal", "Settings", "Then",
    "Worker",
}  # fmt: skip


def main() -> None:
    """Write the page."""
    page = "\n".join([INTRODUCTION, *_page()])
    PAGE.write_text(page.rstrip() + "\n", encoding="utf-8")


def _page() -> Iterator[str]:
    for title, names in GROUPS.items():
        yield f"## {title}\n"
        for name in names.split():
            yield from _thing(name, getattr(duebell, name))
    for module in (duebell.http, duebell.testing):
        yield f"## {module.__name__}\n"
        for name in module.__all__:
            yield from _thing(name, getattr(module, name))


def _thing(name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}\n"
    if not inspect.isclass(thing):
        yield f"```python\n{name}{_signature(thing)}\n```\n"
        yield _prose(thing)
    elif issubclass(thing, Exception):
        bases = [base.__name__ for base in thing.__mro__ if base.__module__ == thing.__module__]
        yield f"*{' → '.join(bases)}*\n"
        yield _prose(thing)
    elif issubclass(thing, enum.Enum):
        yield _prose(thing)
        yield "Values: " + ", ".join(f"`{member.value}`" for member in thing) + "\n"
    elif is_typeddict(thing):
        yield _prose(thing)
        yield "| field | what it means | if not given |\n|---|---|---|"
        rows = [(one, FIELDS[one]) for one in names_of(thing)]
        yield "".join(f"| `{one}` | {row.means} | {row.unset} |\n" for one, row in rows).replace("\n\n", "\n")
    else:
        if name in MADE:
            yield f"```python\nclass {name}{_signature(thing)}\n```\n"
        yield _prose(thing)
        if thing is duebell.Settings:
            yield "| attribute | variable | what it means |\n|---|---|---|"
            yield "".join(f"| `{one}` | `{row.variable}` | {row.means} |\n" for one, row in SETTINGS.items())
        yield _prose(thing.__dict__.get("__init__"))
        yield from _members(name, thing)


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
    """Tell whether it is a method of Editor as a coroutine: what it does stands there."""
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
