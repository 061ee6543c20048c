"""The libraries that go into the bundle: from package wheels for Lambda, or as installed on this machine.

A Lambda function runs its bundle with its role's rights. So only requirements by name reach pip, from the
indexes that pip is set up for: no line of a requirements file or a pyproject.toml can name another index, a
URL or a folder. Nothing is built from source: that would run anybody's code here, and make a library for this
machine.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as ParsedRequirement
from packaging.utils import canonicalize_name

from duebell_infra.errors import BundleFailed
from duebell_shared.quoting import quoted

from .sources import Files
from .target import Place, Target

#: The SDK and what it stands on; Lambda's Python runtimes bring them.
#: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
IN_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})

#: Files that the installer adds; they hold paths of this machine, or change with every build.
_LEFT_OUT_NOTES = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}

_PROJECT = "pyproject.toml"

#: duebell itself is in the bundle anyway, as it is installed here.
_OURS = re.compile(r"duebell(?![\w.-])", re.IGNORECASE)

_HASH = re.compile(r"\s+--hash[=\s]\s*((?:sha256|sha384|sha512):[0-9a-fA-F]+)(?=\s|$)")
#: A URL, a path, or a file that pip would take from the current folder.
_ELSEWHERE = re.compile(r"[/\\@]|^\.|\.(whl|zip|tar|t[bgx]z|tlz|tar\.\w+)\s*($|;)", re.IGNORECASE)
_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(?:^|\s)-")
_OTHER_FILE = re.compile(
    r"(?P<kind>-r|--requirement|-c|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(?P<path>\S.*)"
)
_PASSWORD = re.compile(r"://[^/@\s]*@")

_SET_UP_PIP = (
    "options are not taken from there; say which indexes to use where pip is set up (PIP_INDEX_URL, "
    "PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS, or pip's configuration), and leave the others out"
)
_BUILD_A_WHEEL = (
    "only requirements by name go into a bundle, as wheels; of what no index has, build a wheel (pip wheel), "
    "name its folder in PIP_FIND_LINKS, and require it by its name"
)
_WRITE_IT_SO = "this is no requirement by name: write it such as `name>=1.2` or `name[extra]==1.2; marker`"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A distribution by its name.

    name   the name, as it is written
    line   as pip takes it, without hashes
    hashes the hashes, such as `sha256:…`, one of which it must have; none: it may have any
    where  the file and the line, for messages
    """

    name: str
    line: str
    hashes: tuple[str, ...] = ()
    where: str

    def __str__(self) -> str:
        return " ".join([self.line, *(f"--hash={one}" for one in self.hashes)])


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The distributions that are required, and the constraints on versions."""

    wanted: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()

    @property
    def are_hashed(self) -> bool:
        """True if each must have one of its hashes: they all have hashes, or none has."""
        return any(one.hashes for one in self.wanted)


class _Line(NamedTuple):
    text: str
    where: str
    constrains: bool = False


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


def requirements_of(given: Path | None) -> Requirements:
    """The requirements in this file. A folder stands for the pyproject.toml in it.

    Raises BundleFailed, which names the line, for a line that is no requirement by name.
    """
    if given is None:
        return Requirements()
    file = given / _PROJECT if given.is_dir() else given
    if not file.is_file():
        kind = "pyproject.toml" if file.name == _PROJECT else "requirements file"
        raise BundleFailed(f"there is no {kind} {file}")
    if file.name == _PROJECT:
        lines = _dependencies(file)
        return Requirements(wanted=tuple(_checked(line, may_have_hashes=False) for line in lines))
    lines = list(_lines_of(file, constrains=False, read=set()))
    needs_hashes = [line for line in lines if line.text == "--require-hashes"]
    checked = [(line.constrains, _checked(line)) for line in lines if line not in needs_hashes]
    found = Requirements(
        wanted=tuple(one for constrains, one in checked if not constrains),
        constraints=tuple(one for constrains, one in checked if constrains),
    )
    for one in found.wanted:
        if (needs_hashes or found.are_hashed) and not one.hashes:
            raise _refused(one.line, one.where, "it has no --hash, and here everything must have one")
    return found


def _lines_of(file: Path, *, constrains: bool, read: set[tuple[Path, bool]]) -> Iterator[_Line]:
    """The lines of a requirements file, and of the files that it names; of each file once."""
    if (this := (file.resolve(), constrains)) in read:
        return
    read.add(this)
    for number, text in _logical_lines(_text_of(file)):
        where = f"{file}, line {number}"
        if other := _OTHER_FILE.fullmatch(text):
            path = file.parent / other["path"].strip("\"'")
            if "://" in other["path"] or not path.is_file():
                raise _refused(text, where, "there is no such file on this machine")
            is_constraint = other["kind"] in {"-c", "--constraint"}
            yield from _lines_of(path, constrains=constrains or is_constraint, read=read)
        elif not _OURS.match(text):
            yield _Line(text, where, constrains)


def _dependencies(file: Path) -> list[_Line]:
    """The project's own dependencies, without its extras."""
    try:
        project: dict[str, Any] = tomllib.loads(_text_of(file)).get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise BundleFailed(f"{file} cannot be read: {error}") from None
    if "dependencies" not in project:
        raise BundleFailed(
            f"{file} lists no dependencies under [project]: list them there (an empty list will do), or give "
            f"a requirements file"
        )
    if not isinstance(project["dependencies"], list):
        raise BundleFailed(f"{file} cannot be read: dependencies is no list")
    texts = [str(line).strip() for line in project["dependencies"]]
    return [_Line(text, f"{file}, dependencies") for text in texts if not _OURS.match(text)]


def _checked(line: _Line, *, may_have_hashes: bool = True) -> Requirement:
    """The requirement in this line. Raises BundleFailed if it is none by name."""
    hashes = tuple(_HASH.findall(line.text)) if may_have_hashes else ()
    text = _HASH.sub("", line.text).strip() if may_have_hashes else line.text
    if text.startswith(("-e", "--editable")):
        raise _refused(line.text, line.where, _BUILD_A_WHEEL)
    if _OPTION.search(text):
        raise _refused(line.text, line.where, _SET_UP_PIP)
    if _ELSEWHERE.search(text):
        raise _refused(line.text, line.where, _BUILD_A_WHEEL)
    try:
        name = ParsedRequirement(text).name
    except InvalidRequirement:
        name = ""
    if not name or "$" in text:  # pip would put the environment's variables in place of `${NAME}`
        raise _refused(line.text, line.where, _WRITE_IT_SO)
    return Requirement(name=name, line=text, hashes=hashes, where=line.where)


def _refused(line: str, where: str, why: str) -> BundleFailed:
    return BundleFailed(f"{where}: {quoted(_PASSWORD.sub('://…@', line))}: {why}")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, those that end with a backslash joined, each with its number."""
    first, parts = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        rest = _COMMENT.sub("", line).strip()
        first = first or number
        parts.append(rest.removesuffix("\\").strip())
        if rest.endswith("\\"):
            continue
        if joined := " ".join(part for part in parts if part):
            yield first, joined
        first, parts = 0, []


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleFailed(f"{file} cannot be read: {error}") from None
