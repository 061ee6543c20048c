"""The Python files that go into the bundle as they are: our own packages and the user's project."""

import ast
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from duebell_infra.errors import BundleFailed
from duebell_shared.quoting import quoted, shortened

#: Files: the place of each in the archive, with slashes, and its path on this machine.
Files = Mapping[str, Path]

#: The packages that a worker runs on; actions use the editor to add tasks that follow.
_OWN = ("duebell", "duebell_shared", "duebell_worker", "duebell_editor")

#: Packages that are never taken for a part of the user's project.
_OURS = (*_OWN, "duebell_infra")

#: Parts of our packages that a Lambda does not need. They import the extras.
_LEFT_OUT = (
    "duebell/__main__",
    "duebell/cdk",
    "duebell/http",
    "duebell/testing",
    "duebell_editor/cli",
    "duebell_editor/http",
)

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")
SKIPPED_FOLDERS = {"__pycache__", "node_modules", "test", "tests"}

#: The folders that pip installs into. The requirements bring such packages into a bundle.
_INSTALLED = {"dist-packages", "site-packages"}

SKIPPED_FILES = re.compile(r"conftest\.py|test_.*\.py|.*_test\.py|.*\.py[cod]")


def own_files() -> Files:
    """The packages of duebell that the worker needs, wherever they are installed."""
    files: dict[str, Path] = {}
    for name in _OWN:
        spec = find_spec(name)
        if spec is None:
            raise BundleFailed(f"the package {name} is missing: install duebell again")
        files.update(_files_of(name, spec))
    return {name: file for name, file in files.items() if not name.startswith(_LEFT_OUT)}


def actions_files(actions: str, *, folder: Path | None = None) -> Files:
    """The top-level package or module that `actions`, a `module:attribute`, is in, and what it imports.

    These are whole packages and modules of the project, found by following their imports. Installed packages
    are left out, because the requirements bring them; so are tests, caches and hidden files. Modules are
    looked for as Python does, first in `folder` (the current one if not given), and are not imported. Raises
    BundleFailed.
    """
    reference = _REFERENCE.fullmatch(actions)
    if reference is None:
        raise BundleFailed(
            f"{quoted(actions)} does not name a Worker: write MODULE:ATTRIBUTE, such as "
            f"myservice.actions:worker"
        )
    module = reference["module"]
    top = module.split(".")[0]
    path = search_path(folder)
    spec = PathFinder.find_spec(top, path)
    files = {} if spec is None else _files_of(top, spec)
    inner = module.replace(".", "/")
    if not files.keys() & {f"{inner}.py", f"{inner}/__init__.py"}:
        raise BundleFailed(
            f"there is no module {quoted(module)} in {path[0]} or among the installed packages; run this in "
            f"the folder from which `import {shortened(module)}` works"
        )
    return _with_imports(files, top, path)


def search_path(folder: Path | None) -> list[str]:
    """The folders in which modules are looked for: the given one, or the current, and Python's own."""
    return [str((folder or Path.cwd()).resolve()), *sys.path]


def _with_imports(files: Files, top: str, path: Sequence[str]) -> dict[str, Path]:
    """The files of a module or package, and of the project's other modules that it imports, step by step."""
    found = dict(files)
    looked_for = {top, *sys.stdlib_module_names, *_OURS}
    waiting = files
    while waiting:
        wanted = {
            name for file in waiting.values() if file.suffix == ".py" for name in _imported_modules(file)
        }
        waiting = {}
        for name in sorted(wanted - looked_for):
            spec = PathFinder.find_spec(name, path)
            if spec is not None and _is_of_the_project(spec):
                waiting |= _files_of(name, spec)
        looked_for |= wanted
        found |= waiting
    return found


def _is_of_the_project(spec: ModuleSpec) -> bool:
    """Return True if a module's source is here, and was not installed by pip."""
    if spec.submodule_search_locations is not None:
        place = Path(next(iter(spec.submodule_search_locations)))
    elif spec.origin is not None and spec.origin.endswith(".py"):
        place = Path(spec.origin)
    else:
        return False
    return _INSTALLED.isdisjoint(place.parts)


def _package_files(root: Path) -> Iterator[Path]:
    """The files of a package's folder without tests, caches, virtual environments and hidden files."""
    for folder, folders, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if any(os.path.realpath(one) == real for one in Path(folder).parents):  # a link to a folder around it
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if _is_wanted_folder(Path(folder, name)))
        for name in sorted(names):
            if not name.startswith(".") and not SKIPPED_FILES.fullmatch(name):
                yield Path(folder, name)


def _files_of(top: str, spec: ModuleSpec) -> dict[str, Path]:
    if spec.submodule_search_locations is not None:
        # A package without __init__.py may have several folders, of which the first counts.
        all_roots = [Path(one) for one in spec.submodule_search_locations]
        roots = [one for one in all_roots if _INSTALLED.isdisjoint(one.parts)] or all_roots[:1]
        return {
            f"{top}/{file.relative_to(root).as_posix()}": file
            for root in reversed(roots)
            for file in _package_files(root)
        }
    if spec.origin is None or not Path(spec.origin).is_file():
        raise BundleFailed(f"{top} is built into Python and cannot hold actions")
    return {Path(spec.origin).name: Path(spec.origin)}


def _is_wanted_folder(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in SKIPPED_FOLDERS or folder.name.endswith(".egg-info"):
        return False
    return not (folder / "pyvenv.cfg").exists()


def _imported_modules(source: Path) -> set[str]:
    """The top-level names that a Python file imports absolutely, anywhere in it."""
    try:
        tree = ast.parse(source.read_bytes(), filename=str(source))
    except (SyntaxError, ValueError):
        return set()  # a file for another Python; importing the bundle shows if it matters
    return {name.partition(".")[0] for node in ast.walk(tree) for name in _names(node)}


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
