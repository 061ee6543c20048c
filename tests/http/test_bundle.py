"""The page's bundle: made of the modules that are here, and given to browsers."""

import os
from pathlib import Path

import pytest

from duebell_editor.http import pages
from tests import bundle


def test_the_bundle_is_of_the_modules_that_are_here() -> None:
    assert pages.is_bundled(), "the page's modules or styles changed: run `make bundle`"


def test_the_bundle_is_what_esbuild_makes(tmp_path: Path) -> None:
    modules = os.environ.get("DUEBELL_NODE_MODULES")
    if not modules:
        pytest.skip("DUEBELL_NODE_MODULES names no folder with esbuild, which needs Node.js")
    bundle.make(Path(modules) / ".bin" / "esbuild", tmp_path)
    made, kept = (
        {one.name: one.read_bytes() for one in folder.iterdir()} for folder in (tmp_path, pages.BUNDLE)
    )
    assert made == kept, "run `make bundle`"


def test_a_page_loads_one_script_and_one_style_sheet_unless_someone_works_on_them() -> None:
    for page in pages.PAGES:
        bundled, modules = (
            page.render(schemas="{}", read_only=False, bundled=is_it) for is_it in (True, False)
        )
        for tag in ('<link rel="stylesheet"', '<script type="module"'):
            assert bundled.count(tag) == 1
        assert modules.count('<link rel="stylesheet"') > 7
