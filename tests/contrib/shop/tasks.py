"""The app's tasks, and what they were called with."""

from typing import Any

import django

from duebell import Abort, Retry, Snooze

if django.VERSION >= (6, 0):
    from django.tasks import TaskContext, task
else:
    from django_tasks import TaskContext, task

__all__ = ["CALLS", "context_seen", "fail", "give_up", "greet", "later", "mail", "scheduled_by_hand", "wait"]

CALLS: list[Any] = []


class NoPost(Exception):
    """An error that is not built in."""


@task
def mail(user: int, *, subject: str = "hello") -> str:
    """Send a mail."""
    CALLS.append((user, subject))
    return "sent"


@task(queue_name="slow")
async def greet(name: str) -> None:
    CALLS.append(name)


@task(takes_context=True)
def context_seen(context: TaskContext) -> None:
    CALLS.append((context.attempt, context.task_result.id, context.task_result.status))


@task
def fail(message: str) -> None:
    raise NoPost(message)


@task
def later() -> None:
    raise Retry("not yet", after=60)


@task
def wait() -> None:
    CALLS.append("wait")
    if CALLS.count("wait") <= 3:
        raise Snooze(60)


@task
def give_up() -> None:
    raise Abort("never")


@task
def scheduled_by_hand() -> None:
    CALLS.append("by hand")
