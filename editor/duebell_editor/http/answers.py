"""The answers of the API as JSON, and their schemas. Times are ISO-8601 in UTC, lengths of time seconds."""

import inspect
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Response
from msgspec import UNSET, Meta, Struct
from msgspec.structs import asdict

from duebell_editor.library.backfill import BackfillReport
from duebell_editor.library.change_many import ChangeFailure, ChangeReport, Selection
from duebell_editor.library.json_fields import HIDDEN, plain_values, task_fields
from duebell_editor.listing.failures import Failures
from duebell_editor.listing.history import PastTimeline
from duebell_editor.listing.listing import Page
from duebell_editor.listing.queue_counts import PastCounts
from duebell_editor.listing.timeline import Bucket
from duebell_editor.simulation.simulate import Simulation
from duebell_editor.status.action_limits import ActionLimit
from duebell_editor.status.dead_letters import DeadLetter
from duebell_editor.status.health import SchedulerStatus
from duebell_editor.status.why import Why
from duebell_shared.audit import Changes
from duebell_shared.errors import AddFailure, AddReport
from duebell_shared.instants import Instant, as_text
from duebell_shared.schedules.calendars import Calendar
from duebell_shared.schedules.schedule import OnHoliday
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.follow_up import FollowUp
from duebell_shared.tasks.history import Event
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.status import Verb
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.worker_record import WorkerDescription

from .problems import ProblemDocument, kind_of

#: A row in the docstring of a struct: `name, other  their meaning`. Its further lines are indented.
_DESCRIPTION = re.compile(r"^(\w+(?:, \w+)*) {2,}(\S.*(?:\n +.*)*)", re.MULTILINE)


def reference(name: str) -> dict[str, str]:
    """A reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas_of(*structs: type[Struct], may_leave_out: bool = False) -> dict[str, Any]:
    """The schemas of structs with their fields described; all are required unless they may be left out."""
    _, made = msgspec.json.schema_components(structs, ref_template=reference("{name}")["$ref"])
    for schema in made.values():
        text = inspect.cleandoc(schema.get("description", "")).replace("None", "null")
        schema["description"] = text
        if fields := schema.get("properties"):
            parts = text.split("\n\n")
            schema["description"] = "\n\n".join(part for part in parts if not _DESCRIPTION.match(part))
            if not may_leave_out:  # the other fields are UNSET by default
                always = {*schema["required"], *(name for name in fields if "default" in fields[name])}
                schema["required"] = [name for name in fields if name in always]
            _describe(fields, text)
    return made


def _describe(fields: dict[str, Any], text: str) -> None:
    for field in fields.values():
        field.pop("default", None)
    for names, words in _DESCRIPTION.findall(text):
        for name in names.split(", "):
            if name in fields:
                fields[name].setdefault("description", words[0].upper() + " ".join(words[1:].split()))
    for field in fields.values():
        for one in field.get("anyOf", [field]):
            if one.get("format") == "duration":  # in JSON, lengths of time are numbers
                del one["format"]
                one["type"] = "number"
                field["description"] += " (in seconds)"


class Json(Response):
    """An answer: values of the library as JSON."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Write the values as JSON."""
        return to_json(content).encode()


def to_json(answer: object) -> str:
    """The JSON text of an answer."""
    return json.dumps(plain_values(answer), default=as_text, ensure_ascii=False, separators=(",", ":"))


def _struct(
    name: str,
    of: type[Struct],
    *,
    only: Collection[str] = (),
    hidden: Collection[str] = (),
    **more: object,
) -> type[Struct]:
    """A struct with the fields of another, all except `hidden` or `only` some, and with `more`."""
    fields: list[Any] = [
        (field.name, field.type, UNSET) if field.default is UNSET else (field.name, field.type)
        for field in msgspec.structs.fields(of)
        if (not only or field.name in only) and field.name not in {*hidden, *more}
    ]
    return msgspec.defstruct(name, [*fields, *more.items()], namespace={"__doc__": of.__doc__}, kw_only=True)


def _described(type: object, description: str) -> object:
    return Annotated[type, Meta(description=description)]


_RECURRENCE = _struct(
    "Recurrence",
    Recurrence,
    words=_described(str, "The schedule in words"),
    upcoming=_described(list[Instant], "The schedule's times after the current occurrence"),
)

_CAN = _described(list[Verb], "The verbs that apply to it now")
_FAILED_WITH = _described(str | None, "Why the last attempt failed, in a line")

_THEN = _struct(
    "FollowUp",
    FollowUp,
    hidden=("payload_json",),
    payload=_described(Any, "Any JSON value"),
)

