"""The files of our own packages and of the user's that go into the bundle."""

from pathlib import Path

import pytest

from duebell_infra.bundle.sources import actions_files


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("worker = None")


def test_what_it_imports_from_the_project_goes_in_too(tmp_path: Path) -> None:
    # Given a module that imports others, which import others in turn, in every form of an import
    (tmp_path / "actions.py").write_text(
        "import json, boto3, payloads\nfrom sale.prices import of\nworker = 1"
    )
    (tmp_path / "payloads.py").write_text("def later():\n    import rates.daily as daily")
    # And packages, each with more than the imported file, one of them with what this Python cannot parse
    write(tmp_path, "sale/__init__.py", "sale/prices.py", "sale/old.py", "rates/daily.py", "rates/eur.json")
    (tmp_path / "sale" / "old.py").write_text("import more\n")
    (tmp_path / "sale" / "broken.py").write_text("print 'hello'")
    # And with links to folders, one of which leads back
    write(tmp_path, "common/eur.txt")
    (tmp_path / "sale" / "texts").symlink_to(tmp_path / "common")
    (tmp_path / "sale" / "again").symlink_to(tmp_path / "sale")
    (tmp_path / "rates" / "all").symlink_to(tmp_path / "common")
    # And what nobody imports
    write(tmp_path, "more.py", "setup.py", "other/__init__.py", "json/__init__.py")

    found = actions_files("actions:worker", folder=tmp_path)

    packages = {"sale/__init__.py", "sale/prices.py", "sale/old.py", "sale/broken.py", "sale/texts/eur.txt"}
    data = {"rates/daily.py", "rates/eur.json", "rates/all/eur.txt"}
    assert set(found) == {"actions.py", "payloads.py", "more.py", *packages, *data}


def test_what_is_installed_is_for_the_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "site-packages/installed.py", "src/ours/one.py", "ours/two.py")
    (tmp_path / "jobs.py").write_text("import installed, ours, pytest, duebell_infra\nworker = 1")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(tmp_path / "src")

    assert set(actions_files("jobs:worker", folder=tmp_path)) == {"jobs.py", "ours/one.py", "ours/two.py"}
