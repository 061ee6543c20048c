"""The names of Django's tasks framework, wherever this Django has them.

Django 6.0 has them in `django.tasks`. For older releases, the package django-tasks, a backport, has them.
https://docs.djangoproject.com/en/6.0/topics/tasks/
"""

import django

__all__ = [
    "BaseTaskBackend",
    "InvalidTask",
    "InvalidTaskBackend",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "normalize_json",
    "task_enqueued",
    "task_finished",
    "task_started",
]

_WAY_OUT = "Django before 6.0 has no django.tasks: install its backport, pip install django-tasks"

if django.VERSION >= (6, 0):
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import InvalidTask, InvalidTaskBackend, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    try:
        from django_tasks.backends.base import BaseTaskBackend
    except ModuleNotFoundError as error:
        if error.name != "django_tasks":
            raise
        raise ModuleNotFoundError(_WAY_OUT, name=error.name) from None
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import InvalidTaskBackendError as InvalidTaskBackend
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json
