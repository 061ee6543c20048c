"""The status when all is well, of tasks that failed or are overdue, and when AWS refuses or is away."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.model import OperationModel

from duebell import Editor, ProblemKind, Settings
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from tests.editor.health import DUE, problem
from tests.support import Calls

# When all is well.


def test_a_queue_never_used_is_well(editor: Editor) -> None:
    status = editor.status(thorough=True)
    assert status.healthy
    assert (status.table, status.rule, status.lanes) == ("duebell", "duebell", 4)
    assert (status.expression, status.enabled, status.armed) == (SENTINEL, True, True)
    assert (status.rings_at, status.next_due, status.running) == (None, None, 0)


def test_a_status_writes_nothing(editor: Editor, calls: Calls) -> None:
    editor.ensure_armed()
    calls.clear()
    editor.status(thorough=True)
    assert set(calls) == {"GetItem", "Query", "DescribeRule", "ListTargetsByRule", "GetQueueAttributes"}


# Problems that only a thorough look finds.


@pytest.mark.parametrize(
    ("message", "what", "way_out"),
    [
        (
            "The table does not have the specified index: past-index",
            "no past-index",
            "create it by the command in docs/operations.md, beside past_index",
        ),
        (
            "Cannot read from backfilling global secondary index: past-index",
            "still building the past-index",
            "wait some minutes, for a large table hours, and repeat",
        ),
    ],
    ids=["missing", "being built"],
)
def test_a_table_whose_past_index_cannot_be_read_says_why_and_goes_on(
    backend: Backend, editor: Editor, message: str, what: str, way_out: str
) -> None:
    # Given a table whose index of the past cannot be read, as DynamoDB says it, with a task in it
    def refuse(model: OperationModel, params: dict[str, Any], **_: object) -> tuple[Any, Any] | None:
        if b"past-index" not in params["body"]:
            return None
        error = {"Code": "ValidationException", "Message": message}
        return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}

    events: Any = backend.store._client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.dynamodb.Query", refuse)
    editor.add("act", due=DUE, id="one")
    # Then all goes on but what needs it
    assert [task.id for task in editor.list().tasks] == ["one"]
    found = problem(editor, ProblemKind.PAST_INDEX)
    assert what in found.what
    assert found.way_out == way_out
    assert (editor.status().failed, editor.status().lanes) == (None, 4)
    with pytest.raises(NotDeployed, match=way_out):
        editor.list(status="failed")
    with pytest.raises(NotDeployed, match=way_out):
        editor.relane(8)


# When it cannot be looked at.


def test_a_table_that_is_not_there(session: boto3.Session) -> None:
    editor = Editor(Settings(table="other"), session=session)
    found = problem(editor, ProblemKind.TABLE)
    assert found.what == "there is no DynamoDB table 'other' in eu-central-1"
    assert (editor.status().lanes, editor.status().expression) == (0, "")
    assert [one.kind for one in editor.doctor().status.problems] == [ProblemKind.TABLE]


@pytest.mark.parametrize(
    ("name", "method", "kind"),
    [("store", "read_record", ProblemKind.TABLE), ("rule", "read", ProblemKind.RULE)],
)
def test_what_aws_refuses_is_a_problem_and_what_it_does_not_answer_is_an_error(
    editor: Editor,
    backend: Backend,
    *,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    method: str,
    kind: ProblemKind,
) -> None:
    def failing(error: Exception) -> Callable[[], None]:
        def fail() -> None:
            raise error

        return fail

    editor.ensure_armed()
    monkeypatch.setattr(getattr(backend, name), method, failing(AwsRefused("may not")))
    found = problem(editor, kind)
    assert str(found) == "may not: give this user or role the permissions of a client"
    monkeypatch.setattr(getattr(backend, name), method, failing(AwsUnavailable("no answer")))
    with pytest.raises(AwsUnavailable, match="no answer"):
        editor.status()
