"""The locks of our development: all that pyproject.toml asks for, with hashes, and no registry named."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = "".join((ROOT / f"requirements-{name}.txt").read_text() for name in ("dev", "cdk", "django"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())

#: Each entry: the name, the version, the marker if it has one, and the hashes.
ENTRIES = re.findall(
    r"^([a-z0-9.-]+)==(\S+)(?: ; (.+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    LOCK,
    re.MULTILINE,
)
AGAIN = "run `make lock`"


def asked_for() -> list[Requirement]:
    project = PROJECT["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    build: list[str] = PROJECT["build-system"]["requires"]
    every = [Requirement(line) for line in [*project["dependencies"], *extras, *build]]
    return [one for one in every if one.name != "duebell"]


@pytest.mark.parametrize("requirement", asked_for(), ids=str)
def test_what_is_asked_for_is_locked_at_a_version_that_will_do(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    versions = [version for locked, version, *_ in ENTRIES if locked == name]
    assert versions, AGAIN
    assert all(Version(version) in requirement.specifier for version in versions), AGAIN


def test_every_line_is_a_version_with_its_hashes() -> None:
    lines = [line for line in LOCK.splitlines() if not re.match(r"\s*(#|--hash=sha256:)", line)]
    assert len(lines) == len(ENTRIES)
    assert len(LOCK.splitlines()) > len(lines) > 100


def test_no_registry_and_no_path_is_named_in_it() -> None:
    assert not re.search(
        r"://|--index|--extra-index|--find-links|\.(org|com|io)\b|/(home|root|tmp|work|opt)/", LOCK
    )


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_each_python_gets_one_version_of_a_package(python: str) -> None:
    # 3.11 is what we promise; CI may run on any of these.
    here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    here_are = {  # a package in several locks is the same in all
        (name, version)
        for name, version, marker, _ in ENTRIES
        if not marker or Marker(marker).evaluate(dict(here))
    }
    names = [name for name, _ in here_are]
    assert len(names) == len(set(names))
    assert {"boto3", "pytest", "numpy"} <= set(names)


def test_what_make_installs_beside_the_locks_has_a_version() -> None:
    installed = re.findall(r"bin/pip install --quiet (\S+)\)", (ROOT / "Makefile").read_text())
    assert len(installed) == 5
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", one) for one in installed)
