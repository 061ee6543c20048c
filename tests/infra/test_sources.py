"""The files of our own packages and of the user's that go into the bundle."""

from pathlib import Path

import pytest

from duebell_infra.bundle.sources import actions_files, own_files
from duebell_infra.errors import BundleFailed


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("worker = None")


def test_our_own_packages_go_in_without_what_only_a_person_needs() -> None:
    names = set(own_files())

    assert {
        "duebell_worker/entry.py",
        "duebell_editor/library/editor.py",
        "duebell_shared/settings.py",
    } <= names
    assert not [name for name in names if name.startswith(("duebell_editor/cli", "duebell_editor/http"))]
    assert not [name for name in names if name.startswith("duebell_infra")]
    assert {name for name in names if name.startswith("duebell/") and "/contrib/" not in name} == {
        "duebell/__init__.py",
        "duebell/__init__.pyi",
        "duebell/lambda_handler.py",
        "duebell/py.typed",
    }
    assert "duebell/contrib/django/worker.py" in names  # it makes actions of Django's tasks


def test_a_package_goes_in_whole_without_tests_caches_and_hidden_things(tmp_path: Path) -> None:
    write(
        tmp_path,
        *("sale/__init__.py", "sale/actions.py", "sale/models/price.py", "sale/rates.json"),
        *("sale/.env", "sale/.git/config", "sale/__pycache__/actions.cpython-313.pyc", "sale/old.pyc"),
        *("sale/tests/test_all.py", "sale/test_actions.py", "sale/conftest.py"),
        *("sale/venv/pyvenv.cfg", "sale/venv/lib.py", "sale/sale.egg-info/PKG-INFO", "other/__init__.py"),
    )

    assert actions_files("sale.actions:worker", folder=tmp_path) == {
        name: tmp_path / name
        for name in ("sale/__init__.py", "sale/actions.py", "sale/models/price.py", "sale/rates.json")
    }


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
    # And what nobody imports
    write(tmp_path, "more.py", "setup.py", "other/__init__.py", "json/__init__.py")

    found = actions_files("actions:worker", folder=tmp_path)

    packages = {"sale/__init__.py", "sale/prices.py", "sale/old.py", "sale/broken.py"}
    data = {"rates/daily.py", "rates/eur.json"}
    assert set(found) == {"actions.py", "payloads.py", "more.py", *packages, *data}


def test_what_is_installed_is_left_to_the_requirements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "site-packages/installed.py", "src/ours/__init__.py")
    (tmp_path / "jobs.py").write_text("import installed, ours, pytest, duebell_infra\nworker = 1")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(tmp_path / "src")

    assert set(actions_files("jobs:worker", folder=tmp_path)) == {"jobs.py", "ours/__init__.py"}


@pytest.mark.parametrize(
    "actions", ["jobs", "jobs:", ":worker", "jobs.py:worker.", "my-jobs:worker", "a b:c"]
)
def test_what_names_no_worker_is_refused(actions: str, tmp_path: Path) -> None:
    with pytest.raises(BundleFailed, match=r"does not name a Worker: write MODULE:ATTRIBUTE, such as myser"):
        actions_files(actions, folder=tmp_path)


@pytest.mark.parametrize("module", ["jobs", "sale.jobs", "sys"])
def test_a_missing_module_is_refused(module: str, tmp_path: Path) -> None:
    write(tmp_path, "sale/__init__.py")
    with pytest.raises(BundleFailed) as refused:
        actions_files(f"{module}:worker", folder=tmp_path)
    missing = f"there is no module '{module}' in {tmp_path} or among the installed packages; run this in the"
    assert str(refused.value) == f"{missing} folder from which `import {module}` works"
