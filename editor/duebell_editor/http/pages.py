"""The pages of the editor: one frame with head and header, which holds the content of each."""

from pathlib import Path
from string import Template
from typing import NamedTuple

__all__ = ["FILES", "PAGES", "Page"]

#: The folder of the pages, their scripts and styles.
FILES = Path(__file__).parent / "page"


class Page(NamedTuple):
    """A page in the frame.

    path     its path on this server
    name     its name in the navigation
    file     its content, an HTML file without the extension
    script   its module in `js`
    styles   its own files in `css`, besides those of the frame
    content  the element that the first link of the page skips to
    api      the path below `/api` that answers the same without JavaScript
    """

    path: str
    name: str
    file: str
    script: str
    styles: tuple[str, ...]
    content: str
    api: str

    @property
    def title(self) -> str:
        """The title of the window; that of the first page is the program's name alone."""
        return "duebell" if self.path == "/" else f"{self.name} · duebell"

    def render(self, *, schemas: str, read_only: bool) -> str:
        """The whole page. The schemas are JSON that is safe within HTML."""
        frame = Template((FILES / "frame.html").read_text(encoding="utf-8"))
        return frame.substitute(
            read_only="data-read-only " if read_only else "",
            title=self.title,
            styles="\n  ".join(
                f'<link rel="stylesheet" href="static/css/{name}.css">' for name in self.styles
            ),
            schemas=schemas,
            script=self.script,
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
    Page(
        path="/",
        name="Tasks",
        file="index",
        script="main",
        styles=("rule", "timeline", "picking", "tasks", "failures"),
        content="tasks",
        api="tasks",
    ),
    Page(
        path="/schedules",
        name="Schedules",
        file="schedules",
        script="schedules",
        styles=("picking", "schedules"),
        content="schedules",
        api="schedules",
    ),
    Page(
        path="/actions",
        name="Actions",
        file="actions",
        script="actions",
        styles=("actions",),
        content="content",
        api="worker",
    ),
)
