"""Transcripts: whole answers of the program in a file, which are compared with what it answers now."""

import difflib
import fcntl
import itertools
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any
from unittest.mock import DEFAULT, Mock

from duebell import AwsUnavailable, Worker
from duebell.testing import Rehearsal
from duebell_editor.cli.options import duration
from duebell_shared.schedules.zones import TZDATA_VERSION
from tests.support import NOON

__all__ = ["NO_ANSWER", "check", "compare", "compare_row", "failing", "masked", "stage"]

NO_ANSWER = AwsUnavailable("no answer")

#: Patterns that differ between machines and between runs, and the mask of each.
_VARYING = {
    r"\b[0-9a-f]{32}\b": "<hash>",
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){4}[0-9a-f]{8}\b": "<id>",
    r"\b[0-9a-f]{12}\b": "<version>",
    r"(?s)Traceback.*?(?:ValueError|duebell_shared\.errors\.\w+)": "<traceback>",
    rf"\b({'|'.join(map(re.escape, [TZDATA_VERSION, version('duebell'), python_version()]))})\b": "<release>",
}


@dataclass
class Letter:
    to: str
    copies: int = 1


def stage() -> Rehearsal:
    """A scheduler with the worker of the transcripts."""
    worker = Worker()

    @worker.action(at_most=5, per_second=10)
    def mail(letter: Letter) -> dict[str, str]:
        return {"sent": letter.to}

    @worker.action(attempts=2)
    def charge(payload: dict[str, int]) -> None:
        made.work(timedelta(seconds=2))
        if payload.get("cents", 0) > 100:
            raise ValueError("the card\nwas declined")

    @worker.recurring("0 9 * * MON-FRI", timezone="Europe/Berlin", id="daily")
    @worker.action
    def report(payload: dict[str, Any]) -> None: ...

    made = Rehearsal(worker, now=NOON)
    return made


def check(file: Path, stage: Rehearsal, ask: Callable[[str], str]) -> None:
    """Ask the lines that begin with `$ `, and compare the answers with those in the file.

    A comment lets time pass with runs, `# 2h passes`, or without, `# 10m lost`; `# deployed` deploys.
    """
    now = ""
    for line in re.findall(r"(?m)^[$#] .*$", file.read_text(encoding="utf-8")):
        random.seed(1)  # waits after failed attempts are random
        match line.split():
            case ["#", length, "passes"]:
                stage.let_time_pass(duration(length))
            case ["#", length, "lost"]:
                stage.work(duration(length))
            case ["#", "deployed"]:
                stage.deploy()
        answer = ask(line[2:]) if line[0] == "$" else ""
        now += f"{line}\n{masked(answer)}"
    compare(file, now)


def failing(store: Any, method: str, times: int, error: Any = NO_ANSWER) -> Mock:
    """The method of the store, whose first calls raise the error, or return it if it is no exception."""
    return Mock(wraps=getattr(store, method), side_effect=[error] * times + [DEFAULT] * 999)


def masked(text: str) -> str:
    """The text with a mask for each of these patterns."""
    for pattern, mask in _VARYING.items():
        text = re.sub(pattern, mask, text)
    return text


def compare_row(file: Path, name: str, now: str) -> None:
    """Compare the row of this name, as `compare` does a file."""
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # pytest-xdist may write several rows at a time
        rows = dict(line.split(": ", 1) for line in file.read_text(encoding="utf-8").splitlines())
        rows[name] = masked(now)
        compare(file, "".join(f"{row}: {text}\n" for row, text in rows.items()))


def compare(file: Path, now: str) -> None:
    """Compare the file with this text. With TRANSCRIPTS=write in the environment, write the text first."""
    if os.environ.get("TRANSCRIPTS") == "write":
        file.write_text(now, encoding="utf-8")
    kept = file.read_text(encoding="utf-8")
    changed = difflib.unified_diff(kept.splitlines(), now.splitlines(), n=1, lineterm="")
    assert kept == now, "\n".join(itertools.islice(changed, 2, 40))
