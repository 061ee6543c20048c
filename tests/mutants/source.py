"""Pieces of the product's source, found again wherever they stand and however they are formatted.

A piece is compared token by token. Line breaks, indentation, comments, docstrings, round brackets, trailing
commas and the choice of quotes do not count, so formatting or a move to another module does not matter.
"""

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["PACKAGES", "ROOT", "Module", "Place", "modules", "places_of"]

#: The root of the repository.
ROOT = Path(__file__).parents[2]

#: The folders of the product's packages, from the root.
PACKAGES = ("duebell", "shared", "editor", "worker", "infra")

_TOKEN = re.compile(
    r"""
    (?P<skipped>[ \t\f\n]+|\#[^\n]*|\\\n)
    | (?P<string>[rbufRBUF]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |\"(?:\\.|[^\\"\n])*\"|'(?:\\.|[^\\'\n])*'))
    | (?P<word>\w+)
    | (?P<operator>->|:=|\.\.\.|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^@=!<>]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_STEPS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    counts: bool
    begins: bool
    """True if a statement begins with it."""


@dataclass(frozen=True)
class Place:
    """The place of a piece of source: its module, with start and end in the module's text."""

    module: "Module"
    start: int
    end: int

    @property
    def text(self) -> str:
        """The source at this place."""
        return self.module.source[self.start : self.end]

    @property
    def scope(self) -> str:
        """The function or class around it: `Lease.hand_over`; empty at the level of the module."""
        return self.module.scope_at(self.start)

    def replaced(self, text: str) -> str:
        """The module with `text` there instead, indented as the place is."""
        source = self.module.source
        line = source[source.rfind("\n", 0, self.start) + 1 : self.start]
        by = len(line) - len(line.lstrip()) - _indent_of(text, default=len(line) - len(line.lstrip()))
        first, *others = text.strip().split("\n")
        lines = [first, *(" " * max(0, _width(other) + by) + other.lstrip() for other in others)]
        return source[: self.start] + "\n".join(lines) + source[self.end :]


class Module:
    """One of the product's modules."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self._tokens = _tokens(self.source)
        self._counting = [number for number, token in enumerate(self._tokens) if token.counts]
        texts = [self._tokens[number].text for number in self._counting]
        self._joined = _joined(texts)
        self._offsets = [0]
        for text in texts:
            self._offsets.append(self._offsets[-1] + len(text) + 1)

    def find(self, piece: str) -> list[Place]:
        """All places where these tokens stand in a row, with the same brackets if there are such places."""
        wanted = _tokens(piece) or _tokens(f"({piece}")[1:]
        texts = [token.text for token in wanted if token.counts]
        found, at = [], self._joined.find(_joined(texts))
        while at >= 0:
            first = bisect_right(self._offsets, at) - 1
            span = self._widened(self._counting[first], self._counting[first + len(texts) - 1], wanted)
            found.append(span)
            at = self._joined.find(_joined(texts), at + 1)
        found = [span for span in found if self._is_cut_as(piece, *span)] or found
        alike = [token.text for token in wanted]
        same = [span for span in found if alike == [token.text for token in self._tokens[slice(*span)]]]
        return [
            Place(self, self._tokens[start].start, self._tokens[end - 1].end) for start, end in same or found
        ]

    def _widened(self, first: int, last: int, wanted: list[_Token]) -> tuple[int, int]:
        """The span of these tokens with those around them that the piece has, and that do not count."""
        start, end = first, last + 1
        counting = [number for number, token in enumerate(wanted) if token.counts]
        for token in reversed(wanted[: counting[0]]):
            start -= self._text(start - 1) == token.text
        for token in wanted[counting[-1] + 1 :]:
            end += self._text(end) == token.text
        depth = _depth(wanted)
        while (now := _depth(self._tokens[start:end])) != depth:
            if now < depth and self._text(start - 1) == "(":
                start -= 1
            elif self._text(end) in {"(", ")", ","}:
                end += 1
            else:
                break
        return start, end

    def _is_cut_as(self, piece: str, start: int, end: int) -> bool:
        """Tell whether the span begins and ends statements wherever the piece has line breaks."""
        begins = not piece[:1].isspace() or self._tokens[start].begins
        return begins and (not piece.endswith("\n") or end >= len(self._tokens) or self._tokens[end].begins)

    def _text(self, number: int) -> str:
        return self._tokens[number].text if 0 <= number < len(self._tokens) else ""

    def scope_at(self, position: int) -> str:
        """The qualified name of the function or class around a position in its text."""
        line = self.source.count("\n", 0, position) + 1
        names: list[str] = []
        inner: ast.AST | None = ast.parse(self.source)
        while (around := inner) is not None:
            inner = next((node for node in ast.walk(around) if _is_scope_at(node, line, around)), None)
            names.append(getattr(inner, "name", ""))
        return ".".join(names[:-1])


@lru_cache
def modules() -> tuple[Module, ...]:
    """All of the product's modules."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple(Module(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths)


def places_of(piece: str) -> list[Place]:
    """All places in the product where this piece of source stands, which need not be a whole statement."""
    found = [place for module in modules() for place in module.find(piece)]
    return [place for place in found if place.text == piece.strip()] or found


def _is_scope_at(node: ast.AST, line: int, around: ast.AST) -> bool:
    if node is around or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return node.lineno <= line <= (node.end_lineno or line)


def _joined(texts: list[str]) -> str:
    return "\0" + "\0".join(texts) + "\0"


def _depth(tokens: list[_Token]) -> int:
    return sum(_STEPS.get(token.text, 0) for token in tokens)


def _tokens(source: str) -> list[_Token]:
    """All but space, comments and docstrings; round brackets and trailing commas do not count."""
    tokens: list[_Token] = []
    depth, begins = 0, True
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind == "skipped":
            begins = begins or (depth <= 0 and "\n" in text)
            continue
        if kind == "string":
            if begins and _ends_its_line(source, match):
                continue
            text = _plain(text)
            if tokens and not begins and tokens[-1].text[:1] == text[:1] == '"':  # implicitly joined
                text = tokens[-1].text[:-1] + text[1:]
                tokens[-1] = tokens[-1]._replace(text=text, end=match.end())
                continue
        step = _STEPS.get(text, 0)
        if step < 0 and tokens and tokens[-1].text == ",":
            tokens[-1] = tokens[-1]._replace(counts=False)
        depth += step
        tokens.append(_Token(text, match.start(), match.end(), text not in {"(", ")"}, begins))
        begins = False
    if tokens and tokens[-1].text == ",":
        tokens[-1] = tokens[-1]._replace(counts=False)
    return tokens


def _ends_its_line(source: str, match: re.Match[str]) -> bool:
    return not source[match.end() :].split("\n", 1)[0].strip()


def _plain(string: str) -> str:
    """A string's token whatever its quotes."""
    if string[0] in "\"'":
        return f'"{repr(ast.literal_eval(string))[1:-1]}"'
    prefix, quote, _ = re.split("([\"'])", string, maxsplit=1)
    inner = string[len(prefix) :]
    quotes = 3 if inner[:3] == 3 * quote else 1
    return f"{prefix.lower()}:{inner[quotes:-quotes]}"


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _indent_of(text: str, default: int) -> int:
    """The indentation of the text's first line; of the others, where it is quoted without."""
    text = text.strip("\n")
    if width := _width(text):
        return width
    first, *others = text.split("\n")
    if others and first.endswith(":"):
        return _width(others[0]) - 4
    for width in range(0, 24, 4):
        try:
            ast.parse("if True:\n" * bool(width) + " " * width + text)
        except SyntaxError:
            continue
        return width
    return default
