"""The worker in the very bundle makes itself known, and what it declares is there once it was deployed."""

import json

import pytest

from duebell import Editor, InvalidTask
from duebell_infra.local.stack import EmbeddedStack
from duebell_worker.worker import lanes_in
from tests.support import NOON

pytestmark = pytest.mark.e2e

#: A run for no lanes: it only sets the rule.
ARMING: dict[str, dict[str, list[int]]] = {"duebell": {"lanes": []}}


def test_the_worker_of_the_bundle_is_known_by_its_first_call(
    stack: EmbeddedStack, stack_editor: Editor
) -> None:
    assert lanes_in(ARMING) == ()
    stack.session.client("lambda").invoke(
        FunctionName=stack.settings.rule, Payload=json.dumps(ARMING).encode()
    )
    worker = stack_editor.worker()
    assert worker
    assert worker.error is None
    actions = {one.name: one for one in worker.actions}
    assert actions["fail_once"].attempts == 3
    assert actions["tell"].schema == {"type": "string"}
    assert stack_editor.status().worker_error is None
    # And what it cannot read is not stored
    with pytest.raises(InvalidTask, match=r"^payload: must be text, for the action 'tell'"):
        stack_editor.add("tell", due=NOON, payload={})
