"""Answers and refusals of the library, line by line: see `transcript.txt`."""

import base64
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from duebell import Calendar, DuebellError, Settings, Then
from duebell_editor.intake.messages import Message, entries_of
from duebell_editor.library.calendars import ics_calendar
from tests import transcript
from tests.intake.conftest import record
from tests.support import NOON


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction", "ignore::duebell.DoubtfulPayload")
def test_answers_and_refusals_are_as_kept() -> None:
    stage = transcript.stage()
    editor = stage.editor.acting_as("anna")

    def ids(*given: Any, **filters: Any) -> list[str]:
        return [task.id for task in editor.list(*given, **filters).tasks]

    def counts(buckets: Any, *names: str) -> list[Any]:
        return [(f"{one.start:%d %H:%M}", *(getattr(one, name) for name in names)) for one in buckets]

    def cursor(*position: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()

    def events(*events: str) -> str:
        return "".join(f"BEGIN:VEVENT\n{one}\nEND:VEVENT\n" for one in events)

    def message(body: object, **rights: Any) -> list[str]:
        settings = Settings(**{f"intake_{name}": some for name, some in rights.items()})
        return [str(one.wanted) for one in entries_of(Message.of(record(body), NOON), settings)]

    def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
        return datetime(2026, 11, day, hour, minute, tzinfo=UTC)

    names = {
        **locals(), "Calendar": Calendar, "Then": Then, "date": date,
        "datetime": datetime, "ics_calendar": ics_calendar, "timedelta": timedelta, "UTC": UTC,
        "MS": timedelta(milliseconds=1), "HOUR": timedelta(hours=1), "DAY": timedelta(days=1), "NOON": NOON,
    }  # fmt: skip

    def ask(line: str) -> str:
        try:
            answer = eval(line, names)
            return f"{msgspec.json.encode(answer, enc_hook=str).decode()}\n"
        except DuebellError as error:
            return f"{type(error).__name__}: {error}\n"

    transcript.check(Path(__file__).with_name("transcript.txt"), stage, ask)
