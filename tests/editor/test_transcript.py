"""Answers and refusals of the library, line by line: see `transcript.txt`."""

import base64
import json
import re
import warnings
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from duebell import Calendar, DuebellError, Editor, Settings, Then
from duebell_editor.intake.messages import Message, entries_of
from duebell_editor.library.calendars import ics_calendar
from duebell_editor.library.json_fields import preview_fields, status_fields, task_fields
from duebell_editor.simulation import cost
from duebell_shared import errors
from duebell_shared.bell import arming
from duebell_shared.parallel import Parallel
from duebell_shared.queue import changes
from duebell_shared.schedules import schedule as schedules
from duebell_shared.settings import AuditTo
from duebell_shared.tasks import worker_record
from tests import transcript
from tests.intake.conftest import record
from tests.support import NOON


def cursor(*position: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def events(*events: str) -> str:
    return "".join(f"BEGIN:VEVENT\n{one}\nEND:VEVENT\n" for one in events)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


#: Further names that a line may use.
NAMES: dict[str, Any] = {
    "Calendar": Calendar, "Then": Then, "UTC": UTC, "date": date, "datetime": datetime, "json": json,
    "timedelta": timedelta, "MS": timedelta(milliseconds=1), "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1), "NOON": NOON, "cursor": cursor, "events": events, "at": at,
    "ics_calendar": ics_calendar, "preview_fields": preview_fields, "status_fields": status_fields,
    "task_fields": task_fields, "Editor": Editor, "Settings": Settings, "replace": msgspec.structs.replace,
    "errors": errors, "arming": arming, "worker_record": worker_record, "changes": changes, "cost": cost,
    "schedules": schedules,
}  # fmt: skip


def failing(store: Any, name: str, call: Any, times: int = 99, error: Any = transcript.NO_ANSWER) -> Any:
    """The result of the call, while the first calls of this method of the store fail."""
    with patch.object(store, name, transcript.failing(store, name, times, error)):
        return call()


@patch("duebell_editor.library.adder._THREADS", 1)  # the same calls fail each time
@pytest.mark.parametrize(
    "name", ["transcript", "states", "imports", "aws", "forecasts", "crowd", "scenes", "plans"]
)
def test_answers_and_refusals_are_as_kept(name: str, caplog: pytest.LogCaptureFixture) -> None:
    stage = transcript.stage()
    backend = msgspec.structs.replace(
        stage.editor._backend, settings=Settings(audit=AuditTo.TABLE), parallel=Parallel(1)
    )
    editor = Editor(backend=backend).acting_as("anna")

    def ids(*given: Any, **filters: Any) -> list[str]:
        return [task.id for task in editor.list(*given, **filters).tasks]

    def counts(buckets: Any, *names: str) -> list[Any]:
        return [(f"{one.start:%d %H:%M}", *(getattr(one, name) for name in names)) for one in buckets]

    def message(body: object, **rights: Any) -> list[str]:
        settings = Settings(**{f"intake_{name}": some for name, some in rights.items()})
        return [str(one.wanted) for one in entries_of(Message.of(record(body), NOON), settings)]

    def crowd(number: int, make: Any, first: int = 0) -> int:
        return len(editor.add_many(map(make, range(first, number))).added)

    def line(of: str, **changes: Any) -> str:
        """The task as it is exported, but for these attributes."""
        [task] = [one for one in map(json.loads, editor.export_tasks()) if one["id"] == of]
        return json.dumps(task | changes)

    names = {**NAMES, **locals(), "failing": partial(failing, backend.store)}

    def ask(line: str) -> str:
        caplog.clear()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                answer = msgspec.json.encode(eval(line, names), enc_hook=str).decode()
            except DuebellError as error:
                answer = f"{type(error).__name__}: {error}"
        answer = re.sub(r'"where":"[^"]*"', '"where":"…"', answer)
        told = [f"{one.category.__name__}: {one.message}" for one in warned] + caplog.messages
        return "".join(f"{one}\n" for one in (answer, *told))

    transcript.check(Path(__file__).with_name(f"{name}.txt"), stage, ask)
