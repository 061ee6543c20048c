"""The pages of the documentation site, as docs/make_site.py makes them of README and docs/."""

import re
from pathlib import Path

import pytest
from docs import make_reference, make_site

import duebell

DOCS = Path(__file__).resolve().parents[1] / "docs"
CODE = "https://github.com/duebell/duebell"


@pytest.mark.parametrize(
    ("page", "given", "link"),
    [
        ("using.md", "[a](limits.md#how)", "[a](limits.md#how)"),
        ("how-to/sam.md", "[a](../limits.md)", "[a](../limits.md)"),
        ("how-to/sam.md", "[a](../../README.md)", "[a](../index.md)"),
        ("how-to/sam.md", "[a](../../infra/template.yaml)", f"[a]({CODE}/blob/main/infra/template.yaml)"),
        ("compare.md", "[a](../alternatives)", f"[a]({CODE}/tree/main/alternatives)"),
        ("../README.md", "![a](docs/page/light.png)", "![a](page/light.png)"),
        ("../README.md", "[a](CHANGELOG.md)", "[a](changelog.md)"),
        ("../README.md", "[a](CONTRIBUTING.md)", f"[a]({CODE}/blob/main/CONTRIBUTING.md)"),
        ("using.md", "[a](https://example.com/x.md) [b](#part)", "[a](https://example.com/x.md) [b](#part)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_to_the_project(page: str, given: str, link: str) -> None:
    assert make_site.for_site(given, (DOCS / page).resolve()) == link


def test_every_page_stands_in_the_navigation_once() -> None:
    config = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md$", config, re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted([*pages, "index.md", "changelog.md"])


def test_every_public_name_stands_in_the_reference_once() -> None:
    names = [name for group in make_reference.GROUPS.values() for name in group.split()]
    assert sorted(names) == sorted(duebell.__all__)
