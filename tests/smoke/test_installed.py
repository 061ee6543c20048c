"""The package as users install it: a service, its tests, its bundle. Nothing of the repository is needed."""

import subprocess
import sys
import zipfile
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest

PAYLOADS = """
from dataclasses import dataclass


@dataclass
class Trial:
    user: str
"""

ACTIONS = """
from duebell import Task, Worker

from payloads import Trial

worker = Worker.from_env()
ended = []


@worker.action("end_trial", attempts=3)
def end_trial(trial: Trial, task: Task) -> None:
    ended.append((trial.user, task.id))
"""

TEST = """
from datetime import timedelta

import actions
from payloads import Trial


def test_a_trial_ends(duebell):
    task = actions.end_trial.using(due=timedelta(days=14)).add(Trial("bob"))
    duebell.let_time_pass(timedelta(days=13))
    assert not actions.ended
    duebell.let_time_pass(timedelta(days=2))
    assert actions.ended == [("bob", task.id)]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A service with two modules and a test."""
    (tmp_path / "payloads.py").write_text(PAYLOADS)
    (tmp_path / "actions.py").write_text(ACTIONS)
    (tmp_path / "test_trials.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nduebell_worker = actions:worker\n")
    return tmp_path


def python(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_command_says_what_it_can_do(tmp_path: Path) -> None:
    done = python("-m", "duebell", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for command in ("add", "list", "local", "bundle", "deploy", "doctor", "editor"):
        assert f" {command} " in done.stdout


def test_a_services_test_passes(project: Path) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=project)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_its_bundle_holds_both_modules(project: Path) -> None:
    made = ("bundle", "--actions", "actions:worker", "--this-machine", "--output", "worker.zip")
    done = python("-m", "duebell", *made, folder=project)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(project / "worker.zip") as archive:
        names = set(archive.namelist())
    assert {"actions.py", "payloads.py", "duebell_worker/entry.py", "duebell/__init__.py"} <= names


def test_what_is_no_code_is_there(tmp_path: Path) -> None:
    done = python("-m", "duebell", "template", folder=tmp_path)
    assert "AWS::DynamoDB::Table" in done.stdout
    for name in ("duebell", "duebell_editor", "duebell_worker", "duebell_shared", "duebell_infra"):
        assert (files(name) / "py.typed").is_file()
    page = files("duebell_editor.http") / "page"
    assert (page / "index.html").is_file()
    assert (page / "js" / "main.js").is_file()


def test_it_says_its_version() -> None:
    assert metadata.version("duebell").startswith("0.1.0")
