"""One minified script for all pages and one style sheet for each: what the server gives to browsers.

`make bundle` gives it esbuild: python -m tests.bundle ESBUILD
"""

import subprocess
import sys
from pathlib import Path

from duebell_editor.http.pages import BUNDLE, ENTRY, FILES, PAGES, digest

__all__ = ["main", "make"]


def make(esbuild: str | Path, out: Path) -> None:
    """Write the files into this folder. Raises if esbuild finds a fault."""
    options = ("--bundle", "--minify", "--legal-comments=none", "--log-level=warning")
    entry = FILES / "js" / f"{ENTRY}.js"
    subprocess.run([esbuild, entry, *options, "--format=esm", f"--outfile={out / 'duebell.js'}"], check=True)
    for page in PAGES:
        styles = FILES / f"{page.file}.css"
        subprocess.run([esbuild, styles, *options, f"--outfile={out / styles.name}"], check=True)
    (out / "digest").write_text(digest(), encoding="ascii")


def main(esbuild: str) -> None:
    """Make the files that are in the repository and in the wheel."""
    BUNDLE.mkdir(exist_ok=True)
    make(Path(esbuild).absolute(), BUNDLE)


if __name__ == "__main__":
    main(sys.argv[1])
