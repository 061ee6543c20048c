"""The routes under `/api`. Each calls a method of the library."""

from fastapi import APIRouter

from duebell_editor.http.description import PROBLEMS

from . import changes, scheduler, tasks

__all__ = ["api"]

api = APIRouter(prefix="/api", responses=PROBLEMS)
for part in (tasks, scheduler, changes):
    api.include_router(part.router)
