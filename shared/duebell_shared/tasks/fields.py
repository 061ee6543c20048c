"""The fields of a task that users give: one row each.

This table generates all other lists of these fields: checks, JSON and its schemas, the page's form, options
of the command line, stored and declared fields, the reference. Only `Task` and the signature of `Editor.add`
are written by hand, for users and code editors.

A key of a TypedDict is a row: type checkers read its type, and FIELDS has its `Field`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Required, TypedDict, TypeVar

import msgspec
from msgspec import NODEFAULT, UNSET

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import LATEST, MILLISECOND, render
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import quoted, shortened
from duebell_shared.schedules.schedule import Holidays

from .checks import (
    MAX_COUNT,
    MAX_NAME,
    MAX_PRIORITY,
    MAX_REV,
    check_count,
    check_name,
    read_instant,
    read_seconds,
)
from .follow_up import MAX_AFTER, Then, check_then, read_then
from .recurrence import MAX_SPREAD, Missed

#: The most tags of a task, and the characters of a tag: no comma and no space, so that people can type lists.
MAX_TAGS, MAX_TAG = 10, 50
_IN_TAGS = "a-zA-Z0-9_.:/=+@-"
_TAG = re.compile(f"[{_IN_TAGS}]{{1,{MAX_TAG}}}")

#: The longest time that a task can be told to wait.
_CENTURY = timedelta(days=36_525)


class IfExists(StrEnum):
    """The policy of `add` when a task with this id exists, waiting or as history.

    FAIL     raise TaskExists
    KEEP     leave that task as it is
    REPLACE  put the new task in its place
    PUSH     if it waits, give it the new due date and payload (debounce); else add the new task in its place
    """

    FAIL = "fail"
    KEEP = "keep"
    REPLACE = "replace"
    PUSH = "push"


Form = Literal[
    "text", "texts", "search", "action", "zone", "time", "duration", "number", "choice", "choices", "task",
    "json",
]  # fmt: skip


class FieldKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of value. To add a field of a known kind, change only the table.

    form    its form for people, which decides the option of the command line and the widget of the page
    schema  its JSON Schema, without null
    check   returns the value to store, from the field's name and a value that is not None. Raises InvalidTask
    read    returns the Python value of a JSON value, from the same arguments; None if both are the same
    """

    form: Form
    schema: Mapping[str, Any]
    check: Callable[[str, Any], Any] = lambda _, given: given
    read: Callable[[str, object], Any] | None = None


def _text_kind(
    form: Any, *, check: Any = lambda _, given: given, read: Any = None, **schema: object
) -> FieldKind:
    """A kind of text. Without `check`, other code checks the value: `make_schedule` checks schedules."""
    return FieldKind(form=form, schema={"type": "string", **schema}, check=check, read=read)


def _name(form: Any) -> FieldKind:
    return _text_kind(form, minLength=1, maxLength=MAX_NAME, check=check_name)


def _number(least: int, most: int) -> FieldKind:
    def check(field: str, given: object) -> int:
        return check_count(field, given, least=least, most=most)

    return FieldKind(
        form="number", schema={"type": "integer", "minimum": least, "maximum": most}, check=check
    )


def _duration(most: timedelta) -> FieldKind:
    def check(field: str, given: object) -> timedelta:
        if not isinstance(given, timedelta):
            raise InvalidTask(field, f"must be a timedelta, not {type(given).__name__}")
        if not MILLISECOND <= given <= most:
            days = f"{most.days:,} {'day' if most.days == 1 else 'days'}"
            raise InvalidTask(field, f"must be a millisecond or more, and at most {days}, not {given}")
        return given // MILLISECOND * MILLISECOND

    bounds = {"minimum": MILLISECOND.total_seconds(), "maximum": most.total_seconds()}
    return FieldKind(form="duration", schema={"type": "number", **bounds}, check=check, read=read_seconds)


def _choice(of: type[StrEnum]) -> FieldKind:
    *most, last = (quoted(one.value) for one in of)

    def check(field: str, given: object) -> StrEnum:
        if isinstance(given, str) and given in set(of):
            return of(given)
        raise InvalidTask(field, f"must be {', '.join(most)} or {last}, not {quoted(given)}")

    return _text_kind("choice", enum=[one.value for one in of], check=check)


_TIME = _text_kind("time", format="date-time", read=read_instant)

_JSON = FieldKind(form="json", schema={}, check=lambda _, given: payloads.of_task(given))

_FOLLOW_UP = FieldKind(
    form="task",
    schema={
        "type": "object",
        "properties": {
            "action": _name("action").schema,
            "payload": {},
            "after": {"type": "number", "minimum": 0, "maximum": MAX_AFTER.total_seconds()},
            "result_as": {
                **_name("text").schema,
                "description": "The field of its payload, an object, that gets the result of this task",
            },
        },
        "required": ["action"],
        "additionalProperties": False,
    },
    check=lambda _, given: check_then(given),
    read=lambda _, given: read_then(given),
)


