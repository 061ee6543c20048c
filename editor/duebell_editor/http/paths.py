"""Where in this application a request goes, also when it is mounted in another one."""

from starlette.types import Scope

__all__ = ["is_open", "path_of"]

#: What holds nothing of the queue: the page's own files, and the description of the API.
_OPEN = frozenset({"", "/", "/docs", "/openapi.json"})


def path_of(scope: Scope) -> str:
    """The path from the root of this application on: what a mount or a proxy puts before it is not ours."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    is_below = bool(root) and (path == root or path.startswith(root + "/"))
    return path[len(root) :] if is_below else path


def is_open(scope: Scope) -> bool:
    """Whether it may be had without the token: neither the queue, nor anything that we do not know."""
    path = path_of(scope)
    return path in _OPEN or path.startswith("/static/")
