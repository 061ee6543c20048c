"""Classifying requests by path and method, also when this application is mounted in another one."""

from starlette.types import Scope

from .pages import PAGES

__all__ = ["STREAM", "is_open", "is_reading", "is_stream", "path_of"]

#: The stream of changes, which does not end by itself.
STREAM = "/api/changes"

#: Paths that show nothing of the queue: the pages, and the description of the API.
_OPEN = frozenset({"", *(page.path for page in PAGES), "/docs", "/openapi.json"})

#: A POST that stores nothing.
_PREVIEW = "/api/preview"


def path_of(scope: Scope) -> str:
    """The path within this application, without the part that a mount or a proxy puts before it."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    is_below = bool(root) and (path == root or path.startswith(root + "/"))
    return path[len(root) :] if is_below else path


def is_open(scope: Scope) -> bool:
    """Tell whether the request is answered without the token, as it shows nothing of the queue."""
    path = path_of(scope)
    return path in _OPEN or path.startswith("/static/")


def is_reading(scope: Scope) -> bool:
    """Tell whether the request can change nothing."""
    method = scope["method"]
    return method in {"GET", "HEAD", "OPTIONS"} or (method == "POST" and path_of(scope) == _PREVIEW)


def is_stream(scope: Scope) -> bool:
    """Tell whether the request is for the stream of changes."""
    return scope["method"] in {"GET", "HEAD"} and path_of(scope) == STREAM
