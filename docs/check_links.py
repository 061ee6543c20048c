"""Checks the pages at the root and in docs/: links lead to a file and a heading, diagrams can be read."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere, each with the reason."""
    faults = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text())):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            faults.append(f"{page.relative_to(ROOT)}: {link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            faults.append(f"{page.relative_to(ROOT)}: {link}: no such heading")
    return faults


def split_statements(page: Path) -> list[str]:
    """The lines of a page's diagrams with a semicolon: Mermaid ends a statement there, also within text."""
    lines = (line for diagram in _DIAGRAM.findall(page.read_text()) for line in diagram.splitlines())
    return [f"{page.relative_to(ROOT)}: ; in a diagram: {line.strip()}" for line in lines if ";" in line]


if __name__ == "__main__":
    faults = [fault for page in PAGES for check in (broken, split_statements) for fault in check(page)]
    print("\n".join(faults) or f"docs: the links of {len(PAGES)} pages lead somewhere")
    sys.exit(bool(faults))
