"""The settings of a scheduler, from the environment or given in code: one row each in SETTINGS.

The checks, the environment's reading, the docs and, where a stack has the same, the parameters of the
templates are made of this table. Only the attributes of `Settings`, which users read, stand beside it.
"""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal, Self

import msgspec

from duebell_shared.tasks.checks import check_changed_by
from duebell_shared.tasks.status import KEPT_PAYLOAD, RETENTION, History, RetentionPolicy

from .bell.arming import HEAD_START
from .bell.bell import BellKind
from .errors import InvalidSettings, InvalidTask
from .payloads.payload import MAX_BYTES
from .quoting import quoted

#: The name that stands for the stack of `duebell local` on the command line; no other can have it.
LOCAL = "local"

#: More lanes mean more queries for each run, and a larger arming record.
MAX_LANES = 64

#: With more runs side by side, most of their time would be waiting for the arming record.
MAX_PARALLEL_RUNS = 16

#: The changes that messages of the intake queue may ask for.
INTAKE_VERBS = ("add", "move", "update", "cancel", "backfill")

#: A century.
_MAX_RETENTION = timedelta(days=36500)


class Precision(StrEnum):
    """The precision of start times: EventBridge's minute, or the second, for which runs wait."""

    MINUTE = "minute"
    SECOND = "second"


class AuditTo(StrEnum):
    """The places that keep the changes by editors: the log alone, or the table as well."""

    LOG = "log"
    TABLE = "table"


class Color(StrEnum):
    """The colours that tell one environment from another on the page and in a terminal."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"
    GRAY = "gray"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of value. `read` and `check` raise ValueError with what the value must be.

    read    the value of a text that is not empty
    check   checks a value that is not None
    type_   the type of the value
    values  the texts that it can be; none if it can be others
    least   the bounds of a number
    most    see least
    """

    read: Callable[[str], Any] = lambda text: text
    check: Callable[[Any], object] = lambda _: None
    type_: type = str
    values: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None


def _number(least: int, most: int, unit: str = "") -> Kind:
    def check(value: int) -> None:
        if not least <= value <= most:
            raise ValueError(f"must be {least} to {most}{unit}, not {value}")

    return Kind(read=_whole_number, check=check, type_=int, least=least, most=most)


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"must be a whole number, not {quoted(text)}") from None


def _choice(of: type[StrEnum]) -> Kind:
    def read(text: str) -> StrEnum:
        if text not in tuple(of):
            *most, last = of
            raise ValueError(f"must be {', '.join(most)} or {last}, not {quoted(text)}")
        return of(text)

    return Kind(read=read, type_=of, values=tuple(of))


def _read_days(text: str) -> timedelta:
    days = _whole_number(text)
    return timedelta(days=min(max(days, 0), _MAX_RETENTION.days + 1))  # within what a timedelta can hold


def _check_days(value: timedelta) -> None:
    if not timedelta(0) < value <= _MAX_RETENTION:
        raise ValueError(f"must be 1 to {_MAX_RETENTION.days}")


def _read_switch(text: str) -> bool:
    if text not in {"on", "off"}:
        raise ValueError(f"must be on or off, not {quoted(text)}")
    return text == "on"


def _read_several(text: str) -> tuple[str, ...]:
    texts = tuple(map(str.strip, text.split(",")))
    if not all(texts):
        raise ValueError(f"must be texts with commas between them, not {quoted(text)}")
    return texts


def _check_given(value: str) -> None:
    if not value:
        raise ValueError("is empty: give the name that the stack has")


def _check_verbs(value: tuple[str, ...]) -> None:
    if unknown := [one for one in value if one not in INTAKE_VERBS]:
        raise ValueError(f"{quoted(unknown[0])} is not one of {', '.join(INTAKE_VERBS)}")


def _check_author(value: str) -> None:
    try:
        check_changed_by(value)
    except InvalidTask as error:
        raise ValueError(error.reason) from None


_TEXT = Kind()
_NAME = Kind(check=_check_given)
_SWITCH = Kind(read=_read_switch, type_=bool, values=("on", "off"))
_DAYS = Kind(read=_read_days, check=_check_days, type_=timedelta, least=1, most=_MAX_RETENTION.days)


class Setting(msgspec.Struct, frozen=True):
    """A row of the table.

    variable  its environment variable
    kind      the values that it takes
    means     its meaning
    of        its only reader, the worker or the clients; empty if both read it
    """

    variable: str
    kind: Kind
    means: str
    of: Literal["", "worker", "clients"] = ""


