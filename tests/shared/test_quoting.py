"""Messages quote a little of what was given, whatever that is, and all of them in one place."""

import re
from pathlib import Path
from typing import Any

import pytest

from duebell_shared.quoting import in_brief, quoted, shortened


class Mute:
    """A value of which Python can write nothing."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("soon", "'soon'"),
        ("a\nb\x00\ud800", "'a\\nb\\x00\\ud800'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 81, f"'{'x' * 80}'…"),
        (7, "7"),
        (10**400, f"1{'0' * 79}…"),
        (["x" * 500], f"['{'x' * 78}…"),
        (Mute(), "<Mute>"),
        (None, "None"),
    ],
)
def test_a_quotation_has_80_characters_at_most(given: Any, said: str) -> None:
    assert quoted(given) == said


def test_text_without_quotes_is_cut_too() -> None:
    assert shortened("x" * 80) == "x" * 80
    assert shortened("x" * 81) == "x" * 80 + "…"
    assert shortened(Mute()) == "<Mute>"


def test_a_long_error_keeps_its_beginning_and_its_end() -> None:
    said = in_brief(ValueError(f"Invalid enum value '{'x' * 10_000}' - at `$.status`"))
    assert said.startswith("Invalid enum value 'xxx")
    assert said.endswith("x' - at `$.status`")
    assert said.count("x") < 80
    assert in_brief("short") == "short"


def test_no_message_quotes_by_itself() -> None:
    # Given every module, but for those that quote names from settings or from the user's code
    names = ("calls", "changes", "entry", "handles", "parameters", "pytest_plugin")
    packages = (Path(__file__).parents[2] / name for name in ("shared", "editor", "worker", "infra"))
    files = [path for package in packages for path in package.rglob("*.py") if path.stem not in names]
    # Then none has a quotation that is not cut
    assert [path.name for path in files if re.search(r"![rsa]\}", path.read_text())] == []
    assert len(files) > 100