def _check_on_failed(field: str, given: object) -> str:
    """The name of an action; empty for none, even if the task's action has an `on_failed`."""
    if not isinstance(given, str):
        raise InvalidTask(field, f"must be the name of an action, not {type(given).__name__}")
    return check_name(field, given) if given else given


def _check_tags(field: str, given: object) -> tuple[str, ...]:
    """The tags, each once, in their order."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidTask(field, f"must be short texts in a list, not {type(given).__name__}")
    tags = tuple(given)
    if len(tags) > MAX_TAGS:
        raise InvalidTask(field, f"must be at most {MAX_TAGS}, not {len(tags):,}")
    for tag in tags:
        if not isinstance(tag, str) or not _TAG.fullmatch(tag):
            allowed = f"1 to {MAX_TAG} of the characters {_IN_TAGS}"
            raise InvalidTask(field, f"must each be {allowed}, not {quoted(tag)}")
    return tuple(dict.fromkeys(tags))


#: Means the whole payload, in place of names.
_WHOLE = "*"


def _check_unique(field: str, given: object) -> tuple[str, ...]:
    """The payload's fields that the id is made of, sorted; `*` for the whole payload, () for none."""
    if isinstance(given, bool):
        return (_WHOLE,) if given else ()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidTask(field, f"must be true, or names of the payload's fields, not {quoted(given)}")
    names = list(given)
    if not names:
        raise InvalidTask(field, "names no field: give true for the whole payload")
    for name in names:
        if not isinstance(name, str):
            raise InvalidTask(field, f"must name fields of the payload by texts, not {quoted(name)}")
    return tuple(sorted(set(names)))


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table.

    kind     the values that it takes
    title    its name for people, on the page for example
    means    its meaning, without units: lengths of time are seconds in JSON, and `1h30m` to the shell
    unset    the meaning of null; empty if it cannot be null
    default  the stored value for null; NODEFAULT if that is refused
    stored   where its value is stored: on the task, or in its recurrence or schedule; "" for code of its own
    named    the name of the attribute there, if it is another
    goes     the tasks that can have it: tasks that run once, recurring tasks, or all
    """

    kind: FieldKind
    title: str
    means: str
    unset: str = ""
    default: Any = None
    stored: Literal["task", "recurrence", "schedule", ""] = ""
    named: str = ""
    goes: Literal["once", "recurring", "all"] = "all"


_TAGS = FieldKind(
    form="texts",
    schema={
        "type": "array",
        "items": {"type": "string", "pattern": f"^{_TAG.pattern}$"},
        "maxItems": MAX_TAGS,
    },
    check=_check_tags,
)

_Missed = Missed | Literal["once", "all", "skip"]

# fmt: off
_ACTION = Field(
    kind=_name("action"), title="Action", means="The name of an action of the worker", default=NODEFAULT,
    stored="task",
)
_DUE = Field(
    kind=_text_kind("time", format="date-time", formatMaximum=render(LATEST), read=read_instant), title="Due",
    means="When it runs. A time that has passed means at once",
    default=NODEFAULT, goes="once",
)
_SCHEDULE = Field(
    kind=_text_kind("text"), title="Schedule",
    means="When it recurs: rate(2 hours), cron(0 9 ? * MON-FRI *) as AWS has it, five cron fields, or at(…); "
    "in UTC unless a time zone is given",
    default=NODEFAULT, stored="schedule", named="expression", goes="recurring",
)

_PAYLOAD = Field(
    kind=_JSON, title="Payload", stored="task", named="payload_json",
    means="The input of the action: any JSON value, at most 350 KB and 100 levels",
    unset="an empty object", default="{}",
)

#: In JSON, the due date can be given as a length of time.
_IN = Field(
    kind=FieldKind(form="duration", schema={"type": "number"}, read=read_seconds), title="In",
    means="Instead of due: how long from now",
)


class _AllFields(TypedDict, total=False):
    timezone: Annotated[str | None, Field(
        kind=_text_kind("zone"), title="Time zone", means="The schedule's, an IANA name", unset="UTC",
        default="UTC", stored="schedule", goes="recurring",
    )]
    calendar: Annotated[str | None, Field(
        kind=_name("text"), title="Calendar", means="The name of a calendar of holidays, such as de-be",
        unset="none", default=UNSET, stored="schedule", goes="recurring",
    )]
    holidays: Annotated[Holidays | Literal["skip", "next", "previous"] | None, Field(
        kind=_choice(Holidays), title="On holidays",
        means="An occurrence on a holiday of the calendar is skipped, or runs on the next or the previous "
        "working day",
        unset="skip", default=UNSET, stored="schedule", goes="recurring",
    )]
    missed: Annotated[_Missed | None, Field(
        kind=_choice(Missed), title="Missed runs",
        means="Missed occurrences: run one for all of them, run each, or skip them", unset="once",
        default=Missed.ONCE, stored="recurrence", goes="recurring",
    )]
    spread: Annotated[timedelta | None, Field(
        kind=_duration(MAX_SPREAD), title="Spread",
        means="Delay it by up to this long, the same each time for the same id; at most a day",
        unset="none", default=timedelta(0), stored="task",
    )]
    priority: Annotated[int | None, Field(
        kind=_number(0, MAX_PRIORITY), title="Priority",
        means=f"0 to {MAX_PRIORITY}: waiting tasks of a higher priority start first", unset="0", default=0,
        stored="task",
    )]
    on_failed: Annotated[str | None, Field(
        kind=_text_kind("action", maxLength=MAX_NAME, check=_check_on_failed), title="When it has failed",
        means="The action or delivery that gets the task when it has failed for good; empty: none",
        unset="that of its action", stored="task",
    )]
    tags: Annotated[Iterable[str] | None, Field(
        kind=_TAGS, title="Tags", means=f"Up to {MAX_TAGS} short labels, to filter lists by",
        unset="none", default=(), stored="task",
    )]
    then: Annotated[Then | None, Field(
        kind=_FOLLOW_UP, title="When it is done",
        means="The task to add when this one is done", unset="none", stored="task",
    )]


class DeclaredFields(_AllFields, total=False):
    """The arguments of `Worker.recurring`, but for `schedule` and `id`."""

    payload: Annotated[object, _PAYLOAD]


class _Fields(_AllFields, total=False):
    start: Annotated[datetime | None, Field(
        kind=_TIME, title="Not before", means="No occurrence is before this; a rate counts from it",
        unset="from now on", stored="schedule", goes="recurring",
    )]
    end: Annotated[datetime | None, Field(
        kind=_TIME, title="Not after", means="No occurrence is after this", unset="no end",
        stored="schedule", goes="recurring",
    )]
    max_runs: Annotated[int | None, Field(
        kind=_number(1, MAX_COUNT), title="Number of runs", means="End after this many runs",
        unset="no limit", stored="recurrence", goes="recurring",
    )]
    expires_after: Annotated[timedelta | None, Field(
        kind=_duration(_CENTURY), title="Expiry",
        means="Do not run it when it is this late; at most a century", unset="never", stored="task",
        goes="once",
    )]


class TaskChange(_Fields, total=False):
    """A change to a task: the arguments of `Editor.update`, but for `id` and `rev`."""

    action: Annotated[str, _ACTION]
    due: Annotated[datetime | timedelta, _DUE]
    schedule: Annotated[str, _SCHEDULE]
    payload: Annotated[object, _PAYLOAD]


class _NewFields(_Fields, total=False):
    due: Annotated[datetime | timedelta | None, _DUE]
    schedule: Annotated[str | None, _SCHEDULE]
    id: Annotated[str | None, Field(
        kind=_name("text"), title="Id", means="Its id, of printable characters", unset="one is made",
    )]
    batch: Annotated[str | None, Field(
        kind=_name("text"), title="Batch", means="The id of the batch that waits for this task to end",
        unset="none", stored="task", goes="once",
    )]
    unique: Annotated[bool | Iterable[str] | None, Field(
        kind=FieldKind(
            form="texts",
            schema={
                "anyOf": [
                    {"type": "boolean"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ]
            },
            check=_check_unique,
        ),
        title="Unique by",
        means=f"Make the id of the action and these fields of the payload; {_WHOLE} is the whole payload",
        unset="no", default=(),
    )]


class TaskFields(_NewFields, total=False):
    """The arguments of `Editor.add`, but for `action`, `if_exists`, `max_wait` and `rev`."""

    payload: Annotated[object, _PAYLOAD]


class NewTask(TaskFields, total=False):
    """A task to add: the arguments of `Editor.add`, but for `if_exists`, `max_wait` and `rev`."""

    action: Required[Annotated[str, _ACTION]]


class AddFields(_NewFields, total=False):
    """The arguments of `Editor.add`, but for `action` and `payload`."""

    if_exists: Annotated[IfExists | Literal["fail", "keep", "replace", "push"], Field(
        kind=_choice(IfExists), title="If it exists", default=NODEFAULT,
        means="When the id is taken: fail, keep the task that is there, replace it, or push it, which gives "
        "a waiting task the new due date and payload",
    )]
    max_wait: Annotated[timedelta | None, Field(
        kind=_duration(_CENTURY), title="Put off at most",
        means="With push: due this long after the first add at the latest", unset="no limit",
    )]
    rev: Annotated[int | None, Field(
        kind=_number(1, MAX_REV), title="Revision",
        means="With replace: only if the task that is there is at this rev", unset="any",
    )]
# fmt: on


#: Every field by its name, in the order in which people are shown them.
FIELDS: Mapping[str, Field] = {
    "action": _ACTION,
    "payload": _PAYLOAD,
    "due": _DUE,
    "in": _IN,
    "schedule": _SCHEDULE,
} | {name: hint.__metadata__[0] for name, hint in AddFields.__annotations__.items()}

#: The fields that are kept on the task itself, and the names of its attributes.
STORED = {name: row.named or name for name, row in FIELDS.items() if row.stored == "task"}

#: The fields of a recurring task's schedule, the other fields of its recurrence, and both together.
SCHEDULE = tuple(name for name, row in FIELDS.items() if row.stored == "schedule")
RECURRENCE = tuple(name for name, row in FIELDS.items() if row.stored == "recurrence")
RECURRING = (*SCHEDULE, *RECURRENCE)


def names_of(fields: type) -> tuple[str, ...]:
    """The field names of one of the TypedDicts above, in the order of the table."""
    return tuple(name for name in FIELDS if name in fields.__annotations__)


def checked(name: str, given: object) -> Any:
    """The value to store if `given` is given. Raises InvalidTask."""
    row = FIELDS[name]
    return row.default if given is None and row.default is not NODEFAULT else row.kind.check(name, given)


def described(name: str, *, in_change: bool = False) -> str:
    """The meaning of the field in JSON, and of its absence; in a change, of null."""
    row = FIELDS[name]
    seconds = " (in seconds)" if row.kind.form == "duration" else ""
    unset = f"; null: {row.unset}" if in_change else f"; {row.unset} if not given"
    return f"{row.means}{seconds}{unset if row.unset else ''}"


# The fields that users give, by name or as JSON has them.

_F = TypeVar("_F", NewTask, TaskChange)


def fields_of(kind: type[_F], given: object) -> _F:
    """The fields in a mapping. Raises InvalidTask for an unknown one, and for a new task without action."""
    if not isinstance(given, Mapping):
        raise InvalidTask("task", f"must be a NewTask or a mapping, not {type(given).__name__}")
    if unknown := [name for name in given if name not in kind.__annotations__]:
        raise InvalidTask(
            shortened(unknown[0]), f"is not a field of a task; the fields are {', '.join(names_of(kind))}"
        )
    if kind is NewTask and "action" not in given:
        raise InvalidTask("action", "is missing")
    if isinstance(tags := given.get("tags"), Iterator):  # which can be read once
        given = {**given, "tags": tuple(tags)}
    if given.get("unique") is None:
        return kind(**given)
    values = {name: value for name, value in given.items() if name != "unique"}
    if names := checked("unique", given["unique"]):
        if values.get("id") is not None:
            raise InvalidTask("id", "cannot be combined with `unique`, which makes the id: leave one out")
        action = check_name("action", values["action"])
        values["id"] = _unique_id(action, payloads.of_task(values.get("payload")), names)
    return kind(**values)


#: A generated id begins with at most so many characters of the action: ids of follow-ups are longer still.
_IN_ID = 150


def _unique_id(action: str, payload_json: str, names: tuple[str, ...]) -> str:
    """The id of a task that is unique by these fields of its payload. Raises InvalidTask if one is missing.

    Order and white space of the JSON do not count, and numbers count by their value: 1.0 is 1.
    """
    payload = json.loads(payload_json, parse_float=_by_value)
    if names != (_WHOLE,):
        if not isinstance(payload, dict):
            raise InvalidTask("unique", "names fields, and the payload is no object: give true instead")
        if missing := [name for name in names if name not in payload]:
            has = ", ".join(map(quoted, payload)) or "none"
            raise InvalidTask(
                "unique", f"names {quoted(missing[0])}, which the payload lacks; its fields are {has}"
            )
        payload = {name: payload[name] for name in names}
    text = json.dumps([action, payload], sort_keys=True, separators=(",", ":"))
    return f"{action[:_IN_ID]}:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _by_value(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def fields_of_json(kind: type[_F], given: object) -> _F:
    """The fields of JSON values: times are ISO-8601 text, lengths of time are numbers of seconds.

    `in`, seconds from now, can be given instead of `due`. Raises InvalidTask, naming the field.
    """
    if isinstance(given, Mapping) and "in" in given:
        seconds = given["in"]
        given = {name: value for name, value in given.items() if name != "in"}
        if seconds is not None:
            if given.get("due") is not None:
                raise InvalidTask("in", "cannot be combined with a due date")
            given["due"] = read_seconds("in", seconds)
    values: Any = fields_of(kind, given)
    for name, value in values.items():
        read = FIELDS[name].kind.read
        if read and value is not None and not isinstance(value, timedelta):  # `in` is read already
            values[name] = read(name, value)
    return kind(**values)
