"""Tasks that stand in another module than `tasks`."""

import django

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task

__all__ = ["clean"]


@task
def clean() -> None:
    """Clean up."""
