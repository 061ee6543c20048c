"""What docs/how-to says is done as it says it: its files are written down, and its tests run."""

from pathlib import Path

import pytest

from tests.infra.documented import ROOT, pytest_in, run
from tests.infra.documented import written as written_from

pytestmark = pytest.mark.slow


def written(page: str, folder: Path) -> None:
    """Write the files of a how-to into this folder."""
    written_from(ROOT / "docs" / "how-to" / f"{page}.md", folder)


def test_the_tests_of_the_readme_pass_and_its_types_hold(tmp_path: Path) -> None:
    written_from(ROOT / "README.md", tmp_path)
    (tmp_path / "shop" / "__init__.py").touch()
    assert "2 passed" in pytest_in(tmp_path)
    checked = run(tmp_path, "-m", "mypy", "--strict", "shop")
    assert "Success: no issues found in 3 source files" in checked.stdout, checked.stdout + checked.stderr


def test_the_test_of_the_tutorial_passes(tmp_path: Path) -> None:
    written_from(ROOT / "docs" / "quickstart.md", tmp_path)
    assert "1 passed" in pytest_in(tmp_path)


@pytest.mark.parametrize("pages", [("test", "fastapi")])
def test_the_tests_that_it_shows_pass(tmp_path: Path, pages: tuple[str, ...]) -> None:
    for page in pages:
        written(page, tmp_path)
    assert f"{len(pages) + 1} passed" in pytest_in(tmp_path)


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


def test_without_a_worker_the_fixture_says_what_to_do(tmp_path: Path) -> None:
    written("test", tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    said = pytest_in(tmp_path, DUEBELL_WORKER="trials:active")
    assert "2 errors" in said
    assert "say where your Worker is: `duebell_worker = myservice.actions:worker`" in said


def test_pytest_loads_nothing_of_duebell_before_a_test_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'duebell_infra.pytest_plugin' in sys.modules\n"
        "    assert not {'boto3', 'duebell_editor', 'duebell_worker', 'duebell_shared'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in(tmp_path)
