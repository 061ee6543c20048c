"""The settings of a scheduler, from the environment or given in code."""

import os
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Self, TypeVar

import msgspec

from .bell.arming import HEAD_START
from .bell.bell import BellKind
from .errors import InvalidSettings, InvalidTask
from .keeping import KEPT_PAYLOAD, RETENTION, History, Keeping
from .payloads.payload import MAX_BYTES
from .quoting import quoted
from .tasks.given import check_changed_by

__all__ = ["LOCAL", "MAX_LANES", "MAX_RUNS", "Color", "Precision", "Settings"]

#: The name that stands for the stack of `duebell local` on the command line; no other can have it.
LOCAL = "local"

#: More lanes mean more queries for each run, and a larger arming record.
MAX_LANES = 64

#: With more runs side by side, most of their time would be waiting for the arming record.
MAX_RUNS = 16

#: The longest label; it stands in the page's header.
_MAX_LABEL = 32

#: What messages of the intake queue may ask for.
INTAKE_VERBS = ("add", "move", "update", "cancel")

#: A century.
MAX_RETENTION = timedelta(days=36500)

_E = TypeVar("_E", bound=StrEnum)
_D = TypeVar("_D")


class Precision(StrEnum):
    """The precision of start times: EventBridge's minute, or the second, for which runs wait."""

    MINUTE = "minute"
    SECOND = "second"


