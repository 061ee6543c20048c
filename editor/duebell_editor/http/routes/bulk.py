"""One change to many tasks."""

from fastapi import APIRouter

from duebell_editor.bulk import change_all, eligible, find_all, fitting
from duebell_editor.filtering import make_filter
from duebell_shared.errors import InvalidQuery

from ..answers import AWS, problems
from ..asks import BulkBody
from ..bodies import JsonRoute
from ..etags import ItsEditor
from ..reports import BulkView

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute, tags=["tasks"])


@router.post("/bulk", summary="Change many tasks", responses=problems(400, 422, *AWS))
def change_many(body: BulkBody, editor: ItsEditor) -> BulkView:
    """Pause, resume, cancel, retry or run the tasks that are named, or those that are found.

    With `dry_run` it only counts them. A task that does not allow it is a failure, and stops no other.
    """
    ids, is_all = _which(body, editor)
    if body.dry_run:
        ids = ids if body.ids is None else fitting(editor.queue, body.do, ids)
        return BulkView(found=len(ids), is_all=is_all, dry_run=True, changed=[], failures=[])
    return BulkView.of(len(ids), change_all(editor, body.do, ids), is_all=is_all)


def _which(body: BulkBody, editor: ItsEditor) -> tuple[tuple[str, ...], bool]:
    if (body.ids is None) == (body.where is None):
        raise InvalidQuery("where", "or `ids` says which tasks: give one of them, and not both")
    if body.ids is not None:
        return tuple(dict.fromkeys(body.ids)), True
    where = body.where
    assert where is not None  # noqa: S101 - for the type checker
    which = make_filter(
        status=eligible(body.do, where.status),
        action=where.action,
        prefix=where.prefix,
        after=where.after,
        before=where.before,
        limit=body.limit,
    )
    return find_all(editor.queue, which)
