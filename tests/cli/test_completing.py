"""Completion in the shell, by Tab."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from duebell_editor.cli.context import profiles
from duebell_editor.cli.options import zones

pytestmark = pytest.mark.slow


def test_zones_and_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "Europe/Berlin" in zones("Europe/B")
    config = tmp_path / "config"
    config.write_text("[profile one]\n[profile other]\n[profile two]\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    assert profiles("o") == ["one", "other"]


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


def test_bash_is_offered_commands_statuses_and_zones() -> None:
    assert complete("duebell re", 1) == ["resume", "retry", "relane"]
    assert complete("duebell list --status ca", 3) == ["cancelled"]
    assert "Europe/Berlin" in complete("duebell add x --timezone Europe/B", 4)
