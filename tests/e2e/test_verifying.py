"""`duebell verify` on the embedded stack: the real calls, the real rule, the bundled worker."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import ACTIONS, COMMAND, HERE

pytestmark = pytest.mark.e2e

#: The checks that tell how long something took.
TIMED = {"at-once", "probe"}


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[EmbeddedStack]:
    """A stack of its own: other tests leave failed and late tasks behind, which its check finds."""
    with EmbeddedStack(tmp_path / "stack", actions=ACTIONS, folder=HERE) as stack:
        yield stack


def verify(stack: EmbeddedStack, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, "verify", "--json", *arguments],
        env={**os.environ, **stack.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def own_items(stack: EmbeddedStack) -> list[str]:
    """The ids of a verify's tasks that are in the table."""
    items: list[Any] = stack.session.client("dynamodb").scan(TableName=stack.settings.table)["Items"]
    return [item["id"]["S"] for item in items if item["id"]["S"].startswith("duebell-verify-")]


def test_the_embedded_stack_does_all_that_is_relied_on(stack: EmbeddedStack) -> None:
    said, error = verify(stack).communicate(timeout=600)
    found = {document["check"]: document for document in map(json.loads, said.splitlines())}

    results = {name: finding["result"] for name, finding in found.items()}
    assert error == ""
    slower = {name for name, result in results.items() if result == "slower path"}
    assert slower <= TIMED, found  # how fast they are is the machine's affair
    assert set(results.values()) <= {"ok", "skipped", "slower path"}, found
    skipped = {name for name, result in results.items() if result == "skipped"}
    assert skipped <= {"rule", "probe"}, found
    if results["probe"] == "ok":
        assert found["probe"]["figures"]["lateness_seconds"] >= 0
    assert own_items(stack) == []
