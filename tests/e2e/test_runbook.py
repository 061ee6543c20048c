"""Lines of the runbook that deploy, played on the embedded stack: each ends its fault as it is printed."""

import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from duebell import Editor, Settings
from duebell_infra import cli, commands
from duebell_infra.bundle.target import Place
from duebell_infra.deploy.deploy import Deployment
from duebell_infra.errors import WorkerFailed
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.aws.alarms import Alarms
from duebell_shared.backend import Backend
from tests.cli.runbook import ALARMS, PROBLEMS
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import ACTIONS, HERE
from tests.e2e.test_deliveries import queue
from tests.shared.on_moto import swap
from tests.support import SetFor

pytestmark = pytest.mark.e2e

Scene = Iterator[dict[str, str]]


def worker(deployer: Deployer, tmp_path: Path) -> Scene:
    (tmp_path / "actions_for_tests.py").write_text("raise RuntimeError('broken')\nworker = None\n")
    with pytest.raises(WorkerFailed, match="broken"):
        deployer.deploy(folder=tmp_path, imported=False)
    yield {}


def table(deployer: Deployer, tmp_path: Path) -> Scene:
    wrong = {"DUEBELL_TABLE": "wrong"}
    yield wrong
    wrong.clear()


def intake(deployer: Deployer, tmp_path: Path) -> Scene:
    yield {"DUEBELL_INTAKE": f"{deployer.name}-intake"}


def delivery(deployer: Deployer, tmp_path: Path) -> Scene:
    gone = queue(deployer.session, "gone")
    deployer.deploy(deliver={"remind": {"to": gone}})
    sqs = deployer.session.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="gone")["QueueUrl"])
    yield {"NAME": "remind", "ARN": queue(deployer.session, "there")}


def silence(deployer: Deployer, tmp_path: Path) -> Scene:
    yield {"ADDRESS": "oncall@example.com"}


def tzdata(deployer: Deployer, tmp_path: Path) -> Scene:
    deployer.run()

    def older(record: Any) -> Any:
        last_run = replace(record.last_run, tzdata="1999a")
        return replace(record, last_run=last_run)

    swap(backend_of(deployer), older)
    yield {}
    deployer.run()


def lateness(deployer: Deployer, tmp_path: Path) -> Scene:
    yield {}
    assert {"ParameterKey": "ParallelRuns", "ParameterValue": "8"} in deployer.stack["Parameters"]


def errors(deployer: Deployer, tmp_path: Path) -> Scene:
    deployer.deploy(MemorySize="128")
    yield {}
    assert deployer.function["MemorySize"] == 1024


#: By the name of its row, a generator: it makes the fault, yields words for the command, and checks after it.
SCENES: dict[str, Callable[[Deployer, Path], Scene]] = {
    scene.__name__: scene for scene in (worker, table, intake, delivery, silence, tzdata, lateness, errors)
}


def backend_of(deployer: Deployer, **environment: str) -> Backend:
    names = dict.fromkeys(("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"), deployer.name)
    client: Any = deployer.session.client
    backend = Backend.connect(Settings.from_env({**names, **environment}), deployer.session)
    return replace(backend, alarms=Alarms(deployer.name, client))


def problems(deployer: Deployer, words: dict[str, str]) -> set[str]:
    """The kinds of the problems that the doctor finds in this environment."""
    environment = {name: word for name, word in words.items() if name.startswith("DUEBELL_")}
    diagnosis = Editor(backend=backend_of(deployer, **environment)).doctor()
    return {one.kind.value for one in (*diagnosis.status.problems, *diagnosis.advice)}


@pytest.fixture(scope="module")
def deployer(stack: EmbeddedStack) -> Iterator[Deployer]:
    """One stack, which each line puts right."""
    deployer = Deployer(stack, "runbook")
    deployer.deploy(DeletionProtection="no", SavedQueries="no")  # the emulator has none
    yield deployer
    deployer.destroy(delete_table=True)


@pytest.fixture
def play(
    deployer: Deployer, stack: EmbeddedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Run a line of the page as it is printed, for this stack, with these words in place of the page's."""
    for variable, value in stack.environment.items():
        if variable.startswith("AWS_"):
            monkeypatch.setenv(variable, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(commands, "Deployment", partial(Deployment, place=Place.THIS_MACHINE))
    monkeypatch.chdir(HERE)
    here = {"…": f"--name {deployer.name} --actions {ACTIONS}", "--name duebell": f"--name {deployer.name}"}

    def play(line: str | None, **words: str) -> None:
        assert line
        for placeholder, word in {**here, **words}.items():
            line = line.replace(placeholder, word)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0

    return play


@pytest.mark.parametrize("name", SCENES)
def test_deploying_as_the_runbook_says_ends_the_fault(
    name: str, deployer: Deployer, tmp_path: Path, play: Callable[..., None]
) -> None:
    # Given the fault, which the doctor names
    scene = SCENES[name](deployer, tmp_path)
    words = next(scene)
    assert (name in problems(deployer, words)) is (name in PROBLEMS)
    # When the line is run as it is printed
    play({**PROBLEMS, **ALARMS}[name].command, **words)
    next(scene, None)
    # Then the doctor no longer names it
    assert name not in problems(deployer, words)


def test_a_rule_that_was_deleted_is_verified_after_the_line_for_lost_rings(
    deployer: Deployer, play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, events = deployer.deploy(), deployer.session.client("events")
    editor.add("succeed", due=LATER, id="later")
    # Given a rule that somebody deleted, in the environment of a client
    [target] = events.list_targets_by_rule(Rule=deployer.name)["Targets"]
    events.remove_targets(Rule=deployer.name, Ids=[target["Id"]])
    events.delete_rule(Name=deployer.name)
    for variable in ("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"):
        monkeypatch.setenv(variable, deployer.name)
    assert "rule" in problems(deployer, {})
    # When the line is run, then what the page names shows that it worked
    row = ALARMS["lost-rings"]
    play(row.command)
    assert deployer.rule == SetFor(LATER)
    assert "`duebell verify --name duebell` is `ok`" in row.text
    play("duebell verify --name duebell --no-probe")
