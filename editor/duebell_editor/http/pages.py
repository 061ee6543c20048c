"""The pages of the editor, and checks whether a request only reads, or needs no token."""

import hashlib
from pathlib import Path
from string import Template
from typing import NamedTuple

from starlette.types import Scope

#: The folder of the pages, their scripts and styles.
FILES = Path(__file__).parent / "page"

#: The bundle, made by `make bundle`: one script for all pages, one style sheet for each page, and a digest
#: of their sources.
BUNDLE = FILES / "bundle"

#: The module that starts each page.
ENTRY = "page"


class Page(NamedTuple):
    """A page in the frame.

    path     its path on this server
    name     its name in the navigation
    file     its content, an HTML file without the extension; its styles have the same name
    content  the element that the first link of the page skips to
    api      the path below `/api` that shows the same without JavaScript
    """

    path: str
    name: str
    file: str
    content: str
    api: str

    @property
    def title(self) -> str:
        """The title of the window. For the first page, it is only the program's name."""
        return "duebell" if self.path == "/" else f"{self.name} · duebell"

    def render(self, *, schemas: str, read_only: bool, bundled: bool) -> str:
        """The whole page. The schemas are JSON that is safe within HTML.

        bundled  load one script and one style sheet; if false, load their sources
        """
        frame = Template((FILES / "frame.html").read_text(encoding="utf-8"))
        return frame.substitute(
            read_only="data-read-only " if read_only else "",
            page=self.file,
            title=self.title,
            styles=f"bundle/{self.file}" if bundled else self.file,
            schemas=schemas,
            script="bundle/duebell" if bundled else f"js/{ENTRY}",
            content=self.content,
            skip_to=self.name.lower(),
            links=" ".join(page.link(is_current=page is self) for page in PAGES),
            main=(FILES / f"{self.file}.html").read_text(encoding="utf-8").rstrip(),
            api=self.api,
        )

    def link(self, *, is_current: bool) -> str:
        """The link in the navigation: relative, so that the pages can be mounted below any path."""
        current = ' aria-current="page"' if is_current else ""
        return f'<a href=".{self.path}"{current}>{self.name}</a>'


PAGES = (
    Page(path="/", name="Tasks", file="index", content="tasks", api="tasks"),
    Page(path="/schedules", name="Schedules", file="schedules", content="schedules", api="schedules"),
    Page(path="/actions", name="Actions", file="actions", content="content", api="worker"),
)


def digest() -> str:
    """The digest of the modules and styles."""
    found = hashlib.sha256()
    for file in sorted([*FILES.glob("js/*.js"), *FILES.glob("css/*.css"), *FILES.glob("*.css")]):
        found.update(file.read_bytes())
    return found.hexdigest()


def is_bundled() -> bool:
    """Tell whether the bundle fits its sources. It does not while someone works on them."""
    kept = BUNDLE / "digest"
    return kept.exists() and kept.read_text(encoding="ascii") == digest()


#: Paths that show nothing of the queue: the pages, and the description of the API.
_OPEN = frozenset({"", *(page.path for page in PAGES), "/docs", "/openapi.json"})

#: Paths whose POST stores nothing.
_ASKING = {"/api/preview", "/api/simulate"}


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
    return method in {"GET", "HEAD", "OPTIONS"} or (method == "POST" and path_of(scope) in _ASKING)
