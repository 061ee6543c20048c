"""The libraries that go into the bundle: from package wheels for Lambda, or as installed on this machine.

pip reads the user's requirements file as it always does: its options, hashes and other files apply. It takes
only wheels: a package that is built from source is built for this machine.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from duebell_infra.errors import BundleFailed

from .sources import Files
from .target import Place, Target

#: The SDK and the libraries that it needs; Lambda's Python runtimes bring them.
#: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
IN_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})

#: Files that the installer adds; they hold paths of this machine, or change with every build.
_LEFT_OUT_NOTES = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}

_PROJECT = "pyproject.toml"

#: A requirement of duebell, by its name, folder, archive or repository, with its hashes. It is dropped: the
#: bundle has duebell as it is installed here.
_OURS = re.compile(
    r"(?mi)^\s*(?:(?:-e|--editable)[ =]*)?(?!-)(?:\S*/)?duebell(?:\.git|-\d\S*\.whl|-\d\S*\.tar\.gz)?"
    r"/?(?=$|[\s\[@#;=<>~!(\\])(.*\\\n)*.*$"
)

#: Another file, or a folder of archives, that a requirements file names; pip looks for it beside that file.
_OTHER_FILE = re.compile(r"(?m)^(-r|--requirement|-c|--constraint|-f|--find-links)[ =]*(?!\w+:)(\S+)")


def core_requirements() -> list[str]:
    """The libraries that duebell's core requires, each at the version installed here, which was tested."""
    names = sorted(_required_by("duebell") - IN_RUNTIME)
    return [f"{name}=={_installed(name).version}" for name in names]


def install(folder: Path, target: Target, *, requirements: Path | None) -> Files:
    """The core's libraries, and those of the user's requirements file or project, for this target.

    If the user's requirements have hashes, pip refuses a library with another hash. `folder` gets the
    libraries that are not taken from this machine's installation. Raises BundleFailed.
    """
    core = core_requirements()
    theirs = _pip(folder / "theirs", target, requirements_of(requirements), within=core)
    if target.place is Place.LAMBDA:
        # In a call of its own, because the core has no hashes; at the versions that the user's requirements
        # chose.
        brought = {canonicalize_name(found.name): found.version for found in _distributions(theirs)}
        pins = [f"{name}=={version}" for name, version in brought.items()]
        ours = _pip(folder / "ours", target, "\n".join(core), within=pins)
        core_files = _installed_files(ours, {*IN_RUNTIME, *brought})
    else:
        core_files = _files_here(_needed_by("duebell"))
    return {**core_files, **_installed_files(theirs, IN_RUNTIME)}


def _required_by(distribution: str) -> set[str]:
    """The distributions that this one requires here: without extras, and without those for other machines."""
    required = map(Requirement, _installed(distribution).requires or [])
    here = {"extra": ""}
    return {canonicalize_name(one.name) for one in required if not one.marker or one.marker.evaluate(here)}


def _installed(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise BundleFailed(
            f"{name} is not installed here, and duebell needs it: pip install {name}"
        ) from None


def _needed_by(distribution: str) -> set[str]:
    """The distributions that this one requires, and those that they require, without the runtime's."""
    found: set[str] = set()
    waiting = _required_by(distribution)
    while waiting := waiting - found - IN_RUNTIME:
        found |= waiting
        waiting = set().union(*map(_required_by, waiting))
    return found


def _files_here(names: Collection[str]) -> Files:
    files = [file for name in names for file in _installed(name).files or []]
    located = {file.as_posix(): Path(str(file.locate())) for file in files if _is_wanted(Path(file))}
    return {name: file for name, file in located.items() if file.is_file()}


def _pip(folder: Path, target: Target, requirements: str, *, within: Iterable[str]) -> Path:
    """Let pip install these, and what they require, into the folder. Returns the folder. Raises BundleFailed.

    `within` are constraints on versions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not requirements.strip():
        return folder
    options = ["--quiet", "--no-input", "--no-compile", "--disable-pip-version-check", "--only-binary=:all:"]
    if target.place is Place.LAMBDA:
        options += ["--implementation", "cp", "--python-version", target.python]
        options += [f"--platform={tag}" for tag in target.wheel_platforms]
    with tempfile.TemporaryDirectory(prefix="duebell-requirements-") as notes:
        wanted, constraints = Path(notes, "requirements.txt"), Path(notes, "constraints.txt")
        wanted.write_text(requirements, encoding="utf-8")
        constraints.write_text("\n".join(within), encoding="utf-8")
        files = ["--requirement", str(wanted), "--constraint", str(constraints)]
        command = [sys.executable, "-m", "pip", "install", "--target", str(folder), *options, *files]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode:
        raise BundleFailed(_why(outcome.stderr, target))
    return folder


def _why(said: str, target: Target) -> str:
    """The reason why pip failed, and what to do."""
    told = " ".join(said[max(said.find("ERROR"), 0) :].replace("ERROR: ", "").split())
    return (
        f"pip found no libraries for {target}: {told}. Nothing is built from source: take a version with a "
        f"wheel for it, or build one and name its folder in PIP_FIND_LINKS. In the bundle are "
        f"{', '.join(core_requirements())}, as installed here"
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


def requirements_of(given: Path | None, *, named_by: tuple[Path, ...] = ()) -> str:
    """The requirements in this file, for pip, without duebell itself. A folder stands for its pyproject.toml.

    The result also has the requirements of the files that it names with `-r`. Raises BundleFailed.

    named_by  the files that led to this one, by their `-r`
    """
    if given is None:
        return ""
    file = given / _PROJECT if given.is_dir() else given
    if (place := file.resolve()) in named_by:
        raise BundleFailed(f"the requirements file {file} names itself")
    if not file.is_file():
        kind = "pyproject.toml" if file.name == _PROJECT else "requirements file"
        raise BundleFailed(f"there is no {kind} {file}")
    try:
        text = file.read_text(encoding="utf-8-sig")
        project = tomllib.loads(text).get("project", {}) if file.name == _PROJECT else None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BundleFailed(f"{file} cannot be read: {error}") from None
    if project is not None:
        if not isinstance(project.get("dependencies"), list):
            raise BundleFailed(
                f"{file} lists no dependencies under [project]: list them there (an empty list will do), or "
                f"give a requirements file"
            )
        text = "\n".join(map(str, project["dependencies"]))

    def other(found: re.Match[str]) -> str:
        other_file = place.parent / found[2]
        if found[1] in {"-f", "--find-links"} and not other_file.exists():
            return found[0]
        if found[1] not in {"-r", "--requirement"}:
            return f"{found[1]} {other_file}"
        return requirements_of(other_file, named_by=(*named_by, place))

    return _OTHER_FILE.sub(other, _OURS.sub("", text))
