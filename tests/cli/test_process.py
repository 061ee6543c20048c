"""The command line as a process of its own: what it loads, and how it ends."""

import os
import subprocess
import sys

import pytest

LOADED = "print(*(m for m in ('typer', 'rich', 'fastapi', 'pydantic', 'uvicorn') if m in sys.modules))"

TALKATIVE = """
import typer
from duebell_editor.cli import run

app = typer.Typer()

@app.command()
def talk(lines: int) -> None:
    for _ in range(lines):
        print("ding")

run(app)
"""


def python(code: str, *arguments: str, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    """Run code in a process that finds duebell where this one does."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "loaded"), [("duebell_editor", []), ("duebell_editor.cli", ["typer", "rich"])]
)
def test_what_is_not_needed_is_not_loaded(module: str, loaded: list[str]) -> None:
    done = python(f"import sys, {module}; {LOADED}")
    assert (done.stdout.split(), done.stderr) == (loaded, "")


@pytest.mark.parametrize("lines", ["1", "100000"])
def test_it_ends_quietly_when_nobody_reads_on(lines: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = python(TALKATIVE, lines, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_its_help_has_no_colour_in_a_pipe() -> None:
    code = "from duebell_editor.cli import app, run; run(app)"
    done = python(code, "--help")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
