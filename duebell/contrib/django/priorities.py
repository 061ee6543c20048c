"""Django's priorities, -100 to 100, as duebell's, 0 to 9; both start the highest first. Pure.

https://docs.djangoproject.com/en/6.0/ref/tasks/
"""

from duebell_shared.tasks.checks import MAX_PRIORITY

#: Django's priorities are whole numbers from minus this to this. 0 is its default.
_MOST = 100


def stored_priority(priority: int, *, default: int) -> int:
    """duebell's priority of a task that has this one of Django's.

    default  duebell's priority of tasks with Django's 0. Those above and below it share what is left above
             and below, in equal parts; where nothing is left they have the default
    """
    if priority > 0:
        return default + _share(priority, MAX_PRIORITY - default)
    return default - _share(-priority, default)


def told_priority(stored: int, *, enqueued: int, default: int) -> int:
    """Django's priority of a task that is stored with this one of duebell's.

    enqueued  the one that it was enqueued with; it is told as long as the stored one has not been changed.
              Of a changed one, the farthest from 0 that is stored so
    """
    if stored_priority(enqueued, default=default) == stored:
        return enqueued
    if stored > default:
        return (stored - default) * _MOST // (MAX_PRIORITY - default)
    return -((default - stored) * _MOST // default) if stored < default else 0


def _share(distance: int, steps: int) -> int:
    """The step, from 1, of a priority that is so far from 0; 0 if there are none."""
    return -(-distance * steps // _MOST)
