"""To the second, for real: the worker is called, waits for each moment, and hands over to the next run."""

from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Editor, Status
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.instants import utc_now
from duebell_shared.settings import Precision
from tests.e2e.support import ACTIONS, HERE, wait_for

pytestmark = pytest.mark.e2e


def test_tasks_start_at_their_second_and_never_before(tmp_path: Path) -> None:
    # Given a scheduler to the second, whose runs are so short that one has to hand over to another
    parameters = {"Precision": Precision.SECOND, "Timeout": "30"}
    with EmbeddedStack(tmp_path / "stack", actions=ACTIONS, folder=HERE, parameters=parameters) as stack:
        editor = Editor(stack.settings, session=stack.session)

        # When tasks are added that are due sooner than a rule could ring
        dues = [utc_now() + timedelta(seconds=seconds) for seconds in (0, 4.5, 9.25, 18, 33.5, 41)]
        tasks = [editor.add("succeed", due=due) for due in dues]
        rings_at = editor.status().rings_at
        assert rings_at

        # Then each is done, none of them early, and the first ones before the rule could have rung
        wait_for(lambda: editor.get(tasks[-1].id).status is Status.DONE)
        done = [editor.get(task.id) for task in tasks]
        assert all(task.status is Status.DONE and task.lateness_ms is not None for task in done)
        assert all(task.started_at and task.started_at >= task.due for task in done)
        assert done[1].started_at
        assert done[1].started_at < rings_at
        # By more than one run, each the successor of the one before
        assert len({task.run for task in done}) > 1
