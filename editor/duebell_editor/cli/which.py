"""Which tasks: the filter that several commands' options make."""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

import typer

from duebell_shared.task import Status

from ..filtering import Filter, make_filter
from .given import instant_from

__all__ = ["filter_from"]


def filter_from(
    *,
    status: Iterable[Status] | None,
    action: str | None,
    prefix: str,
    after: str | None,
    before: str | None,
    zone: ZoneInfo | None,
    limit: int = 1000,
    cursor: str | None = None,
    latest_first: bool = False,
) -> Filter:
    """The filter that these options make. Raises BadParameter, InvalidQuery."""
    start, end = instant_from("--after", after, zone), instant_from("--before", before, zone)
    if start and end and start > end:
        raise typer.BadParameter("--after is later than --before: nothing is between")
    return make_filter(
        status=status or None,
        action=action,
        prefix=prefix,
        after=start,
        before=end,
        latest_first=latest_first,
        limit=limit,
        cursor=cursor,
    )
