"""How many of our own functions a call goes through, and in how many modules."""

import sys
from collections import Counter
from datetime import timedelta
from types import FrameType
from typing import Any

import duebell_editor
import duebell_shared
from tests.editor.memory import Scheduler

OURS = tuple(package.__path__[0] for package in (duebell_shared, duebell_editor))


def calls_of_ours(call: Any) -> Counter[str]:
    """The named functions of ours that are called, by their modules."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and not code.co_name.startswith("<"):
            found[code.co_filename] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_an_add_goes_through_few_functions_and_modules() -> None:
    # Given a queue with a task that is due first
    scheduler = Scheduler.start()
    scheduler.editor.add("act", due=timedelta(hours=1))
    # When another is added
    calls = calls_of_ours(lambda: scheduler.editor.add("act", due=timedelta(hours=2), payload={"item": 42}))
    # Then it goes through few, those of the store in memory included
    assert calls.total() <= 64
    assert len(calls) <= 24
