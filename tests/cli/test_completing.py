"""Completion in the shell, by Tab."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def complete(words: str, at_word: int) -> list[str]:
    """The words that the program gives to the completion function of bash."""
    code = "import sys; sys.argv[0] = 'duebell'; from duebell_infra.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "_DUEBELL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(at_word),
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_is_offered_commands_and_statuses() -> None:
    assert complete("duebell re", 1) == ["resume", "retry", "relane"]
    assert complete("duebell list --status ca", 3) == ["cancelled"]
