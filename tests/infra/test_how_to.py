"""What docs/how-to says is done as it says it: its files are written down, and its tests run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def written(page: str, folder: Path) -> None:
    """The files of a page, where they say that they are."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", text, re.DOTALL):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")


def run(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    given = {name: value for name, value in os.environ.items() if not name.startswith(("DUEBELL", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**given, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def pytest_in(folder: Path, *arguments: str, **environment: str) -> str:
    chosen = arguments or ("--ignore", "test_stack.py")  # it has a test of its own
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, **environment)
    return done.stdout + done.stderr


@pytest.mark.parametrize("pages", [("test",), ("test", "fastapi")])
def test_the_tests_that_it_shows_pass(tmp_path: Path, pages: tuple[str, ...]) -> None:
    for page in pages:
        written(page, tmp_path)
    assert f"{len(pages) + 1} passed" in pytest_in(tmp_path)


def test_the_worker_may_be_named_in_the_environment(tmp_path: Path) -> None:
    written("test", tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    assert "2 passed" in pytest_in(tmp_path, DUEBELL_WORKER="actions:worker")


@pytest.mark.e2e
def test_the_stack_runs_what_is_deployed(tmp_path: Path) -> None:
    written("test", tmp_path)
    assert "1 passed" in pytest_in(tmp_path, "test_stack.py")
    # And a test that fails shows what the worker logged
    test = tmp_path / "test_stack.py"
    test.write_text(
        test.read_text().replace('"welcome bob"', '"welcome eve"').replace("log_lines()", "environment")
    )
    said = pytest_in(tmp_path, "test_stack.py")
    assert "1 failed" in said
    assert "welcome bob" in said


@pytest.mark.e2e
def test_without_actions_that_can_be_bundled_the_stack_says_why(tmp_path: Path) -> None:
    written("test", tmp_path)
    said = pytest_in(tmp_path, "test_stack.py", "-o", "duebell_worker=nowhere:worker")
    assert "duebell_stack: there is no module 'nowhere'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["", "actions", "actions:nothing", "trials:active"])
def test_without_a_worker_the_fixture_says_what_to_do(tmp_path: Path, name: str) -> None:
    written("test", tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    said = pytest_in(tmp_path, DUEBELL_WORKER=name)
    assert "2 errors" in said
    assert "say where your Worker is: `duebell_worker = myservice.actions:worker`" in said


def test_pytest_loads_nothing_of_duebell_before_a_test_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'duebell_infra.pytest_plugin' in sys.modules\n"
        "    assert not {'boto3', 'duebell_editor', 'duebell_worker', 'duebell_shared'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in(tmp_path)


@pytest.mark.parametrize(("page", "file"), [("lambda", "orders.py"), ("django", "reminders/services.py")])
def test_its_other_files_can_be_compiled(tmp_path: Path, page: str, file: str) -> None:
    written(page, tmp_path)
    assert run(tmp_path, "-m", "py_compile", file).returncode == 0
