"""The backend for Django's tasks: enqueuing adds a task to duebell's queue, whose worker runs it."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any

from django.apps import apps
from django.utils import timezone
from django.utils.module_loading import import_string, module_has_submodule

from duebell_editor.library.editor import Editor
from duebell_shared.errors import InvalidInput, TaskNotFound
from duebell_shared.quoting import quoted

from .framework import (
    BaseTaskBackend,
    InvalidTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    normalize_json,
    task_enqueued,
)
from .framework import InvalidTask as DjangosInvalidTask
from .results import result_of, stored_priority


@cache
def _editor_of_the_environment() -> Editor:
    """One editor for the process: Django makes a backend for each thread, and making clients takes time."""
    return Editor.from_env()


def modules_of_apps() -> list[str]:
    """Import the modules `tasks` of the installed apps; return their names."""
    having = [one.name for one in apps.get_app_configs() if module_has_submodule(one.module, "tasks")]
    return [import_module(f"{name}.tasks").__name__ for name in having]


def _known_task(action: str) -> Task | None:
    """The task of this path, in a module of the apps or in any other that is imported already.

    No other module is imported: its name comes from whoever added the task.
    """
    modules_of_apps()
    names = getattr(sys.modules.get(action.rpartition(".")[0]), "__dict__", {})
    return next((one for one in names.values() if isinstance(one, Task) and one.module_path == action), None)


class DuebellBackend(BaseTaskBackend):
    """Runs Django's tasks later, on duebell: `run_after` is when a task is due.

    The option `editor` is the dotted path of an Editor, or of a function that returns one. Without it, there
    is one for the process, set up by the `DUEBELL_…` variables.

    Django's priorities 1 to 100 become duebell's 1 to 9, and all others 0.

    The worker's action is named by the path of the task's function, such as `shop.tasks.send_mail`: see
    `register_tasks`.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        """Makes no call and needs no AWS settings yet. Raises InvalidTaskBackend for an unknown option."""
        super().__init__(alias, params)
        if unknown := sorted(set(self.options) - {"editor"}):
            raise InvalidTaskBackend(
                f"TASKS[{quoted(alias)}]['OPTIONS']: {quoted(unknown[0])} is unknown; there is only 'editor'"
            )

    @property
    def editor(self) -> Editor:
        """The editor that adds the tasks. Raises InvalidTaskBackend, ImportError and InvalidSettings."""
        path = self.options.get("editor")
        if path is None:
            return _editor_of_the_environment()
        named = import_string(path)
        editor = named() if callable(named) else named
        if not isinstance(editor, Editor):
            raise InvalidTaskBackend(
                f"TASKS[{quoted(self.alias)}]['OPTIONS']['editor']: {quoted(path)} gives {quoted(editor)}; "
                f"name an Editor, or a function that returns one"
            )
        return editor

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Add the task; it is stored and the rule is armed for it when this returns.

        Before anything is written, raises Django's InvalidTask, TypeError and ValueError for what Django
        refuses, and duebell's InvalidTask for what duebell refuses. Raises what `Editor.add` raises; after
        NotArmed the task is stored, and the next call of any kind arms the rule.
        """
        self.validate_task(task)
        payload = {
            "args": normalize_json(list(args)),
            "kwargs": normalize_json(kwargs),
            "queue_name": task.queue_name,
            "backend": self.alias,
        }
        if task.priority:
            payload["priority"] = task.priority
        due, priority = _due(task.run_after), stored_priority(task.priority)
        stored = self.editor.add(task.module_path, due=due, payload=payload, priority=priority)
        result = result_of(stored, task, backend=self.alias)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """The result of a task, in one read. Raises TaskResultDoesNotExist, AwsError and NotDeployed.

        Its action must be a task in a module `tasks` of an installed app, or in another module that this
        process has imported. The result of a done task has no arguments if they were more than 2 KB.
        """
        editor = self.editor
        try:
            stored = editor.get(result_id)
            if task := _known_task(stored.action):
                return result_of(stored, task, backend=self.alias)
        except (TaskNotFound, InvalidInput, DjangosInvalidTask, InvalidTaskBackend) as error:
            raise TaskResultDoesNotExist(result_id) from error
        raise TaskResultDoesNotExist(result_id)  # its action is none of Django's tasks


def _due(run_after: datetime | None) -> datetime | timedelta:
    """The due date of the task: now if Django says nothing. A naive time is in Django's time zone."""
    if run_after is None:
        return timedelta(0)
    is_naive = timezone.is_naive(run_after)
    due: datetime = timezone.make_aware(run_after) if is_naive else run_after
    return due