_TASK = _struct(
    "Task",
    Task,
    hidden=HIDDEN,
    payload=_described(Any, "Any JSON value"),
    result=_described(Any, "The result of its action; null if that was null, or is not kept"),
    recurrence=_described(_RECURRENCE | None, "How it recurs; null if it runs once"),
    then=_described(_THEN | None, "The task that is added when it is done"),
    starts_by=_described(
        Instant | None, "When it starts at the latest, if nothing goes wrong; null if it does not wait"
    ),
    can=_CAN,
)

#: Characters of a payload that a list shows.
_PAYLOAD_START = 120

_WHEN = ("due", "queued", "started_at", "finished_at", "lateness_ms")
_IN_BRIEF = ("id", "action", "tags", "status", "attempt", "rev", *_WHEN)
_TASK_IN_BRIEF = _struct(
    "TaskInBrief",
    Task,
    only=_IN_BRIEF,
    recurs=_described(str | None, "The schedule in words; null if it runs once"),
    failed_with=_FAILED_WITH,
    owes_since=_described(Instant | None, "When a task ended that owes a follow-up; null if it owes none"),
    failing_at=_described(
        Instant | None, "When a recurring task's last occurrence failed; null if it did not"
    ),
    payload_start=_described(
        str, f"The beginning of its payload as JSON text, {_PAYLOAD_START} characters at most"
    ),
    can=_CAN,
)

_RECURRING_TASK = _struct(
    "RecurringTask",
    Task,
    only=(*_IN_BRIEF, "occurrences"),
    recurrence=_described(_RECURRENCE, "How it recurs"),
    failed_with=_FAILED_WITH,
    can=_CAN,
)

_STATUS = _struct(
    "SchedulerStatus",
    SchedulerStatus,
    healthy=_described(bool, "True if there are no problems"),
    verdict=_described(str, "The same in words: healthy, or needs attention"),
)


