"""A deployment tells what it changes of the recurring tasks that the code declares."""

from collections.abc import Callable
from typing import Any

import pytest

from duebell import Editor, Worker
from duebell_infra.deploy.worker import sync_declared
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from tests.support import Clock


@pytest.fixture
def told(editor: Editor, backend: Backend) -> Callable[..., list[str]]:
    """The lines of a deployment of code that declares these tasks, by id: their arguments of `recurring`."""

    def told(**declared: Any) -> list[str]:
        worker = Worker(backend=backend, pool=lambda _: InlinePool())
        action = worker.action("scan")(lambda: None)
        for id, arguments in declared.items():
            worker.recurring(**{"schedule": "rate(1 day)", **arguments}, id=id)(action)
        worker.register()
        lines: list[str] = []
        sync_declared(editor, say=lines.append)
        return lines

    return told


def test_each_change_is_told_and_when_the_rule_rings_then(
    told: Callable[..., list[str]], editor: Editor
) -> None:
    def rings() -> str:
        rings_at = editor.status().rings_at
        assert rings_at
        return f"sync  the rule rings by {rings_at.astimezone():%Y-%m-%d %H:%M}"

    assert told(daily={}, hourly={"schedule": "rate(1 hour)"}) == [
        "sync  add daily (scan, rate(1 day))",
        "sync  add hourly (scan, rate(1 hour))",
        rings(),
    ]
    before = rings()
    assert told(daily={"timezone": "Europe/Berlin"}, hourly={"schedule": "rate(50 minutes)"}) == [
        "sync  change daily (scan, rate(1 day)), timezone",
        "sync  change hourly (scan, rate(50 minutes)), schedule",
        rings(),
    ]
    assert rings() != before  # what a run knew before this is outdated
    assert told(daily={"timezone": "Europe/Berlin"})[0] == ("sync  cancel hourly (scan, rate(50 minutes))")
    assert told(daily={"timezone": "Europe/Berlin"}) == []


def test_what_could_not_be_made_is_not_told_as_made(
    told: Callable[..., list[str]], editor: Editor, clock: Clock
) -> None:
    editor.add("scan", due=clock(), id="daily")
    [line] = told(daily={})
    assert line.startswith("sync  daily stays as it was, call `duebell sync` later: a task 'daily' exists")


def test_a_worker_that_has_not_started_is_told_of(editor: Editor) -> None:
    lines: list[str] = []
    sync_declared(editor, say=lines.append)
    [line] = lines
    assert line.startswith("sync  not brought to what the code declares, for no worker has made itself known")