class Color(StrEnum):
    """The colours that tell one environment from another on the page and in a terminal."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"
    GRAY = "gray"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one scheduler. Raises InvalidSettings for values that cannot be right.

    table      name of the DynamoDB table, the queue (`DUEBELL_TABLE`)
    rule       name of the bell: the EventBridge rule on the default bus, or the schedule (`DUEBELL_RULE`)
    bell       what wakes the worker: rule, or schedule, one of EventBridge Scheduler in its default group
               (`DUEBELL_BELL`)
    lanes      partitions of the queue, 1 to 64; read only when the queue is first used (`DUEBELL_LANES`)
    retention  how long ended tasks are kept as history (`DUEBELL_RETENTION_DAYS`)
    history    which of them are: all, failed or none, see History (`DUEBELL_HISTORY`)
    kept_payload  bytes of the largest payload that a done task keeps; 0 for none (`DUEBELL_KEPT_PAYLOAD`)
    metrics    whether the worker's log holds metrics for CloudWatch (`DUEBELL_METRICS`, on or off)
    precision  how near to their due date tasks start; the worker's counts (`DUEBELL_PRECISION`)
    function   name of the worker's Lambda, to be invoked directly for tasks that are due sooner than the rule
               can ring; without one they wait for the rule (`DUEBELL_FUNCTION`)
    max_runs   how many runs share what one cannot do in time, 1 to 16; runs need `function` to start others
               (`DUEBELL_MAX_RUNS`)
    changed_by who changes tasks, for an editor's notes: 1 to 128 printable characters (`DUEBELL_CHANGED_BY`)
    name       the scheduler's name; table, rule and function have it unless they are given (`DUEBELL_NAME`)
    label      what the status and the page call the environment, such as production; at most 32 printable
               characters (`DUEBELL_LABEL`)
    color      the colour of the label, see Color (`DUEBELL_COLOR`)
    strict_actions  whether an editor refuses tasks for actions that the worker does not have, instead of a
               warning (`DUEBELL_STRICT_ACTIONS`, on or off)
    intake     name of the intake queue, whose messages add and change tasks; None if there is none
               (`DUEBELL_INTAKE`)
    intake_actions   the only actions whose tasks messages add and change, with commas
               (`DUEBELL_INTAKE_ACTIONS`)
    intake_verbs     the only values of `do` that messages have: add, move, update, cancel
               (`DUEBELL_INTAKE_VERBS`, with commas)
    intake_prefixes  the only beginnings of ids that messages have (`DUEBELL_INTAKE_PREFIXES`, with commas)
    """

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
    max_runs: int = 4
    changed_by: str | None = None
    name: str = ""
    label: str = ""
    color: Color | None = None
    strict_actions: bool = False
    intake: str | None = None
    intake_actions: tuple[str, ...] = ()
    intake_verbs: tuple[str, ...] = ()
    intake_prefixes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.table:
            raise InvalidSettings("DUEBELL_TABLE", "is empty: give the name of the DynamoDB table")
        if not self.rule:
            raise InvalidSettings("DUEBELL_RULE", "is empty: give the name of the rule or schedule")
        if not 1 <= self.lanes <= MAX_LANES:
            raise InvalidSettings("DUEBELL_LANES", f"must be 1 to {MAX_LANES}, not {self.lanes}")
        if not timedelta(0) < self.retention <= MAX_RETENTION:
            raise InvalidSettings("DUEBELL_RETENTION_DAYS", f"must be 1 to {MAX_RETENTION.days}")
        if not 0 <= self.kept_payload <= MAX_BYTES:
            raise InvalidSettings(
                "DUEBELL_KEPT_PAYLOAD", f"must be 0 to {MAX_BYTES} bytes, not {self.kept_payload}"
            )
        if not 1 <= self.max_runs <= MAX_RUNS:
            raise InvalidSettings("DUEBELL_MAX_RUNS", f"must be 1 to {MAX_RUNS}, not {self.max_runs}")
        if len(self.label) > _MAX_LABEL or not self.label.isprintable():
            raise InvalidSettings(
                "DUEBELL_LABEL",
                f"must be at most {_MAX_LABEL} printable characters, not {quoted(self.label)}",
            )
        if unknown := [one for one in self.intake_verbs if one not in INTAKE_VERBS]:
            raise InvalidSettings(
                "DUEBELL_INTAKE_VERBS", f"{quoted(unknown[0])} is not one of {', '.join(INTAKE_VERBS)}"
            )
        try:
            check_changed_by(self.changed_by)
        except InvalidTask as error:
            raise InvalidSettings("DUEBELL_CHANGED_BY", error.reason) from None

    @property
    def head_start(self) -> timedelta:
        """The time before a due date at which the rule rings, so that a run waits for it."""
        return HEAD_START if self.precision is Precision.SECOND else timedelta(0)

    @property
    def keeping(self) -> Keeping:
        """The rules by which ended tasks are kept."""
        return Keeping(retention=self.retention, history=self.history, payload=self.kept_payload)

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
        return cls(
            table=environ.get("DUEBELL_TABLE", name or "duebell"),
            rule=environ.get("DUEBELL_RULE", name or "duebell"),
            bell=_one_of(BellKind, environ, "DUEBELL_BELL", BellKind.RULE),
            lanes=_whole_number(environ, "DUEBELL_LANES", 4),
            retention=_days(environ, "DUEBELL_RETENTION_DAYS", RETENTION.days),
            history=_one_of(History, environ, "DUEBELL_HISTORY", History.ALL),
            kept_payload=_whole_number(environ, "DUEBELL_KEPT_PAYLOAD", KEPT_PAYLOAD),
            metrics=_switch(environ, "DUEBELL_METRICS"),
            precision=_one_of(Precision, environ, "DUEBELL_PRECISION", Precision.MINUTE),
            function=environ.get("DUEBELL_FUNCTION", name) or None,
            max_runs=_whole_number(environ, "DUEBELL_MAX_RUNS", 4),
            changed_by=environ.get("DUEBELL_CHANGED_BY") or None,
            name=name,
            label=environ.get("DUEBELL_LABEL", ""),
            color=_one_of(Color, environ, "DUEBELL_COLOR", None),
            strict_actions=_switch(environ, "DUEBELL_STRICT_ACTIONS"),
            intake=environ.get("DUEBELL_INTAKE") or None,
            intake_actions=_several(environ, "DUEBELL_INTAKE_ACTIONS"),
            intake_verbs=_several(environ, "DUEBELL_INTAKE_VERBS"),
            intake_prefixes=_several(environ, "DUEBELL_INTAKE_PREFIXES"),
        )


def _whole_number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise InvalidSettings(name, f"must be a whole number, not {quoted(text)}") from None


def _several(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The texts between commas. Raises InvalidSettings if one is empty."""
    texts = tuple(map(str.strip, environ[name].split(","))) if environ.get(name) else ()
    if not all(texts):
        raise InvalidSettings(name, f"must be texts with commas between them, not {quoted(environ[name])}")
    return texts


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "off")
    if text not in {"on", "off"}:
        raise InvalidSettings(name, f"must be on or off, not {quoted(text)}")
    return text == "on"


def _one_of(kind: type[_E], environ: Mapping[str, str], name: str, default: _D) -> _E | _D:
    text = environ.get(name)
    if not text:
        return default
    try:
        return kind(text)
    except ValueError:
        *most, last = kind
        raise InvalidSettings(name, f"must be {', '.join(most)} or {last}, not {quoted(text)}") from None


def _days(environ: Mapping[str, str], name: str, default: int) -> timedelta:
    days = _whole_number(environ, name, default)
    return timedelta(days=min(max(days, 0), MAX_RETENTION.days + 1))  # within what a timedelta can hold