class TaskPage(Struct, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is null when this is the last.

    A page can be short if matches are rare in a long queue: go on with the cursor. An empty page is the last.
    """

    tasks: Annotated[
        list[Any],
        Meta(extra_json_schema={"items": {"anyOf": [reference("Task"), reference("TaskInBrief")]}}),
    ]
    cursor: str | None


class RecurringPage(Struct, kw_only=True):
    """A page of recurring tasks; `cursor` gives the next one, and is null when this is the last."""

    tasks: Annotated[list[Any], Meta(extra_json_schema={"items": reference("RecurringTask")})]
    cursor: str | None


def _answer(name: str, doc: str, **fields: object) -> type[Struct]:
    """The struct of an answer that holds values of the library, for its schema."""
    return msgspec.defstruct(name, list(fields.items()), namespace={"__doc__": doc}, kw_only=True)


_INSTANTS = list[Instant]

#: Answers that hold values of the library by these names.
_HOLDING = (
    _answer(
        "TimeZones",
        "The time zones that schedules can have.\n\ntzdata  their release, by IANA's numbering",
        tzdata=str,
        names=list[str],
    ),
    _answer(
        "DeadLetterList",
        "The messages of all dead-letter queues of the stack.",
        letters=tuple[DeadLetter, ...],
    ),
    _answer("Handled", "The number of messages that were sent back or deleted.", count=int),
    _answer(
        "Limits",
        "The limits of actions, by name; those that have none are left out.",
        limits=tuple[ActionLimit, ...],
    ),
    _answer(
        "Preview",
        "A schedule in words, its next times, and those up to then that fall on holidays.",
        words=str,
        occurrences=_INSTANTS,
        starts_by=_described(_INSTANTS, "When each starts at the latest, if nothing goes wrong"),
        on_holidays=tuple[OnHoliday, ...],
    ),
    _answer(
        "KnownWorker",
        "The worker as of its last start; null before the first.",
        worker=WorkerDescription | None,
    ),
    _answer(
        "TaskHistory",
        "The events of a task, the latest at the end, as far as they are kept.",
        events=tuple[Event, ...],
    ),
    _answer("Timeline", "The numbers of what is to run, bucket by bucket.", buckets=tuple[Bucket, ...]),
)


class AddedTask(Struct, kw_only=True):
    """The outcome for one task of a list.

    id       its id; one is made if none was given
    outcome  kept: its id was taken, and the stored task stays. replaced: the stored task was replaced.
             pushed: the stored task waits until the new due date, or was replaced if it did not wait
    type     if it failed, the kind of problem, as in a problem document
    detail   if it failed, what is wrong and what to do
    """

    id: str
    outcome: Literal["added", "kept", "replaced", "pushed", "failed"]
    type: str | None = None
    detail: str | None = None


class AddAnswer(Struct, kw_only=True):
    """The outcome of adding a list of tasks.

    stored   the number of stored tasks; the rule rings for them
    results  the outcome for each task, in the order of the list
    """

    stored: int
    results: list[AddedTask]


class BulkFailure(Struct, kw_only=True):
    """A task that was not changed, and why.

    type  the kind of problem, as in a problem document
    """

    id: str
    type: str
    detail: str


class BulkAnswer(Struct, kw_only=True):
    """The outcome of a change to many tasks.

    found     the number of tasks to change, at most the limit
    is_all    false if there are more than the limit
    ids       with `dry_run`, the ids of the tasks found
    changed   the ids of the changed tasks
    failures  the tasks that could not be changed
    """

    found: int
    is_all: bool
    dry_run: bool
    ids: tuple[str, ...] = ()
    changed: list[str] = []
    failures: list[BulkFailure] = []


class CalendarsAnswer(Struct, kw_only=True):
    """The calendars of holidays, by name."""

    calendars: Mapping[str, Calendar]


BackfillAnswer = _struct("BackfillAnswer", BackfillReport, failures=list[BulkFailure])


def backfill_answer(report: BackfillReport) -> Struct:
    """The outcome of a backfill."""
    return BackfillAnswer(**{**asdict(report), "failures": bulk_failures(report.failures)})


def bulk_failures(failures: Iterable[AddFailure | ChangeFailure]) -> list[BulkFailure]:
    """Failures of the library for an answer."""
    return [BulkFailure(id=one.id, type=kind_of(one.error), detail=str(one.error)) for one in failures]


def _failed_with(task: Task) -> str | None:
    return str(task.failure) if task.failure else None


def _brief_answer(task: Task) -> dict[str, Any]:
    return {
        **{name: getattr(task, name) for name in _IN_BRIEF},
        "recurs": task.recurrence.schedule.describe() if task.recurrence else None,
        "failed_with": _failed_with(task),
        "owes_since": task.owes.at if task.owes else None,
        "failing_at": task.last.finished_at if task.last and task.consecutive_failures else None,
        "payload_start": task.payload_json[:_PAYLOAD_START],
        "can": task.can,
    }


def page_answer(page: Page, *, brief: bool) -> TaskPage:
    """A page of tasks; `brief`: only the fields that a list shows."""
    shown = _brief_answer if brief else task_fields
    return TaskPage(tasks=[shown(task) for task in page.tasks], cursor=page.cursor)


def recurring_answer(page: Page) -> RecurringPage:
    """A page of recurring tasks, without their payloads."""
    names = {field.name for field in msgspec.structs.fields(_RECURRING_TASK)}
    tasks = [task_fields(task) | {"failed_with": _failed_with(task)} for task in page.tasks]
    return RecurringPage(
        tasks=[{name: value for name, value in task.items() if name in names} for task in tasks],
        cursor=page.cursor,
    )


def bulk_answer(chosen: Selection, report: ChangeReport) -> BulkAnswer:
    """The outcome for the tasks that were to be changed."""
    return BulkAnswer(
        found=len(chosen.ids),
        is_all=chosen.is_all,
        dry_run=False,
        changed=[task.id for task in report.changed],
        failures=bulk_failures(report.failures),
    )


def add_answer(ids: Sequence[str], report: AddReport, if_exists: IfExists) -> AddAnswer:
    """The outcome for the tasks with these ids, which were to be added."""
    there = frozenset(report.there_already)
    if_there: Any = {IfExists.REPLACE: "replaced", IfExists.PUSH: "pushed"}.get(if_exists, "kept")
    failed = {one.index: one.error for one in report.failures}
    results = [
        AddedTask(id=id, outcome="failed", type=kind_of(failed[index]), detail=str(failed[index]))
        if index in failed
        else AddedTask(id=id, outcome=if_there if id in there else "added")
        for index, id in enumerate(ids)
    ]
    return AddAnswer(stored=len(report.added), results=results)


def schemas() -> dict[str, Any]:
    """The JSON schemas of the answers, by name."""
    tasks = (_TASK, _TASK_IN_BRIEF, TaskPage, _RECURRING_TASK, RecurringPage)
    changes = (AddAnswer, BulkAnswer, BackfillAnswer)
    scheduler = (_STATUS, Why, PastCounts, Failures, PastTimeline, Changes, CalendarsAnswer, Simulation)
    return {
        **schemas_of(*tasks, *changes, *scheduler, *_HOLDING),
        **schemas_of(ProblemDocument, may_leave_out=True),
    }
