"""The worker's side: an action for each of Django's tasks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import django
from django.apps import apps
from django.db import close_old_connections
from django.utils import timezone

from duebell_shared.backoff import Backoff
from duebell_shared.tasks.task import Task as StoredTask
from duebell_worker.run.attempt import Abort, Snooze
from duebell_worker.worker import Worker

from .backend import DuebellBackend, modules_of_apps
from .framework import Task, TaskContext, TaskResultStatus, task_finished, task_started
from .results import Call, DuebellResult, result_of


def register_tasks(
    worker: Worker,
    *,
    modules: Iterable[str] = (),
    attempts: int = 5,
    backoff: Backoff = Backoff(),  # noqa: B008 (a value)
    keep_results: bool = False,
) -> tuple[str, ...]:
    """Give the worker an action for each of Django's tasks. Returns the actions' names.

    Sets Django up if it is not. The tasks are those in the modules `tasks` of the installed apps.

    modules      more modules that have tasks
    attempts     the most attempts at a task, with `backoff` between
    keep_results  whether `return_value` is kept, up to 4 KB as JSON

    A task function may raise duebell's Retry and Abort, and Snooze without a payload. Raises
    ValueError if there are no tasks, or if the worker has an action of that name.
    """
    if not apps.ready:
        django.setup()
    looked_in = [*modules_of_apps(), *([modules] if isinstance(modules, str) else modules)]
    tasks = {task.module_path: task for name in looked_in for task in _tasks_in(name)}
    if not tasks:
        raise ValueError(
            f"there are no tasks in {', '.join(looked_in) or 'the installed apps: none has a module tasks'}; "
            f"name the modules that have them: register_tasks(worker, modules=['shop.jobs'])"
        )
    for name, task in tasks.items():
        action = worker.action(name, attempts=attempts, backoff=backoff, keep_result=keep_results)
        action(_function(task, attempts))
    return tuple(tasks)


def _tasks_in(module: str) -> list[Task]:
    return [value for value in vars(import_module(module)).values() if isinstance(value, Task)]


def _function(task: Task, attempts: int) -> Callable[[Call, StoredTask], Any]:
    """The function of the task's action."""

    def run(call: Call, stored: StoredTask) -> Any:
        result = result_of(stored, task, backend=task.backend)
        with _connections(), _signals(result, stored, attempts):
            before = [TaskContext(task_result=result)] if task.takes_context else []
            value = task.call(*before, *result.args, **result.kwargs)
            object.__setattr__(result, "_return_value", value)
        return value

    # The worker hashes the code of this module for its version, and describes the action by this name.
    run.__module__, run.__doc__ = task.func.__module__, task.func.__doc__
    run.__name__, run.__qualname__ = task.func.__name__, task.func.__qualname__
    return run


@contextmanager
def _connections() -> Iterator[None]:
    """Close database connections that broke or grew too old, as Django does around each request.

    A Lambda is frozen between two runs, and a database gives up connections meanwhile.
    """
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


@contextmanager
def _signals(result: DuebellResult, stored: StoredTask, attempts: int) -> Iterator[None]:
    """Send Django's signals: the task was started; and it has finished, unless it is tried again."""
    task_started.send(DuebellBackend, task_result=result)
    try:
        yield
    except BaseException as error:
        is_last = stored.attempt >= attempts and not isinstance(error, Snooze)
        if isinstance(error, Abort) or is_last:
            _finish(result, TaskResultStatus.FAILED)
        raise
    _finish(result, TaskResultStatus.SUCCESSFUL)


def _finish(result: DuebellResult, status: Any) -> None:
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", timezone.now())
    task_finished.send(DuebellBackend, task_result=result)
