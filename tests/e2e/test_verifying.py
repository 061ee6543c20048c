"""`duebell verify` on the embedded stack: the real calls, the real rule, the bundled worker."""

import json
from pathlib import Path
from typing import Any

import pytest

from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import ACTIONS, HERE, duebell

pytestmark = pytest.mark.e2e


def test_the_embedded_stack_does_all_that_is_relied_on(tmp_path: Path) -> None:
    # Given a stack of its own: other tests leave failed and late tasks behind, which its check finds
    with EmbeddedStack(tmp_path / "stack", actions=ACTIONS, folder=HERE) as stack:
        done = duebell("verify", "--json", environment=stack.environment, timeout=600)
        items: list[Any] = stack.session.client("dynamodb").scan(TableName=stack.settings.table)["Items"]

    assert done.stderr == ""
    found = {document["check"]: document for document in map(json.loads, done.stdout.splitlines())}
    results = {name: finding["result"] for name, finding in found.items()}
    # The speed of some depends on the machine
    slower, skipped = (
        {name for name in found if results[name] == result} for result in ("slower path", "skipped")
    )
    assert slower <= {"at-once", "probe"}, found
    assert skipped <= {"rule", "probe"}, found
    assert set(results.values()) <= {"ok", "skipped", "slower path"}, found
    if results["probe"] == "ok":
        assert found["probe"]["figures"]["lateness_seconds"] >= 0
    assert not [item for item in items if item["id"]["S"].startswith("duebell-verify-")]
