"""Listings read to their end: the ids of each page, or of all."""

import itertools
from collections.abc import Callable
from typing import Any

from duebell import Page

__all__ = ["all_ids", "pages"]


def pages(read: Callable[..., Page], *given: Any, **query: Any) -> list[list[str]]:
    """The ids of each page of this method of an editor."""
    page = read(*given, **query)
    found = [[task.id for task in page.tasks]]
    while page.cursor:
        page = read(*given, **query, cursor=page.cursor)
        found.append([task.id for task in page.tasks])
    return found


def all_ids(read: Callable[..., Page], *given: Any, **query: Any) -> list[str]:
    """The ids of all pages, one after the other."""
    return [*itertools.chain(*pages(read, *given, **query))]
