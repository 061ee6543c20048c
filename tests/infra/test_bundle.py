"""The bundle as a whole, and its zip, whose bytes depend on names, contents and execute bits alone."""

import io
import json
import marshal
import re
import subprocess
import sys
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from duebell_infra.bundle import bundle
from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.target import Target
from duebell_infra.errors import BundleFailed
from duebell_worker.actions.registration import BUNDLE_FILE, duebell_release

HERE = Target.this_machine()
WORKER = "from duebell import Worker\nworker = Worker()\n"


def unpacked(built: bundle.Bundle, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        archive.extractall(folder)
    return folder


def compiled(name: str) -> str:
    return f"__pycache__/{name}.{sys.implementation.cache_tag}.pyc"


def test_it_holds_the_core_its_libraries_and_the_actions_with_compiled_files(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(WORKER)
    built = build("jobs:worker", HERE, folder=tmp_path)
    assert re.match(r"[12]\.\d MB \([345]\.\d MB unpacked, \d+ files\) for Python", str(built))
    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        names = archive.namelist()
    assert {"jobs.py", "duebell_worker/entry.py", "msgspec/__init__.py", "tzdata/__init__.py"} <= set(names)
    assert names == sorted(names)
    assert (built.actions, built.files) == ("jobs:worker", len(names))
    # Python takes the compiled ones without a look at the sources
    made = unpacked(built, tmp_path / "made")
    for name in ("jobs", "duebell_worker/entry", "msgspec/__init__", "msgspec/json"):
        file = made / name
        content = (file.parent / compiled(file.name)).read_bytes()
        assert content[:4] == MAGIC_NUMBER
        assert int.from_bytes(content[4:8], "little") == 0b01  # checked by hash, but never
        assert file.with_suffix(".py").is_file()
    # Tracebacks show the sources where Lambda has them
    code = marshal.loads((made / compiled("jobs")).read_bytes()[16:])
    assert code.co_filename == "/var/task/jobs.py"
    # And a compiled file is what is imported
    (made / "jobs.py").write_text("raise RuntimeError")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import jobs; print(jobs.worker)"
    done = subprocess.run(
        [sys.executable, "-c", program, made], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "Worker" in done.stdout


def test_the_same_inputs_give_the_same_bytes_and_the_same_version(tmp_path: Path) -> None:
    def version(built: bundle.Bundle) -> dict[str, str]:
        with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
            told: dict[str, str] = json.loads(archive.read(BUNDLE_FILE))
            return told

    (tmp_path / "jobs.py").write_text(WORKER)
    first = build("jobs:worker", HERE, folder=tmp_path)
    (tmp_path / "jobs.py").touch()
    second = build("jobs:worker", HERE, folder=tmp_path)
    (tmp_path / "jobs.py").write_text(f"{WORKER}# changed")
    third = build("jobs:worker", HERE, folder=tmp_path)
    assert first.data == second.data
    assert first.hash == second.hash != third.hash
    assert version(first) == version(second)
    assert version(first)["duebell"] == duebell_release()
    assert version(third)["version"] != version(first)["version"]


def test_what_lambda_would_refuse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_UNPACKED_LIMIT", 1000)

    with pytest.raises(BundleFailed, match="unpacked"):
        build(None, HERE)


def test_what_cannot_be_compiled_is_in_it_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/__init__.py").write_text(WORKER)
    (tmp_path / "jobs/template.py").write_text("print {{ name }}")
    (tmp_path / "jobs/empty.py").touch()
    names = set(unpacked(build("jobs:worker", HERE, folder=tmp_path), tmp_path / "made").rglob("jobs/**/*"))
    assert {file.name for file in names if file.is_file()} == {
        "__init__.py",
        "template.py",
        "empty.py",
        Path(compiled("__init__")).name,
    }


def test_without_the_targets_python_it_has_no_byte_code_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundle, "python_for", lambda target: None)
    built = build(None, HERE)
    assert "no Python" in built.notes[0]
    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".pyc")]
