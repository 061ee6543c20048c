"""The routes under `/api`: each one a method of the library."""

from fastapi import APIRouter

from . import bulk, changes, looking, scheduler, tasks, verbs

__all__ = ["api"]

api = APIRouter(prefix="/api")
for part in (verbs, tasks, bulk, looking, scheduler, changes):
    api.include_router(part.router)