#: All settings, by their attributes.
SETTINGS = {
    "name": Setting(
        "DUEBELL_NAME", _TEXT, "The scheduler's name. Table, rule and function have it unless they are named."
    ),
    "table": Setting("DUEBELL_TABLE", _NAME, "Name of the DynamoDB table."),
    "rule": Setting("DUEBELL_RULE", _NAME, "Name of the EventBridge rule, or of the schedule."),
    "bell": Setting(
        "DUEBELL_BELL", _choice(BellKind),
        "The bell that wakes the worker: a rule of EventBridge, or a schedule of EventBridge Scheduler.",
    ),
    "lanes": Setting(
        "DUEBELL_LANES", _number(1, MAX_LANES),
        "Partitions of the queue. Read once, when the queue is first used; duebell relane gives it more.",
    ),
    "retention": Setting("DUEBELL_RETENTION_DAYS", _DAYS, "Days for which ended tasks are kept."),
    "history": Setting(
        "DUEBELL_HISTORY", _choice(History),
        "Which ended tasks are kept. all: every task, listed. failed: done and cancelled tasks are found by "
        "their ids, but not listed. none: a done task is deleted when it ends. Failed and expired tasks are "
        "always kept.",
    ),
    "kept_payload": Setting(
        "DUEBELL_KEPT_PAYLOAD", _number(0, MAX_BYTES, " bytes"),
        "Bytes of the largest payload that a done task keeps. 0 keeps none.",
    ),
    "precision": Setting(
        "DUEBELL_PRECISION", _choice(Precision),
        "How near to their due date tasks start. second: the worker also waits for tasks that are due soon, "
        "which costs its time.", of="worker",
    ),
    "function": Setting(
        "DUEBELL_FUNCTION", _TEXT,
        "Name of the worker's Lambda. It is invoked for tasks that are due before the rule can ring.",
    ),
    "parallel_runs": Setting(
        "DUEBELL_PARALLEL_RUNS", _number(1, MAX_PARALLEL_RUNS),
        "The most runs that share due tasks, if one run cannot do them in time. At most one for each lane.",
        of="worker",
    ),
    "metrics": Setting(
        "DUEBELL_METRICS", _SWITCH,
        "Whether the worker's log holds metrics for CloudWatch.", of="worker",
    ),
    "changed_by": Setting(
        "DUEBELL_CHANGED_BY", Kind(check=_check_author),
        "The author of a client's changes: 1 to 128 printable characters.", of="clients",
    ),
    "color": Setting(
        "DUEBELL_COLOR", _choice(Color),
        "The colour of the scheduler's name on the page and in terminals, such as red for production.",
    ),
    "strict_actions": Setting(
        "DUEBELL_STRICT_ACTIONS", _SWITCH,
        "Whether a client refuses tasks for actions that the worker does not have, instead of a warning.",
        of="clients",
    ),
    "audit": Setting(
        "DUEBELL_AUDIT", _choice(AuditTo),
        "The place where each change by an editor is kept. log: a line of the logger duebell.audit. "
        "table: an item as well, which duebell changes lists.",
    ),
    "audit_retention": Setting("DUEBELL_AUDIT_DAYS", _DAYS, "Days for which the table keeps changes."),
    "intake": Setting(
        "DUEBELL_INTAKE", _TEXT,
        "Name of the intake queue, whose messages add and change tasks.",
    ),
    "intake_actions": Setting(
        "DUEBELL_INTAKE_ACTIONS", Kind(read=_read_several, type_=tuple),
        "The only actions whose tasks messages may add and change, separated by commas.", of="worker",
    ),
    "intake_verbs": Setting(
        "DUEBELL_INTAKE_VERBS", Kind(read=_read_several, check=_check_verbs, type_=tuple),
        f"The only values of `do` in messages, separated by commas: {', '.join(INTAKE_VERBS)}.", of="worker",
    ),
    "intake_prefixes": Setting(
        "DUEBELL_INTAKE_PREFIXES", Kind(read=_read_several, type_=tuple),
        "The only beginnings of ids in messages, separated by commas.", of="worker",
    ),
}  # fmt: skip


def _called(row: Setting, read_or_check: Callable[[Any], Any], value: object) -> Any:
    """Calls this reader or check with the value. Raises InvalidSettings, which names the row's variable."""
    try:
        return read_or_check(value)
    except ValueError as error:
        raise InvalidSettings(row.variable, str(error)) from None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one scheduler. Raises InvalidSettings for values that cannot be right."""

    table: str = "duebell"
    rule: str = "duebell"
    bell: BellKind = BellKind.RULE
    lanes: int = 4
    retention: timedelta = RETENTION
    history: History = History.ALL
    kept_payload: int = KEPT_PAYLOAD
    metrics: bool = False
    precision: Precision = Precision.MINUTE
    function: str | None = None
    parallel_runs: int = 4
    changed_by: str | None = None
    name: str = ""
    color: Color | None = None
    strict_actions: bool = False
    audit: AuditTo = AuditTo.LOG
    audit_retention: timedelta = timedelta(days=90)
    intake: str | None = None
    intake_actions: tuple[str, ...] = ()
    intake_verbs: tuple[str, ...] = ()
    intake_prefixes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, row in SETTINGS.items():
            if (value := getattr(self, field)) is not None:
                if not isinstance(value, row.kind.type_):
                    expected = row.kind.type_.__name__
                    raise InvalidSettings(row.variable, f"must be of type {expected}, not {quoted(value)}")
                _called(row, row.kind.check, value)

    @property
    def head_start(self) -> timedelta:
        """The time before a due date at which the rule rings, so that a run waits for it."""
        return HEAD_START if self.precision is Precision.SECOND else timedelta(0)

    @property
    def retention_policy(self) -> RetentionPolicy:
        """The rules by which ended tasks are kept."""
        return RetentionPolicy(retention=self.retention, history=self.history, payload=self.kept_payload)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings that the `DUEBELL_…` variables give, with defaults for those that are not set."""
        name = environ.get("DUEBELL_NAME", "")
        if name == LOCAL:
            raise InvalidSettings(
                "DUEBELL_NAME",
                "local stands for the stack of `duebell local` on the command line only: elsewhere, set the "
                "variables that it prints",
            )
        given: dict[str, Any] = dict.fromkeys(("table", "rule", "function"), name) if name else {}
        for field, row in SETTINGS.items():
            if (text := environ.get(row.variable)) is None:
                continue
            if text.strip() or row.kind is _NAME:
                given[field] = _called(row, row.kind.read, text.strip())
            else:
                given.pop(field, None)  # as a template leaves what is not given
        return cls(**given)
