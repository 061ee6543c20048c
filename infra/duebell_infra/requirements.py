"""What the user's actions need: from a requirements file, or from the pyproject.toml of their project.

A bundle is what a Lambda function runs with its role's rights. So only requirements by name reach pip, from
the indexes that pip is set up for: no line of a file can name another index, a URL or a folder, or have code
run by building it.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duebell_shared.quoting import quoted

from .errors import BundleFailed

__all__ = ["Requirement", "Requirements", "distribution_name", "requirements_of"]

_PROJECT = "pyproject.toml"

#: In the bundle anyway, as it is installed here.
_OURS = re.compile(r"duebell(?![\w.-])", re.IGNORECASE)

#: A requirement by name, as PEP 508 has it: https://peps.python.org/pep-0508/#grammar
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9._*+!-]+"
_BY_NAME = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?"
    rf"\s*(?:{_VERSION}(?:\s*,\s*{_VERSION})*|\(\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*\))?"
    r"\s*(?:;[\w\s.,<>=!~'\"()+*-]+)?"
)
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
    hashes: tuple[str, ...]
    where: str

    def __str__(self) -> str:
        return " ".join([self.line, *(f"--hash={one}" for one in self.hashes)])


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """What is required, within which constraints, and whether everything must have one of its hashes."""

    wanted: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    are_hashed: bool = False


def distribution_name(name: str) -> str:
    """The one spelling of a distribution's name: https://peps.python.org/pep-0503/#normalized-names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements_of(given: Path | None) -> Requirements:
    """What is required there. A folder stands for the pyproject.toml in it.

    Raises BundleFailed, which names the line, for whatever is no requirement by name.
    """
    if given is None:
        return Requirements()
    file = given / _PROJECT if given.is_dir() else given
    if not file.is_file():
        what = "pyproject.toml" if file.name == _PROJECT else "requirements file"
        raise BundleFailed(f"there is no {what} {file}")
    if file.name == _PROJECT:
        return Requirements(wanted=tuple(_dependencies(file)))
    reader = _Reader()
    reader.read(file, into=reader.wanted)
    return reader.found()


class _Reader:
    """Reads requirements files, and those that they name."""

    def __init__(self) -> None:
        self.wanted: list[Requirement] = []
        self.constraints: list[Requirement] = []
        self.are_hashed = False
        self._read: set[tuple[Path, bool]] = set()

    def read(self, file: Path, *, into: list[Requirement]) -> None:
        this = (file.resolve(), into is self.constraints)
        if this in self._read:
            return
        self._read.add(this)
        for number, line in _logical_lines(_text_of(file)):
            where = f"{file}, line {number}"
            if line == "--require-hashes":
                self.are_hashed = True
            elif other := _OTHER_FILE.fullmatch(line):
                path = file.parent / other["path"].strip("\"'")
                if "://" in other["path"] or not path.is_file():
                    raise _refused(where, line, "there is no such file on this machine")
                self.read(path, into=self.constraints if "c" in other["kind"][:3] else into)
            elif not _OURS.match(line):
                into.append(_checked(line, where, may_have_hashes=True))

    def found(self) -> Requirements:
        hashed = self.are_hashed or any(one.hashes for one in self.wanted)
        for one in self.wanted:
            if hashed and not one.hashes:
                raise _refused(one.where, one.line, "it has no --hash, and here everything must have one")
        return Requirements(wanted=tuple(self.wanted), constraints=tuple(self.constraints), are_hashed=hashed)


def _dependencies(file: Path) -> Iterator[Requirement]:
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
    lines = project["dependencies"]
    if not isinstance(lines, list):
        raise BundleFailed(f"{file} cannot be read: dependencies is no list")
    for line in lines:
        text = str(line).strip()
        if not _OURS.match(text):
            yield _checked(text, f"{file}, dependencies", may_have_hashes=False)


def _checked(line: str, where: str, *, may_have_hashes: bool) -> Requirement:
    """The requirement in this line. Raises BundleFailed if it is none by name."""
    hashes = tuple(_HASH.findall(line)) if may_have_hashes else ()
    text = _HASH.sub("", line).strip() if may_have_hashes else line
    if text.startswith(("-e", "--editable")):
        raise _refused(where, line, _BUILD_A_WHEEL)
    if _OPTION.search(text):
        raise _refused(where, line, _SET_UP_PIP)
    if _ELSEWHERE.search(text):
        raise _refused(where, line, _BUILD_A_WHEEL)
    by_name = _BY_NAME.fullmatch(text)
    if by_name is None:
        raise _refused(where, line, _WRITE_IT_SO)
    return Requirement(name=by_name["name"], line=text, hashes=hashes, where=where)


def _refused(where: str, line: str, why: str) -> BundleFailed:
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
