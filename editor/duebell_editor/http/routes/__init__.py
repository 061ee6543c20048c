"""The routes under `/api`. Each calls a method of the library."""

from fastapi import APIRouter

from . import changes, scheduler, tasks

__all__ = ["api"]

api = APIRouter(prefix="/api")
for part in (tasks, scheduler, changes):
    api.include_router(part.router)
