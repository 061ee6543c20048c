"""The bundle is imported before it goes anywhere: what cannot run is refused, with the way out."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duebell_infra.bundle import bundle
from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.dependencies import install
from duebell_infra.bundle.sources import Files
from duebell_infra.bundle.target import Architecture, Target
from duebell_infra.errors import BundleFailed

pytestmark = pytest.mark.slow

HERE = Target.this_machine()
OTHER = Architecture.ARM64 if HERE.architecture is Architecture.X86_64 else Architecture.X86_64
#: Lambda, with this Python but another processor.
LAMBDA = Target(python=HERE.python, architecture=OTHER)
WORKER = "from duebell import Worker\nworker = Worker()\n"

DEPLOYED = {"PLACE": "Berlin"}

Built = Callable[..., str]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The core's libraries, as they are on this machine: those of the target would be downloaded."""
    return install(tmp_path_factory.mktemp("libraries"), HERE, requirements=None)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, libraries: Files) -> Built:
    """Build a bundle of a module with these lines before its Worker; the note."""

    def built(
        lines: str = "",
        *,
        worker: str = WORKER,
        target: Target = LAMBDA,
        **given: Any,
    ) -> str:
        (tmp_path / "jobs.py").write_text(f"{lines}\n{worker}")
        notes = build("jobs:worker", target, folder=tmp_path, **{"environment": DEPLOYED, **given}).notes
        return "".join(note for note in notes if "compiled files" not in note)

    monkeypatch.setattr(bundle, "install", lambda *_, **__: libraries)
    # The step that takes longest, and changes no import
    monkeypatch.setattr(bundle, "compiled_files", lambda *_: {})
    monkeypatch.setattr(bundle, "_entry", lambda name, _: zipfile.ZipInfo(name))
    return built


def test_what_can_run_is_built(built: Built) -> None:
    assert built("import os, boto3, duebell_editor\nassert os.environ['PLACE'] == 'Berlin'") == ""


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("import pytest", "jobs.py, line 1: ModuleNotFoundError: No module named 'pytest'; it is installed "
         "here with pytest: name pytest among the requirements (--requirements FILE)"),
        ("import nowhere_at_all", "there is no 'nowhere_at_all' in .*, and none is installed here"),
        ("import duebell_infra", "No module named 'duebell_infra'"),
        ("x = (", r"jobs.py, line \d: SyntaxError"),
        ("import os; os.environ['MISSING']", "jobs.py, line 1: KeyError: 'MISSING'"),
        (f"{WORKER}@worker.recurring('cron(0 9)')\n@worker.action\ndef tick(): ...",
         "bundle cannot be imported: jobs.py, line 3: InvalidSchedule: schedule: cron(…) needs six fields"),
        ("import os; os._exit(3)", "importing jobs:worker ends the interpreter with status 3"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused(built: Built, lines: str, says: str) -> None:
    with pytest.raises(BundleFailed, match=says.replace("(", r"\(").replace(")", r"\)")):
        built(lines)


def test_what_the_code_delivers_to_is_known_with_its_roles(tmp_path: Path, built: Built) -> None:
    to = "arn:aws:ecs:eu-central-1:123456789012:task-definition/report"
    role = "arn:aws:iam::123456789012:role/report"
    run = {"cluster": "main", "container": "app", "launch_type": "EC2", "roles": [role]}
    (tmp_path / "jobs.py").write_text(f"{WORKER}worker.deliver('remind', to={to!r}, run={run!r})\n")
    [delivery] = build("jobs:worker", HERE, folder=tmp_path, environment=DEPLOYED).deliveries or ()
    assert (delivery.name, delivery.to) == ("remind", to)
    assert ("iam:PassRole", role) in [(one.action, one.arn) for one in delivery.permissions]
    assert build("jobs:worker", HERE, folder=tmp_path, imported=False).deliveries is None
    assert build(None, HERE).deliveries == ()
    # A name that is taken at the deployment is refused before anything is uploaded
    twice = json.dumps({"remind": {"to": "https://example.com"}})
    with pytest.raises(BundleFailed, match="remind"):
        build("jobs:worker", HERE, folder=tmp_path, environment={"DUEBELL_DELIVERIES": twice})


def test_a_module_with_a_computed_name_is_to_be_imported_by_name(built: Built, tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text("")
    computed = "from importlib import import_module\nimport_module('plug' + 'in')"
    with pytest.raises(BundleFailed, match="imported by a computed name: write `import plugin` in a module"):
        built(computed)
    assert built(f"{computed}\nimport plugin") == ""


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("import boto3; boto3.client('sqs').list_queues()", "NoCredentialsError.*needs the network or AWS"),
        ("raise ValueError from ConnectionRefusedError()", "ValueError.*needs the network or AWS"),
        ("raise ConnectionRefusedError", "ConnectionRefusedError.*needs the network or AWS"),
    ],
)
def test_what_needs_the_place_where_it_runs_is_built_and_told(built: Built, lines: str, why: str) -> None:
    note = built(lines)
    assert note.startswith("not imported to the end here (jobs.py, line 1: ")
    assert re.search(why, note)


def test_a_layer_may_have_what_the_bundle_has_not(built: Built) -> None:
    assert "a layer may have it" in built("import pytest", has_layers=True)
    with pytest.raises(BundleFailed, match="--no-import skips the import"):
        built("raise ValueError", has_layers=True)


def test_no_credentials_and_nothing_else_of_this_environment_is_there(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "secret")
    monkeypatch.setenv("SOMEBODYS", "own")
    built(
        "import boto3, os\nassert boto3.Session().get_credentials() is None\n"
        "assert 'SOMEBODYS' not in os.environ"
    )


@pytest.mark.parametrize(
    "lines",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=[600]).start()",
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])",
    ],
)
def test_what_the_module_starts_does_not_hold_it_up(built: Built, lines: str) -> None:
    assert built(lines) == ""
