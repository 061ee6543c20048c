"""The command line as a process of its own: what it loads, how it ends, and completion by Tab."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NOT_NEEDED = ("boto3", "botocore.session", "fastapi", "pydantic", "uvicorn", "duebell_editor.library.editor")

DUEBELL = "import sys; sys.argv[0] = 'duebell'; from duebell_infra.cli import main; main()"


def python(
    code: str, *arguments: str, stdout: int = subprocess.PIPE, environment: Mapping[str, str] = {}
) -> "subprocess.CompletedProcess[str]":
    """Run code in a process that finds duebell where this one does."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_does_without_the_sdk_and_the_server() -> None:
    told = f"print(*(m for m in {NOT_NEEDED} if m in sys.modules), file=sys.stderr)"
    done = python(f"import atexit, sys; atexit.register(lambda: {told}); {DUEBELL}", "--help")
    assert (done.returncode, done.stderr) == (0, "\n")


@pytest.mark.parametrize(
    ("words", "at_word", "offered"),
    [("duebell re", "1", ["resume", "retry", "relane"]), ("duebell list --status ca", "3", ["cancelled"])],
    ids=["commands", "statuses"],
)
def test_bash_is_offered(words: str, at_word: str, offered: list[str]) -> None:
    asked = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "_DUEBELL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": at_word,
    }
    done = python(DUEBELL, environment=asked)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_it_ends_quietly_when_nobody_reads_on() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = python(DUEBELL, "preview", "rate(1 minute)", "--count", "1000", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_cannot_be_imported_is_one_line() -> None:
    done = python(DUEBELL, "run", "--actions", "nope:worker")
    why = "--actions nope:worker cannot be imported: ModuleNotFoundError: No module named 'nope'"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {why}\n")


def test_characters_that_a_terminal_cannot_show_are_escaped() -> None:
    code = "from duebell_editor.cli import program; import typer\nprogram.app = app = typer.Typer()\n"
    code += "@app.command()\ndef say() -> None:\n    print('a\\u21bb')\nprogram.run()"
    done = python(code, environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\\u21bb\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_output_that_cannot_be_written_is_told_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = python(DUEBELL, "preview", "rate(1 hour)", stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")
