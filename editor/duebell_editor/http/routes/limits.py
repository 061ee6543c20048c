"""The limits of actions."""

from typing import Annotated

from fastapi import APIRouter, Path

from duebell_editor.http.access import VisitorsEditor
from duebell_editor.http.answers import Json
from duebell_editor.http.description import AWS, answers
from duebell_editor.http.limit_schemas import Limits, NewLimit
from duebell_editor.http.requests import StrictRoute

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["scheduler"])

Action = Annotated[str, Path(description="The action's name, percent-encoded", examples=["put_on_sale"])]


@router.get("/limits", summary="List the limits of actions", responses=answers("Limits", *AWS))
def list_limits(editor: VisitorsEditor) -> Json:
    """The actions that have limits, by their code or because they were set."""
    return Json(Limits(limits=editor.limits()))


@router.patch(
    "/limits/{action:path}",
    summary="Limit or pause an action",
    responses=answers("ActionLimit", 400, 409, 422, *AWS),
)
def limit_action(action: Action, body: NewLimit, editor: VisitorsEditor) -> Json:
    """Sets limits in place of those that the code declares; 0 pauses the action, null is as declared.

    What is not given stays as it is. Runs that are under way follow within a minute.
    """
    return Json(editor.limit(action, **body.given()))
