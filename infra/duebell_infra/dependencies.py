"""The libraries that go into the bundle: from package wheels for Lambda, or as installed on this machine."""

import re
import subprocess
import sys
from collections.abc import Collection, Sequence
from importlib import metadata
from pathlib import Path

from .archive import Files
from .errors import BundleFailed
from .requirements import pip_arguments
from .target import Place, Target

__all__ = ["IN_RUNTIME", "core_requirements", "install"]

#: The SDK and what it stands on; Lambda's Python runtimes bring them.
#: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
IN_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Notes of the installer's; they hold paths of this machine, or change with every build.
_LEFT_OUT_NOTES = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}


def core_requirements(*, leave_out: Collection[str] = IN_RUNTIME) -> list[str]:
    """What duebell's core requires, each at the version installed here, which is the one that was tried."""
    needed = _required_by("duebell")
    here = [name for name in sorted(needed - set(leave_out)) if _is_installed(name)]
    return [f"{name}=={metadata.version(name)}" for name in here]


def install(
    folder: Path, target: Target, *, requirements: Path | None, leave_out: Collection[str] = IN_RUNTIME
) -> Files:
    """The core's libraries, and those of the user's requirements file or project, for this target.

    What is not taken from this machine's installation is put into `folder`. Raises BundleFailed.
    """
    wanted = pip_arguments(requirements)
    if target.place is Place.LAMBDA:
        _pip(folder, _lambda_options(target), [*core_requirements(leave_out=leave_out), *wanted], target)
        return _installed_files(folder, leave_out)
    files = dict(_files_here(_closure("duebell", leave_out)))
    if wanted:
        _pip(folder, [], wanted, target)
        files.update(_installed_files(folder, leave_out))
    return files


def _required_by(distribution: str) -> set[str]:
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        raise BundleFailed(
            f"{distribution} is not installed here, so its requirements are not known: pip install it"
        ) from None
    return {_name(line) for line in lines if not re.search(r";.*\bextra\b", line)}


def _name(requirement: str) -> str:
    match = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match.group() if match else requirement).lower()


def _closure(distribution: str, leave_out: Collection[str]) -> set[str]:
    """All that a distribution needs, by what is installed: what its markers exclude here, is not."""
    found: set[str] = set()
    waiting = _required_by(distribution)
    while waiting:
        name = waiting.pop()
        if name in found or name in leave_out or not _is_installed(name):
            continue
        found.add(name)
        waiting |= _required_by(name)
    return found


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _files_here(names: Collection[str]) -> Files:
    files: dict[str, Path] = {}
    for name in names:
        for file in metadata.files(name) or []:
            located = Path(str(file.locate()))
            if _is_wanted(Path(file)) and located.is_file():
                files[file.as_posix()] = located
    return files


def _lambda_options(target: Target) -> list[str]:
    platforms = [option for tag in target.wheel_platforms for option in ("--platform", tag)]
    version = ["--implementation", "cp", "--python-version", target.python]
    return [*platforms, *version, "--only-binary=:all:"]


def _pip(folder: Path, options: Sequence[str], wanted: Sequence[str], target: Target) -> None:
    fixed = ["--quiet", "--no-input", "--no-compile", "--disable-pip-version-check", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", *fixed, *options, *wanted]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode == 0:
        return
    if "No module named pip" in outcome.stderr:
        raise BundleFailed(
            f"pip is missing beside {sys.executable}: install it (python -m ensurepip, or uv pip install pip)"
        )
    errors = [
        line.removeprefix("ERROR: ") for line in outcome.stderr.splitlines() if line.startswith("ERROR")
    ]
    raise BundleFailed(
        f"pip found no fitting wheels for {target}: {errors[-1] if errors else outcome.stderr.strip()}"
    )


def _installed_files(folder: Path, leave_out: Collection[str]) -> Files:
    """What pip put into the folder, but for the distributions to leave out."""
    dropped = {
        file.as_posix()
        for found in metadata.distributions(path=[str(folder)])
        if _name(found.name) in leave_out
        for file in found.files or []
    }
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: file for name, file in files.items() if name not in dropped and _is_wanted(Path(name))}


def _is_wanted(name: Path) -> bool:
    if name.is_absolute() or name.parts[0] in {"..", "bin"} or "__pycache__" in name.parts:
        return False
    return not (name.parts[0].endswith(".dist-info") and name.name in _LEFT_OUT_NOTES)
