"""The bundle for Lambda, with real wheels, run with nothing beside it but what Lambda's runtime brings."""

import io
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from duebell_infra.bundle import build
from duebell_infra.dependencies import IN_RUNTIME
from duebell_infra.target import Architecture, Target

pytestmark = pytest.mark.e2e

HERE = Target.this_machine()

IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import duebell_worker.entry, duebell_editor, msgspec, pynamodb, actions_for_tests
print(msgspec.__file__, pynamodb.__file__)
"""


def unpacked(target: Target, folder: Path) -> Path:
    built = build("actions_for_tests:worker", target, folder=Path(__file__).parent)
    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        archive.extractall(folder)
    return folder


def runtime(folder: Path) -> Path:
    """A folder with the libraries that Lambda's runtime has, and no others."""
    folder.mkdir()
    for name in IN_RUNTIME:
        for top in {file.parts[0] for file in metadata.files(name) or [] if file.parts[0] != ".."}:
            located = Path(str(metadata.distribution(name).locate_file(top)))
            if located.exists() and not (folder / top).exists():
                (folder / top).symlink_to(located)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="Lambda's wheels run on Linux")
def test_it_needs_nothing_but_the_runtime(tmp_path: Path) -> None:
    bundle = unpacked(Target(python=HERE.python, architecture=HERE.architecture), tmp_path / "bundle")
    python = [sys.executable, "-I", "-S", "-c", IMPORT]

    done = subprocess.run(
        [*python, str(bundle), str(runtime(tmp_path / "runtime"))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(str(bundle)) == 2


@pytest.mark.parametrize("architecture", list(Architecture))
def test_it_is_for_its_own_processor_whatever_builds_it(architecture: Architecture, tmp_path: Path) -> None:
    bundle = unpacked(Target(python="3.13", architecture=architecture), tmp_path / "bundle")

    libraries = [file.name for file in bundle.rglob("*.so")]
    assert libraries == [f"_core.cpython-313-{architecture.machine}-linux-gnu.so"]
