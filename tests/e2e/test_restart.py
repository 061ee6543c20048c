"""A task outlives the stack that it was added to: it runs after the next start."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Editor, Status
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.instants import utc_now
from tests.e2e.support import ACTIONS, HERE, wait_for

pytestmark = pytest.mark.e2e

NOW = timedelta(seconds=0)


def started(state: Path) -> EmbeddedStack:
    return EmbeddedStack(state, actions=ACTIONS, folder=HERE)


def editor_of(stack: EmbeddedStack) -> Editor:
    return Editor(stack.settings, session=stack.session)


def is_done(editor: Editor, id: str) -> bool:
    return editor.get(id).status is Status.DONE


def test_it_runs_when_its_minute_passed_before_the_start(tmp_path: Path) -> None:
    with started(tmp_path) as stack:
        editor = editor_of(stack)
        editor.add("succeed", due=timedelta(minutes=1), id="missed")
        rings_at = editor.status().rings_at

    wait_for(lambda: rings_at is not None and utc_now() > rings_at)

    with started(tmp_path) as stack:
        wait_for(lambda: is_done(editor_of(stack), "missed"))
        wait_for(lambda: editor_of(stack).status().rings_at is None)


def test_an_action_at_work_ends_with_the_stack(tmp_path: Path) -> None:
    file = tmp_path / "process"
    with started(tmp_path / "state") as stack:
        editor_of(stack).add("linger", due=NOW, payload={"file": str(file)})
        stack.session.client("lambda").invoke(FunctionName="duebell", InvocationType="Event")
        wait_for(lambda: file.exists() and file.read_text())

    wait_for(lambda: not is_alive(int(file.read_text())))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
