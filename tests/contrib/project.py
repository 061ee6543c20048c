"""A Django project whose tasks go to duebell, for the tests beside it. Without Django these are skipped."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import pytest

if os.environ.get("DUEBELL_DJANGO") != "required":
    pytest.importorskip("django", reason="Django is not installed: pip install -r requirements-django.txt")
    pytest.importorskip(
        "django.tasks" if find_spec("django.tasks") else "django_tasks",
        reason="this Django has no tasks: pip install -r requirements-django.txt",
    )

from django.conf import settings

if not settings.configured:
    settings.configure(
        USE_TZ=True,
        TIME_ZONE="Europe/Berlin",
        INSTALLED_APPS=["tests.contrib.shop", "tests.contrib.nothing"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        TASKS={
            "default": {
                "BACKEND": "duebell.contrib.django.DuebellBackend",
                "QUEUES": ["default", "slow"],
                "OPTIONS": {"editor": "tests.contrib.project.the_editor"},
            }
        },
    )

from duebell import Editor
from duebell.contrib.django import DuebellBackend
from duebell.contrib.django.framework import task_enqueued, task_finished, task_started

__all__ = ["EDITOR", "HOUR", "MINUTE", "SHOP", "TASKS", "signals", "the_editor"]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SHOP = "tests.contrib.shop.tasks"

TASKS = settings.TASKS["default"]

#: The editor of the test that runs.
EDITOR: list[Editor] = []


def the_editor() -> Editor:
    """The editor that the option `editor` names."""
    return EDITOR[-1]


@contextmanager
def signals() -> Iterator[list[tuple[str, str]]]:
    """The signals that are sent, each with the status that the task then has."""
    sent: list[tuple[str, str]] = []
    receivers: list[tuple[Any, Any]] = []
    for name, signal in {
        "enqueued": task_enqueued,
        "started": task_started,
        "finished": task_finished,
    }.items():

        def receive(sender: type, task_result: Any, name: str = name, **_: Any) -> None:
            assert sender is DuebellBackend
            sent.append((name, task_result.status))

        signal.connect(receive)
        receivers.append((signal, receive))
    try:
        yield sent
    finally:
        for signal, receive in receivers:
            signal.disconnect(receive)
