"""Commands that do not call AWS, such as `duebell cost`, print this: tests/infra/transcript.txt."""

import re
import sys
from pathlib import Path

import pytest

from duebell_editor.cli.program import run
from tests.transcript import compare, masked

pytestmark = pytest.mark.slow

FILE = Path(__file__).with_name("transcript.txt")


def test_commands_that_call_nothing_print_as_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = ""
    for line in re.findall(r"(?m)^\$ .*$", FILE.read_text(encoding="utf-8")):
        monkeypatch.setattr(sys, "argv", ["duebell", *line[2:].split()])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capsys.readouterr()
        now += f"{line}\n{masked(out + err)}exit {ended.value.code}\n"
    compare(FILE, now)
