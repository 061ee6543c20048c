"""Requirements of the user's actions: from a requirements file, or from the pyproject.toml of their project.

A Lambda function runs its bundle with its role's rights. So only requirements by name reach pip, from the
indexes that pip is set up for: no line of a file can name another index, a URL or a folder, or have code run
by building it.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as ParsedRequirement

from duebell_infra.errors import BundleFailed
from duebell_shared.quoting import quoted

__all__ = ["Requirement", "Requirements", "requirements_of"]

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
