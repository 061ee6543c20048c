"""The wheel in an empty environment, beside a service whose own packages have everyday names."""

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent

#: A service's use of duebell, from a folder with packages of its own called `shared` and `worker`.
SERVICE = """
import shared, worker
assert shared.OURS and worker.OURS
import duebell, duebell_editor, duebell_infra
from duebell import Editor, Worker
from duebell.testing import Rehearsal
assert "site-packages" in duebell_editor.__file__, duebell_editor.__file__
from importlib.resources import files
assert "AWS::DynamoDB::Table" in (files("duebell_infra") / "template.yaml").read_text()
assert (files("duebell_editor") / "py.typed").is_file()
assert (files("duebell") / "py.typed").is_file()
print("works")
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.e2e
def test_a_wheel_works_in_an_empty_environment_beside_a_package_called_shared(tmp_path: Path) -> None:
    # Given a wheel, and an environment with nothing else
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("duebell-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    # And a service with packages of its own
    for name in ("shared", "worker"):
        (tmp_path / "service" / name).mkdir(parents=True)
        (tmp_path / "service" / name / "__init__.py").write_text("OURS = True\n")
    # Then both are found
    assert run(python, "-c", SERVICE, cwd=tmp_path / "service") == "works\n"
    # And the command says what it needs, in one line
    refused = subprocess.run(
        [tmp_path / "env" / "bin" / "duebell"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert refused.stderr == "error: the command line needs typer and rich: pip install 'duebell[cli]'\n"


def test_the_page_on_pypi_has_no_relative_links() -> None:
    page = run(sys.executable, "-m", "hatchling", "metadata", "readme", cwd=ROOT)
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert len(links) > 20
    assert not [link for link in links if not link.startswith("https://")]
