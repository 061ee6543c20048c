"""Another version of the user's code, or of duebell, while tasks are queued: nothing is lost."""

from datetime import timedelta
from pathlib import Path

import pytest

from duebell import ProblemKind, Status
from tests.e2e.deployer import LATER, Deployer
from tests.support import SetFor

pytestmark = pytest.mark.e2e

#: Soon, and not so soon that the worker is called for it at once.
SOON = timedelta(seconds=5)

VERSION = """
from duebell import Abort, Worker

worker = Worker.from_env()


@worker.action("which")
def which() -> None:
    raise Abort("version {number}")
"""


@pytest.fixture
def versions(tmp_path: Path) -> list[Path]:
    """Two folders with a version of the code each."""
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder in folders:
        folder.mkdir()
        (folder / "versioned.py").write_text(VERSION.format(number=folder.name))
    return folders


def test_there_and_back(deployer: Deployer, versions: list[Path]) -> None:
    first, second = versions
    # Given tasks that wait, one of them due when the rule rings next
    editor = deployer.deploy(folder=first, actions="versioned:worker")
    editor.add("which", due=LATER, id="later")
    editor.add("which", due=SOON, id="across the upgrade")

    # When the code is upgraded, what was added before is run by the new one
    deployer.deploy(folder=second, actions="versioned:worker")
    assert deployer.why_failed(editor, "across the upgrade") == "version 2"

    # And when it is rolled back, by the old one again
    editor.add("which", due=SOON, id="across the way back")
    deployer.deploy(folder=first, actions="versioned:worker")
    assert deployer.why_failed(editor, "across the way back") == "version 1"

    # Then what is due later still waits, and the rule is armed for it
    assert editor.get("later").status is Status.SCHEDULED
    assert deployer.rule == SetFor(LATER)
    wrong = {problem.kind for problem in editor.status().problems}
    assert wrong <= {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}
