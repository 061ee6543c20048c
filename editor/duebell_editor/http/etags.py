"""A task's rev as its ETag, for If-Match (change only what was seen) and If-None-Match (send only news).

By RFC 9110, section 13.1: a list of tags, or `*`; If-Match ignores weak ones.
"""

import re
from typing import Annotated

from fastapi import Depends, Header, Request

from duebell_editor import InvalidQuery, Task, TaskChanged

from .access import VisitorsEditor

__all__ = ["ExpectedRev", "IfNoneMatch", "ReplacedRev", "etag_of", "is_known"]

_TAG = re.compile(r'(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e\x80-\xff]*)"')
_ANY = "*"


def _tags_in(description: str) -> object:
    return Header(description=description, examples=['"7"'])


IfNoneMatch = Annotated[str | None, _tags_in("The ETags that you have")]

_IfSeen = Annotated[
    str | None,
    _tags_in(
        'The ETag of the task as you saw it, such as `"7"`: if it was changed since, nothing is done, and '
        "the answer is 412"
    ),
]
_IfReplaced = Annotated[
    str | None, _tags_in('With `"if_exists": "replace"`: the one ETag of the task that is to be replaced')
]


def _expected(request: Request, editor: VisitorsEditor, if_match: _IfSeen = None) -> int | None:
    """The rev that If-Match expects; None for any. Raises InvalidQuery, TaskNotFound, TaskChanged."""
    if if_match is None or not (tags := _tags("If-Match", request)):
        return None
    seen = [tag for is_weak, tag in tags if not is_weak]
    if len(seen) == 1 and (rev := _rev(seen[0])) is not None:
        return rev
    id: str = request.path_params["id"]
    rev = editor.get(id).rev
    if str(rev) not in seen:
        raise TaskChanged(id, expected=next(filter(None, map(_rev, seen)), 0), rev=rev)
    return rev


#: The rev that a changed task must have; None for any.
ExpectedRev = Annotated[int | None, Depends(_expected)]


def _replaced(request: Request, if_match: _IfReplaced = None) -> int | None:
    """The rev that If-Match expects of a replaced task; None for any. Raises InvalidQuery."""
    if if_match is None or not (tags := _tags("If-Match", request)):
        return None
    is_weak, tag = tags[0]
    if tags[1:] or is_weak or (rev := _rev(tag)) is None:
        raise InvalidQuery("If-Match", 'must be the one ETag that the task came with, such as "7"')
    return rev


#: The rev that a replaced task must have; None for any.
ReplacedRev = Annotated[int | None, Depends(_replaced)]


def etag_of(task: Task) -> dict[str, str]:
    """The header with the task's ETag."""
    return {"ETag": f'"{task.rev}"'}


def is_known(task: Task, request: Request) -> bool:
    """Tell whether the client has this rev of the task already. Raises InvalidQuery."""
    tags = _tags("If-None-Match", request)
    return tags == [] or str(task.rev) in {tag for _, tag in tags or ()}


def _tags(header: str, request: Request) -> list[tuple[bool, str]] | None:
    """The header's tags, each with whether it is weak; an empty list for `*`; None without this header."""
    lines = request.headers.getlist(header)
    if not lines:
        return None
    given = ",".join(lines).strip()
    if given == _ANY:
        return []
    tags = [(tag["weak"] is not None, tag["tag"]) for tag in _TAG.finditer(given)]
    if not tags or _TAG.sub("", given).strip(", \t"):
        raise InvalidQuery(header, 'must be ETags that a task came with, such as "7", or *')
    return tags


def _rev(tag: str) -> int | None:
    return int(tag) if re.fullmatch(r"[1-9]\d{0,17}", tag, re.ASCII) else None
