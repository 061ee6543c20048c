"""Another version of the user's code, or of duebell, while tasks are queued: nothing is lost."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duebell import Editor, NotDeployed, ProblemKind, Status
from duebell_infra.deploy import deploy as module
from duebell_infra.deploy.template import template_text
from duebell_infra.errors import BundleFailed, WorkerFailed
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import wait_for
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


def test_code_that_cannot_be_imported_loses_nothing(deployer: Deployer, versions: list[Path]) -> None:
    first, second = versions
    editor = deployer.deploy(folder=first, actions="versioned:worker")
    (second / "versioned.py").write_text("raise RuntimeError('broken')\nworker = None\n")
    editor.add("which", due=LATER, id="later")
    editor.add("which", due=SOON, id="held up")
    with pytest.raises(BundleFailed, match="broken"):
        deployer.deploy(folder=second, actions="versioned:worker")
    with pytest.raises(WorkerFailed, match="broken"):
        deployer.deploy(folder=second, actions="versioned:worker", imported=False)
    with pytest.raises(AssertionError, match="broken"):
        deployer.run()
    assert editor.get("held up").status is Status.SCHEDULED
    assert editor.status().rings_at

    deployer.deploy(folder=first, actions="versioned:worker")

    assert deployer.why_failed(editor, "held up") == "version 1"
    assert deployer.rule == SetFor(LATER)


def earlier_template() -> str:
    """The template as it was before there was a `past-index`."""
    text, count = re.subn(
        r"(?m)^ +GlobalSecondaryIndexes:\n(.*\n)+?(?= +TimeToLiveSpecification)", "", template_text()
    )
    assert count == 1
    return re.sub(r"(?m)^ +- \{AttributeName: past, AttributeType: S\}\n", "", text)


@pytest.fixture
def queue_of_earlier(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """A queue that an earlier version deployed: a task that waits, one due soon, one that has ended."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "template_text", earlier_template)
        editor = deployer.deploy()
    assert "GlobalSecondaryIndexes" not in deployer.table
    editor.add("succeed", due=LATER, id="later")
    editor.add("succeed", due=SOON, id="across")
    ended = editor.cancel(editor.add("succeed", due=LATER, id="ended before").id)
    deployer.session.client("dynamodb").update_item(  # as earlier versions wrote it
        TableName=deployer.name,
        Key={"lane": {"S": str(ended.lane)}, "id": {"S": ended.id}},
        UpdateExpression="REMOVE past",
    )
    return editor


def has_been_given_the_index(deployer: Deployer, editor: Editor) -> None:
    table: Any = deployer.table
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["past-index"]
    # What was queued runs, and is found when it has ended

    def is_listed() -> bool:
        deployer.run()
        return [task.id for task in editor.list(status=[Status.DONE]).tasks] == ["across"]

    wait_for(is_listed)
    # What is due later still waits
    assert editor.get("later").status is Status.SCHEDULED
    assert deployer.rule == SetFor(LATER)
    assert editor.status(thorough=True).healthy
    # What had ended before is found by its id only, until it expires
    assert editor.get("ended before").status is Status.CANCELLED
    assert editor.list(status=[Status.CANCELLED]).tasks == ()


def test_a_table_without_the_index_of_the_past_is_given_it(
    deployer: Deployer, queue_of_earlier: Editor
) -> None:
    with pytest.raises(NotDeployed, match=r"past-index.*`duebell deploy` adds it"):
        queue_of_earlier.list(status=[Status.FAILED])

    deployer.deploy()

    has_been_given_the_index(deployer, queue_of_earlier)


def test_so_is_one_that_no_stack_has(deployer: Deployer, queue_of_earlier: Editor) -> None:
    deployer.destroy()

    deployer.deploy()

    assert any("the index past-index" in line for line in deployer.said)
    has_been_given_the_index(deployer, queue_of_earlier)
