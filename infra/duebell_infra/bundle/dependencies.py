"""The libraries that go into the bundle: from package wheels for Lambda, or as installed on this machine.

Nothing is built from source: that would run anybody's code here, and make a library for this machine.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement as ParsedRequirement
from packaging.utils import canonicalize_name

from duebell_infra.errors import BundleFailed

from .archive import Files
from .requirements import Requirement, Requirements, requirements_of
from .target import Place, Target

__all__ = ["IN_RUNTIME", "core_requirements", "install"]

#: The SDK and what it stands on; Lambda's Python runtimes bring them.
#: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
IN_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})

#: Files that the installer adds; they hold paths of this machine, or change with every build.
_LEFT_OUT_NOTES = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}


def core_requirements(*, leave_out: Collection[str] = IN_RUNTIME) -> list[str]:
    """The libraries that duebell's core requires, each at the version installed here, which was tested."""
    names = sorted(_required_by("duebell") - set(leave_out))
    return [f"{name}=={_installed(name).version}" for name in names]


def install(
    folder: Path, target: Target, *, requirements: Path | None, leave_out: Collection[str] = IN_RUNTIME
) -> Files:
    """The core's libraries, and those of the user's requirements file or project, for this target.

    Where the user's requirements have hashes, a library with another hash is refused. `folder` takes what is
    not taken from this machine's installation. Raises BundleFailed.
    """
    users = requirements_of(requirements)
    core = tuple(_pinned(line) for line in core_requirements(leave_out=leave_out))
    if target.place is Place.LAMBDA and not users.are_hashed:
        both = replace(users, wanted=(*core, *users.wanted))
        return _installed_files(_pip(folder, target, both), leave_out)
    within = replace(users, constraints=(*users.constraints, *core))
    theirs = _pip(folder / "theirs", target, within)
    if target.place is Place.LAMBDA:
        # In a call of its own, because the core has no hashes; at the versions that the user's requirements
        # chose.
        brought = {canonicalize_name(found.name): found.version for found in _distributions(theirs)}
        pins = tuple(_pinned(f"{name}=={version}") for name, version in brought.items())
        ours = _pip(folder / "ours", target, Requirements(wanted=core, constraints=pins))
        core_files = _installed_files(ours, {*leave_out, *brought})
    else:
        core_files = _files_here(_needed_by("duebell", leave_out))
    return {**core_files, **_installed_files(theirs, leave_out)}


def _pinned(line: str) -> Requirement:
    return Requirement(name=line.partition("==")[0], line=line, where="duebell itself")


def _required_by(distribution: str) -> set[str]:
    """The distributions that this one requires here: without extras, and without those for other machines."""
    required = map(ParsedRequirement, _installed(distribution).requires or [])
    here = {"extra": ""}
    return {canonicalize_name(one.name) for one in required if not one.marker or one.marker.evaluate(here)}


def _installed(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise BundleFailed(
            f"{name} is not installed here, and duebell needs it: pip install {name}"
        ) from None


def _needed_by(distribution: str, leave_out: Collection[str]) -> set[str]:
    """The distributions that this one requires, and those that they require in turn."""
    found: set[str] = set()
    waiting = _required_by(distribution)
    while waiting := waiting - found - set(leave_out):
        found |= waiting
        waiting = set().union(*map(_required_by, waiting))
    return found


def _files_here(names: Collection[str]) -> Files:
    files = [file for name in names for file in _installed(name).files or []]
    located = {file.as_posix(): Path(str(file.locate())) for file in files if _is_wanted(Path(file))}
    return {name: file for name, file in located.items() if file.is_file()}


def _pip(folder: Path, target: Target, requirements: Requirements) -> Path:
    """Have pip put these, and what they require, into the folder; the folder. Raises BundleFailed."""
    folder.mkdir(parents=True, exist_ok=True)
    if not requirements.wanted:
        return folder
    options = ["--quiet", "--no-input", "--no-compile", "--disable-pip-version-check", "--only-binary=:all:"]
    if target.place is Place.LAMBDA:
        options += ["--implementation", "cp", "--python-version", target.python]
        options += [f"--platform={tag}" for tag in target.wheel_platforms]
    if requirements.are_hashed:
        options.append("--require-hashes")
    with tempfile.TemporaryDirectory(prefix="duebell-requirements-") as notes:
        wanted, constraints = Path(notes, "requirements.txt"), Path(notes, "constraints.txt")
        wanted.write_text("\n".join(map(str, requirements.wanted)), encoding="utf-8")
        constraints.write_text("\n".join(map(str, requirements.constraints)), encoding="utf-8")
        files = ["--requirement", str(wanted), "--constraint", str(constraints)]
        command = [sys.executable, "-m", "pip", "install", "--target", str(folder), *options, *files]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode:
        raise BundleFailed(_why(outcome.stderr, target, requirements))
    for found in _distributions(folder):
        if found.read_text("direct_url.json"):  # https://peps.python.org/pep-0610/
            raise BundleFailed(
                f"{found.name} is required from a URL by another library: require another version of that"
            )
    return folder


def _why(said: str, target: Target, requirements: Requirements) -> str:
    """The reason why pip failed, and what to do."""
    if "No module named pip" in said:
        return (
            f"pip is missing beside {sys.executable}: install it (python -m ensurepip, or uv pip install pip)"
        )
    errors = "\n".join(line for line in said.splitlines() if "ResolutionImpossible" not in line)
    told = " ".join(errors[max(errors.find("ERROR"), 0) :].replace("ERROR: ", "").split())
    told = re.sub(r" \(from -r \S+ \(line \d+\)\)", "", told)
    if "hashes" in told.lower():
        return f"the hashes that are required for {target} are not those of what there is: {told}"
    named = [one for one in requirements.wanted if re.search(rf"\b{re.escape(one.name)}\b", told)]
    where = f" ({named[-1].where})" if named else ""
    if "conflicting dependencies" in told:
        core = ", ".join(core_requirements())
        return (
            f"pip found nothing that fits together: {told}{where} In the bundle are {core}, as installed here"
        )
    return (
        f"pip found no fitting wheels for {target}: {told}{where}; nothing is built from source: take a "
        f"version with such a wheel, or build one and name its folder in PIP_FIND_LINKS"
    )


def _distributions(folder: Path) -> list[metadata.Distribution]:
    return list(metadata.distributions(path=[str(folder)]))


def _installed_files(folder: Path, leave_out: Collection[str]) -> Files:
    """The files that pip put into the folder, without those of the distributions to leave out."""
    dropped = {
        file.as_posix()
        for found in _distributions(folder)
        if canonicalize_name(found.name) in leave_out
        for file in found.files or []
    }
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: file for name, file in files.items() if name not in dropped and _is_wanted(Path(name))}


def _is_wanted(name: Path) -> bool:
    if name.is_absolute() or name.parts[0] in {"..", "bin"} or "__pycache__" in name.parts:
        return False
    return not (name.parts[0].endswith(".dist-info") and name.name in _LEFT_OUT_NOTES)
