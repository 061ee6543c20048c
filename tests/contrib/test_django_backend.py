"""The backend of Django's tasks: its options, its checks, the editor that it takes, what it imports."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import TASKS

# isort: split
import subprocess
import sys
from pathlib import Path

import django
import pytest
from django.test import override_settings

from duebell import Editor
from duebell.contrib.django import DuebellBackend
from duebell.contrib.django.framework import InvalidTaskBackend, Task
from tests.contrib.shop import tasks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("nowhere.editor", "No module named 'nowhere'"),
        (
            "tests.contrib.project.HOUR",
            r"\['editor'\]: 'tests\.contrib\.project\.HOUR' gives .*; name an",
        ),
    ],
)
def test_an_editor_that_is_wrong_is_told(path: str, fault: str) -> None:
    with (
        override_settings(TASKS={"default": {**TASKS, "OPTIONS": {"editor": path}}}),
        pytest.raises((InvalidTaskBackend, ImportError), match=fault),
    ):
        tasks.mail.enqueue(7)


def test_an_option_that_is_misspelt_is_refused() -> None:
    with pytest.raises(InvalidTaskBackend, match=r"'edtior' is unknown; there is only 'editor'"):
        DuebellBackend("default", {"OPTIONS": {"edtior": "tests.contrib.project.the_editor"}})


def test_without_an_option_there_is_one_editor_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    one, two = DuebellBackend("default", {}), DuebellBackend("other", {})
    assert isinstance(one.editor, Editor)
    assert one.editor is two.editor


def test_a_web_process_loads_no_worker() -> None:
    program = (
        "from django.conf import settings\n"
        "settings.configure(TASKS={'default': {'BACKEND': 'duebell.contrib.django.DuebellBackend'}})\n"
        "import django; django.setup()\n"
        "from duebell.contrib.django import DuebellBackend\n"
        "import tests.contrib.shop.jobs\n"
        "import sys; print('duebell_worker' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "False\n", done.stderr


def test_this_is_the_real_django() -> None:
    assert django.VERSION >= (5, 2)
    assert Task.__module__ == ("django.tasks.base" if django.VERSION >= (6, 0) else "django_tasks.base")
