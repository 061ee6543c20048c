"""The version of the worker's code, known before the code is imported."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

__all__ = ["BUNDLE_FILE", "duebell_release", "version_of"]

#: The file of a bundle that tells `version`, a digest of its contents, and `duebell`, the release in it.
BUNDLE_FILE = "duebell-bundle.json"

#: Variables of the set-up that may keep the code from starting.
_SETUP = ("DUEBELL_WORKER", "DUEBELL_DELIVERIES", "DUEBELL_ENVIRONMENT", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE")


class _Bundle(NamedTuple):
    version: str
    duebell: str


def version_of(modules: Iterable[str]) -> str:
    """A digest of the bundle, or else of the packages that these modules are in, and of what is set up.

    Imports nothing.
    """
    digest = hashlib.sha256(platform.python_version().encode())
    for name in _SETUP:
        digest.update(f"\0{os.environ.get(name, '')}".encode())
    if bundle := _bundle():
        digest.update(bundle.version.encode())
    else:
        digest.update(_digest_of_sources(frozenset(module.partition(".")[0] for module in modules)))
    return digest.hexdigest()[:12]


def duebell_release() -> str:
    """The release of duebell that runs here."""
    if bundle := _bundle():
        return bundle.duebell
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (a bundle does not load it)

    try:
        return version("duebell")
    except PackageNotFoundError:  # run from its sources
        return "not installed as a package"


@cache
def _bundle() -> _Bundle | None:
    file = Path(__file__).parents[2] / BUNDLE_FILE
    return _Bundle(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


@cache
def _digest_of_sources(names: frozenset[str]) -> bytes:
    """A digest of the sources as they are when they are first asked for: a process imports them once, too."""
    digest = hashlib.sha256()
    for source in _sources(names):
        with suppress(OSError):  # it cannot be imported then either
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.digest()


def _sources(names: Collection[str]) -> Iterator[Path]:
    """The Python files of these packages and modules of the top level, found without importing them."""
    for name in sorted(names):
        spec = PathFinder.find_spec(name, sys.path)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from sorted(Path(folder).rglob("*.py"))
        if spec and spec.origin and not spec.submodule_search_locations and Path(spec.origin).is_file():
            yield Path(spec.origin)
