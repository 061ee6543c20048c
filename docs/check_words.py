"""Checks the words of README, docs and CLI help: long sentences, and phrases that readers stumble over."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from markdown_it import MarkdownIt

from duebell_editor.cli.program import app

ROOT = Path(__file__).resolve().parent.parent
#: The reference is made of docstrings, whose lists of arguments are no sentences.
_GENERATED = {ROOT / "docs" / "reference.md", ROOT / "docs" / "commands.md"}
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - _GENERATED)]

MOST_WORDS = 35

#: The patterns that no sentence may have, and why.
FORBIDDEN = {
    r"for that it is\b": "a noun is missing: say what is for what",
    r"so it should be\b": "an answer to a question that nobody asked",
    r"\bone of many does\b": "say which of several concurrent calls does what",
    r"\bis paused no more\b": "say: is not paused",
    r"\bhas its say\b": "a figure of speech: say what it decides",
    r"\b(?:simply|obviously|of course|just works)\b": "says nothing, and annoys who does not find it simple",
    r"\b(?:seamless|blazing|powerful)(?:ly)?\b": "advertising: say the figure or the behaviour",
    r"\bmends?\b|\bmended\b": "say: repair, fix",
    r"\bthe way out\b": "say: what to do",
}

_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*\"(\[])|(?<=;)\s+")


def texts(page: Path) -> Iterator[str]:
    """The paragraphs, list items, cells and headings of a page, without code."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "inline":
            yield "".join(
                "Code" if child.type == "code_inline" else " " if child.type == "softbreak" else child.content
                for child in token.children or ()
            )


def helps() -> Iterator[tuple[str, str]]:
    """The paragraphs of the help of each command and option."""
    program: Any = typer.main.get_command(app)
    pending = [program, *(program.get_command(None, name) for name in program.list_commands(None))]
    while pending:
        command = pending.pop()
        pending += getattr(command, "commands", {}).values()
        told = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
        yield from ((f"duebell {command.name} --help", part) for one in told for part in one.split("\n\n"))


def faults(text: str) -> Iterator[str]:
    """The problems of the sentences of a paragraph."""
    for sentence in _END.split(text):
        words = re.findall(r"[\w$][\w'./%-]*", sentence)
        if len(words) > MOST_WORDS:
            yield f"{len(words)} words, {MOST_WORDS} at most: {' '.join(sentence.split())}"
    for phrase, reason in FORBIDDEN.items():
        if found := re.search(phrase, text, re.IGNORECASE):
            yield f"“{found.group()}”: {reason}"


if __name__ == "__main__":
    told = [(str(page.relative_to(ROOT)), text) for page in PAGES for text in texts(page)]
    found = [f"{where}: {fault}" for where, text in [*told, *helps()] for fault in faults(text)]
    print("\n".join(found) or f"docs: the sentences of {len(PAGES)} pages and of the help are short enough")
    sys.exit(bool(found))
