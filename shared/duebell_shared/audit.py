"""The audit trail: each change by an editor is a log line, and with DUEBELL_AUDIT=table an item as well.

The items of a month have one partition key, so the trail takes 1,000 changes a second and 10 GB a month. An
item is written after its change. If that write fails, the change stays, and only the log line records it.
"""

import itertools
import logging
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from .errors import DuebellError, InvalidQuery
from .instants import Instant
from .log_lines import log_event
from .settings import AuditTo, Settings
from .tasks.status import Status
from .tasks.task import Task

if TYPE_CHECKING:
    from .queue.store import Store

_LOG = logging.getLogger("duebell.audit")

_T = TypeVar("_T")

#: Items that one call writes.
_AT_ONCE = 25


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change by an editor.

    at      when it was stored, by the clock of its author
    what    a Verb; or add, replace, push, import, reserve, confirm, limit, wait_for, close, relane, repair,
            redrive, delete_letters, import_calendar
    who     the author, as on the task; of an import, the user who imports; None if unknown
    where   the command line's machine, the address of the page's visitor, the host or the function
    id      the task; None for a change of something else
    action  the task's action, or the action whose limits were set
    detail  other facts, such as the new limits
    from_status, from_rev, to_status, to_rev   the task before and after; None before, if it is new
    """

    at: Instant
    what: str
    who: str | None = None
    where: str = ""
    id: str | None = None
    action: str | None = None
    from_status: Status | None = None
    from_rev: int | None = None
    to_status: Status | None = None
    to_rev: int | None = None
    detail: str | None = None


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """A page of changes; `cursor` gives the next one, and is None when this is the last."""

    changes: tuple[Change, ...]
    cursor: str | None = None


#: A cursor: the partition key and the sort key of an item.
_CURSOR = re.compile(r"changes \d{4}-\d{2}/\d{20} [0-9a-f]{8}")

_PLACE: ContextVar[str | None] = ContextVar("duebell_place", default=None)


def set_place(place: str) -> None:
    """Say where the changes of this process come from."""
    _PLACE.set(place)


@contextmanager
def from_place(place: str) -> Iterator[None]:
    """Say where the changes within the block come from."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


@cache
def _here() -> str:
    function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
    return f"function {function}" if function else f"host {platform.node() or 'unknown'}"


class Audit:
    """Notes the changes of editors, and reads them again."""

    def __init__(self, store: "Store", settings: Settings, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._keep = settings.audit_retention
        #: True if changes are kept as items.
        self.is_kept = settings.audit is AuditTo.TABLE

    def changed(
        self, what: str, *changes: tuple[Task | None, Task], who: str | UnsetType | None = UNSET
    ) -> None:
        """Note changes of tasks, before and after; `what` is the verb, and before is None for a new task.

        who  the author; if not given, the one that the task names
        """
        self._note(
            what,
            (
                {
                    "who": after.changed_by if who is UNSET else who,
                    "id": after.id,
                    "action": after.action,
                    "from_status": before and before.status,
                    "from_rev": before and before.rev,
                    "to_status": after.status,
                    "to_rev": after.rev,
                }
                for before, after in changes
            ),
        )

    def note(self, what: str, who: str | None, *, action: str | None = None, detail: str = "") -> None:
        """Note a change of something that is no task."""
        self._note(what, [{"who": who, "action": action, "detail": detail or None}])

    def logged(
        self, what: str, insert: Callable[[Sequence[Task]], list[_T]], who: str | UnsetType | None = UNSET
    ) -> Callable[..., list[_T]]:
        """Wrap `insert`, so that each task it stores is noted."""

        def insert_and_note(tasks: Sequence[Task]) -> list[_T]:
            inserted = insert(tasks)
            stored = [task for task, result in zip(tasks, inserted, strict=True) if result is True]
            self.changed(what, *((None, task) for task in stored), who=who)
            return inserted

        return insert_and_note

    def page(self, *, id: str | None, limit: int, cursor: str | None) -> Changes:
        """Do what `Editor.changes` does. A cursor is both keys of the last item of its page."""
        if not self.is_kept:
            raise InvalidQuery(
                "changes", "are not kept: deploy with --audit table, or set DUEBELL_AUDIT=table"
            )
        if cursor is not None and not _CURSOR.fullmatch(cursor):
            raise InvalidQuery("cursor", "is not one of an earlier page")
        found = (one for one in self._read(cursor) if id is None or one[1].id == id)
        page = list(itertools.islice(found, limit + 1))
        more = page[limit - 1][0] if len(page) > limit else None
        return Changes(changes=tuple(change for _, change in page[:limit]), cursor=more)

    def _read(self, cursor: str | None) -> Iterator[tuple[str, Change]]:
        """The changes that are kept, each with its cursor, the latest first, read month by month."""
        begin, behind = (cursor or "").partition("/")[::2]
        month, first = self._clock(), self._clock() - self._keep
        while month >= first.replace(day=1):
            key = _key_of(month)
            if not begin or key <= begin:
                for place, text in self._store.noted(key, behind=behind if key == begin else None):
                    change = msgspec.json.decode(text, type=Change)
                    if change.at > first:  # DynamoDB may keep expired items for days
                        yield f"{key}/{place}", change
            month = month.replace(day=1) - timedelta(days=1)

    def _note(self, what: str, noted: Iterable[Mapping[str, Any]]) -> None:
        """Note changes with these fields. If neither log nor table keeps them, `noted` is not read."""
        if not self.is_kept and not _LOG.isEnabledFor(logging.INFO):
            return
        where = _PLACE.get() or _here()
        changes = [Change(at=self._clock(), what=what, where=where, **fields) for fields in noted]
        for change in changes:
            log_event(_LOG, "changed", **{**asdict(change), "at": None})  # the line has its own time
        if not self.is_kept:
            return
        try:
            for start in range(0, len(changes), _AT_ONCE):
                some = changes[start : start + _AT_ONCE]
                texts = [(_key_of(one.at), msgspec.json.encode(one)) for one in some]
                self._store.note(texts, expires_at=self._clock() + self._keep)
        except DuebellError as error:
            _LOG.warning("changes are stored, and could not be noted in the table: %s", error)


def verb_of_add(task: Task) -> str:
    """The verb of a new task."""
    return "reserve" if task.status is Status.RESERVED else "add"


def _key_of(at: datetime) -> str:
    return f"changes {at:%Y-%m}"
