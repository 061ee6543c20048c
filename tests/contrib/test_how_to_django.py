"""docs/how-to/django.md with the real Django: its project is bundled, and its test passes."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from duebell_infra.bundle.sources import actions_files
from tests.infra.documented import ROOT, pytest_in, written

pytestmark = pytest.mark.slow

if os.environ.get("DUEBELL_DJANGO") != "required":
    pytest.importorskip("django", reason="Django is not installed: pip install -r requirements-django.txt")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of the page; with Django 5.2, its tasks are the backport's, as the page says."""
    written(ROOT / "docs" / "how-to" / "django.md", tmp_path)
    if find_spec("django.tasks") is None:
        file = tmp_path / "reminders" / "tasks.py"
        file.write_text(file.read_text().replace("from django.tasks", "from django_tasks"))
    (tmp_path / "reminders" / "services.py").unlink()  # it needs a model
    for package in ("config", "reminders"):  # as `startproject` and `startapp` make them
        (tmp_path / package / "__init__.py").touch()
    return tmp_path


def test_its_test_passes(project: Path) -> None:
    assert "1 passed" in pytest_in(project)


def test_the_bundle_holds_the_settings_and_the_app(project: Path) -> None:
    files = actions_files("actions:worker", folder=project)
    assert {"actions.py", "config/settings.py", "reminders/tasks.py", "reminders/scheduling.py"} <= set(files)
