"""Builds the documentation site from README and docs/: `make docs`. Nothing is downloaded.

On GitHub, links to files outside docs/ are relative. On the site, these files are at the project's address.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: The pages as the site has them; `docs_dir` of mkdocs.yml.
PAGES = ROOT / "build" / "docs"

_URL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]

#: Pages of the root that are pages of the site.
_MOVED = {ROOT / "README.md": "index.md", ROOT / "CHANGELOG.md": "changelog.md"}

_LINK = re.compile(r"(\]\(|src=\"|srcset=\")([^)\s\"#]+)(?=[)#\"])")
_SHOWN = {".md", ".png", ".svg", ".json", ".js", ".txt"}


def main() -> None:
    """Write the pages, and build the site strictly."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for file in DOCS.rglob("*"):
        if file.suffix in _SHOWN:
            _write(file, PAGES / file.relative_to(DOCS))
    for file, name in _MOVED.items():
        _write(file, PAGES / name)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md$", config, re.MULTILINE))
    if missing := {page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md")} ^ listed:
        sys.exit(f"mkdocs.yml and docs/ do not have the same pages: {', '.join(sorted(missing))}")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    done = subprocess.run([*command, "--config-file", str(ROOT / "mkdocs.yml")], check=False)  # noqa: S603
    sys.exit(done.returncode)


def _write(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".md":
        to.write_text(for_site(file.read_text(encoding="utf-8"), file), encoding="utf-8")
    else:
        shutil.copyfile(file, to)


def for_site(text: str, page: Path) -> str:
    """The page's text with its links as the site needs them."""
    depth = 0 if page in _MOVED else len(page.relative_to(DOCS).parts) - 1

    def link(found: re.Match[str]) -> str:
        path = found[2]
        if re.match(r"[a-z]+:", path):
            return found[0]
        target = (page.parent / path).resolve()
        if target in _MOVED:
            path = "../" * depth + _MOVED[target]
        elif target.is_relative_to(DOCS) and target.is_file():
            path = "../" * depth + target.relative_to(DOCS).as_posix()
        else:
            kind = "tree" if target.is_dir() else "blob"
            path = f"{_URL}/{kind}/main/{target.relative_to(ROOT).as_posix()}"
        return found[1] + path

    return _LINK.sub(link, text)


if __name__ == "__main__":
    main()
