"""What `status`, `list` and `show` say of a task that owes a follow-up, and of why it could not be added."""

import re
from datetime import timedelta

from duebell import Editor, Then
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from tests.cli.program import Duebell, lines
from tests.support import NOON, Clock

MINUTE = timedelta(minutes=1)


def test_a_task_that_owes_is_told_with_the_reason(
    duebell: Duebell, editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given a task that is done, whose follow-up DynamoDB throttles
    task = editor.add("charge", due=MINUTE, id="charge-42", then=Then("invoice"))
    done = task.done(now=NOON + MINUTE, keep=RetentionPolicy(retention=timedelta(days=1)))
    late = done.follow_up_failed("DynamoDB throttles: try later")
    assert backend.store.save(task, done)
    assert backend.store.save(done, late)
    clock.advance(10 * MINUTE)

    # Then each says so
    status, out, _ = duebell("status")
    assert status == 6
    assert "owing: " in out
    assert "the last try failed: DynamoDB throttles: try later" in " ".join(out.split())
    assert "tasks are overdue" not in out
    assert lines(duebell("status", "--json").out)[0]["owing"] == 1
    assert (
        lines(duebell("list", "--status", "done", "--json").out)[0]["owes"]["at"]
        == "2026-11-21T12:01:00.000Z"
    )
    shown = duebell("show", "charge-42").out
    assert "at: 2026-11-21 12:01:00 UTC (9 min ago)" in shown
    assert re.search("follow up error +DynamoDB throttles: try later", shown)

    # And when it never could be added, that it could not
    assert backend.store.save(late, late.follow_up_settled("both ids are taken"))
    assert re.search("follow up error +both ids are taken", duebell("show", "charge-42").out)
    assert "owing: " not in duebell("status").out
