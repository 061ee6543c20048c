"""The bundle for Lambda, with real wheels, run with nothing beside it but what Lambda's runtime brings."""

import io
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path, PurePath

import pytest

from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.dependencies import IN_RUNTIME
from duebell_infra.bundle.target import Architecture, Target
from tests.e2e.support import ACTIONS, HERE

pytestmark = pytest.mark.e2e

#: Bytes. Far below what Lambda takes: a small bundle is a short cold start.
SMALL = 6_000_000

IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import duebell_worker.entry, duebell_editor, msgspec, tzdata, actions_for_tests
print(msgspec.__file__, tzdata.__file__)
"""


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
    here = Target.this_machine()
    target = Target(python=here.python, architecture=here.architecture)
    bundle = tmp_path / "bundle"
    with zipfile.ZipFile(io.BytesIO(build(ACTIONS, target, folder=HERE).data)) as archive:
        archive.extractall(bundle)

    command = [sys.executable, "-I", "-S", "-c", IMPORT, str(bundle), str(runtime(tmp_path / "runtime"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(str(bundle)) == 2


@pytest.mark.parametrize(
    ("architecture", "python"), [(Architecture.ARM64, "3.14"), (Architecture.X86_64, "3.12")]
)
def test_it_is_small_and_for_its_own_processor_whatever_builds_it(
    architecture: Architecture, python: str
) -> None:
    built = build(ACTIONS, Target(python=python, architecture=architecture), folder=HERE)
    assert len(built.data) < SMALL, str(built)

    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        files = [PurePath(name) for name in archive.namelist()]
    libraries = [file.name for file in files if file.suffix == ".so"]
    assert libraries == [f"_core.cpython-{python.replace('.', '')}-{architecture.machine}-linux-gnu.so"]
    parts = {part for file in files for part in file.parts}
    assert not parts & {"tests", "test", "bin", *IN_RUNTIME}
    tag = f"cpython-{python.replace('.', '')}"
    assert all(file.stem.endswith(tag) for file in files if file.suffix == ".pyc")
