"""The settings of a scheduler, from the environment or given in code: one row each in SETTINGS.

This table generates the checks, the reading of the environment, the docs, and the parameters of the templates
where a stack has the same setting. Only the attributes of `Settings`, which users read, are written by hand.
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
from .instants import NO_TIME
from .payloads.payload import MAX_BYTES
from .quoting import quoted

#: On the command line, this name means the stack of `duebell local`; no other stack can have it.
LOCAL = "local"

#: More lanes mean more queries for each run, and a larger arming record.
MAX_LANES = 64

#: With more runs side by side, they would spend most of their time waiting for the arming record.
MAX_PARALLEL_RUNS = 16

#: The changes that messages of the intake queue may ask for.
INTAKE_VERBS = ("add", "move", "update", "cancel", "backfill")

#: A century.
_MAX_RETENTION = timedelta(days=36500)


class Precision(StrEnum):
    """The precision of start times: EventBridge's minute, or the second. For the second, runs wait."""

    MINUTE = "minute"
    SECOND = "second"


class AuditTo(StrEnum):
    """The place that keeps the changes by editors: the log alone, or the table as well."""

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


class SettingKind(msgspec.Struct, frozen=True):
    """A kind of value.

    type_   the type of the value
    read    reads the value from a text; raises LookupError, OverflowError or ValueError
    words   what the value must be
    values  the texts that it can be, if only these are allowed; else empty
    least   the bounds of a number
    most    see least
    fits    whether a value of the type is allowed
    """

    type_: type = str
    read: Callable[[str], Any] = str
    words: str = ""
    values: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    fits: Callable[[Any], bool] = lambda _: True


def _number(least: int, most: int, unit: str = "") -> SettingKind:
    words = f"{least} to {most}{unit}"
    return SettingKind(int, int, words, least=least, most=most, fits=lambda value: least <= value <= most)


def _choice(of: type[StrEnum]) -> SettingKind:
    *others, last = of
    return SettingKind(of, of, f"{', '.join(others)} or {last}", values=tuple(of))


def _several(words: str, fits: Callable[[tuple[str, ...]], bool] = all) -> SettingKind:
    return SettingKind(tuple, lambda text: tuple(map(str.strip, text.split(","))), words, fits=fits)


def _is_author(value: str) -> bool:
    try:
        return bool(check_changed_by(value))
    except InvalidTask:
        return False


_AUTHOR = "1 to 128 printable characters"

_TEXT = SettingKind()
_NAME = SettingKind(words="the name that the stack has", fits=bool)
_SWITCH = SettingKind(bool, {"on": True, "off": False}.__getitem__, "on or off", values=("on", "off"))
_DAYS = SettingKind(
    timedelta,
    lambda text: timedelta(days=int(text)),
    f"1 to {_MAX_RETENTION.days} days",
    least=1,
    most=_MAX_RETENTION.days,
    fits=lambda value: timedelta(0) < value <= _MAX_RETENTION,
)
_TEXTS = _several("texts with commas between them")


class Setting(msgspec.Struct, frozen=True):
    """A row of the table.

    variable  its environment variable
    kind      the values that it takes
    means     its meaning
    of        its only reader, the worker or the clients; empty if both read it
    """

    variable: str
    kind: SettingKind
    means: str
    of: Literal["", "worker", "clients"] = ""

    def read(self, text: str) -> Any:
        """The value of a text. Raises InvalidSettings."""
        try:
            return self.kind.read(text)
        except (LookupError, OverflowError, ValueError):
            raise self._wrong(text) from None

    def check(self, value: object) -> None:
        """Raise InvalidSettings for a value that is not of the kind."""
        kind = self.kind
        if not isinstance(value, kind.type_):
            expected = kind.type_.__name__
            raise InvalidSettings(self.variable, f"must be of type {expected}, not {quoted(value)}")
        if not kind.fits(value):
            raise self._wrong(value)

    def _wrong(self, value: object) -> InvalidSettings:
        return InvalidSettings(self.variable, f"must be {self.kind.words}, not {quoted(value)}")


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
        "DUEBELL_CHANGED_BY", SettingKind(words=_AUTHOR, fits=_is_author),
        f"The author of a client's changes: {_AUTHOR}.", of="clients",
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
        "DUEBELL_INTAKE_ACTIONS", _TEXTS,
        "The only actions whose tasks messages may add and change, separated by commas.", of="worker",
    ),
    "intake_verbs": Setting(
        "DUEBELL_INTAKE_VERBS",
        _several(f"some of {', '.join(INTAKE_VERBS)}", lambda value: set(value) <= set(INTAKE_VERBS)),
        f"The only values of `do` in messages, separated by commas: {', '.join(INTAKE_VERBS)}.", of="worker",
    ),
    "intake_prefixes": Setting(
        "DUEBELL_INTAKE_PREFIXES", _TEXTS,
        "The only beginnings of ids in messages, separated by commas.", of="worker",
    ),
}  # fmt: skip


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
                row.check(value)

    @property
    def head_start(self) -> timedelta:
        """The rule rings this long before a due date. A run then waits for that date."""
        return HEAD_START if self.precision is Precision.SECOND else NO_TIME

    @property
    def retention_policy(self) -> RetentionPolicy:
        """The rules by which ended tasks are kept."""
        return RetentionPolicy(retention=self.retention, history=self.history, payload=self.kept_payload)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings that the `DUEBELL_…` variables give, with defaults for those that are not set."""
        name = environ.get("DUEBELL_NAME", "").strip()
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
                given[field] = row.read(text.strip())
            else:
                given.pop(field, None)  # a template sets it to "" if it is not given
        return cls(**given)
