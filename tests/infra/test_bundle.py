"""The bundle as a whole."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from duebell_infra import bundle
from duebell_infra.bundle import build
from duebell_infra.errors import BundleFailed
from duebell_infra.target import Target
from duebell_worker.version import BUNDLE_FILE, duebell_release

HERE = Target.this_machine()
WORKER = "from duebell import Worker\nworker = Worker()\n"


def test_it_holds_the_core_its_libraries_and_the_actions(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(WORKER)
    built = build("jobs:worker", HERE, folder=tmp_path)

    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        names = archive.namelist()
    assert {"jobs.py", "duebell_worker/entry.py", "msgspec/__init__.py", "pynamodb/__init__.py"} <= set(names)
    assert names == sorted(names)
    assert (built.actions, built.files) == ("jobs:worker", len(names))


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(WORKER)
    first = build("jobs:worker", HERE, folder=tmp_path)
    (tmp_path / "jobs.py").touch()
    second = build("jobs:worker", HERE, folder=tmp_path)
    (tmp_path / "jobs.py").write_text(f"{WORKER}# changed")
    third = build("jobs:worker", HERE, folder=tmp_path)

    assert first.data == second.data
    assert first.hash == second.hash != third.hash


def test_there_is_a_worker_without_actions() -> None:
    assert build(None, HERE).actions == ""


def test_its_size_is_told() -> None:
    assert str(build(None, HERE)).startswith("0.")


def test_what_lambda_would_refuse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_UNPACKED_LIMIT", 1000)

    with pytest.raises(BundleFailed, match="unpacked"):
        build(None, HERE)


def test_it_says_its_version_which_is_that_of_its_contents(tmp_path: Path) -> None:
    def version() -> dict[str, str]:
        built = build("jobs:worker", HERE, folder=tmp_path)
        with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
            told: dict[str, str] = json.loads(archive.read(BUNDLE_FILE))
            return told

    (tmp_path / "jobs.py").write_text(WORKER)
    first = version()
    assert first["duebell"] == duebell_release()
    assert version() == first
    (tmp_path / "jobs.py").write_text(f"{WORKER}# changed")
    assert version()["version"] != first["version"]
