"""One change to many tasks."""

from fastapi import APIRouter

from duebell_editor import Selection
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
    if (body.ids is None) == (body.where is None):
        raise InvalidQuery("where", "or `ids` says which tasks: give one of them, and not both")
    if body.where is not None:
        chosen = editor.select(
            body.do,
            status=body.where.status,
            action=body.where.action,
            prefix=body.where.prefix,
            after=body.where.after,
            before=body.where.before,
            limit=body.limit,
        )
    elif body.dry_run:
        chosen = editor.select(body.do, ids=body.ids)
    else:
        chosen = Selection(ids=tuple(dict.fromkeys(body.ids or ())))
    if body.dry_run:
        return BulkView(found=len(chosen.ids), is_all=chosen.is_all, dry_run=True, changed=[], failures=[])
    report = editor.change_many(body.do, chosen.ids)
    return BulkView.of(len(chosen.ids), report, is_all=chosen.is_all)
