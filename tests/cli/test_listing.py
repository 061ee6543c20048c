"""`list`, page after page, and what it says of more."""

import json
from typing import Any

import pytest

from duebell_editor import Editor, Page
from duebell_editor.cli import list as listing
from duebell_editor.cli.output import Output
from tests.cli.program import Duebell, lines


@pytest.fixture
def five(duebell: Duebell, editor: Editor) -> Editor:
    for hours in range(1, 6):
        duebell("add", "rare" if hours == 5 else "x", "--in", f"{hours}h", "--id", f"t{hours}")
    return editor


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that looks at two keys of the queue at a time."""
    find = Editor.list

    def find_little(editor: Editor, **given: Any) -> Page:
        return find(editor, **{**given, "limit": 1, "most_keys": 2})

    monkeypatch.setattr(Editor, "list", find_little)


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("status", [(), ("--status", "scheduled", "--status", "cancelled")])
def test_all_comes_page_after_page(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch, status: tuple[str, ...]
) -> None:
    monkeypatch.setattr(listing, "MAX_LIMIT", 2)
    outcome = duebell("list", "--all", "--json", *status)
    assert [task["id"] for task in lines(outcome.out)] == ["t1", "t2", "t3", "t4", "t5"]
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.usefixtures("five")
def test_all_reads_the_largest_pages_there_are(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    find, limits = Editor.list, []

    def listed(editor: Editor, **given: Any) -> Page:
        limits.append(given["limit"])
        return find(editor, **given)

    monkeypatch.setattr(Editor, "list", listed)
    assert duebell("list", "--all").out.count("\n") == 5
    assert limits == [1_000]


@pytest.mark.usefixtures("five", "impatient")
def test_what_is_rare_ends_with_a_cursor_when_nobody_looks(duebell: Duebell) -> None:
    # When a rare task is looked for in a long queue
    outcome = duebell("list", "--action", "rare", "--json")
    # Then the page ends where patience does, and says how to go on
    assert (outcome.status, outcome.out) == (0, "")
    assert duebell("list", "--action", "rare").err.startswith("there is more: ")
    while outcome.err:
        outcome = duebell("list", "--action", "rare", "--json", "--cursor", json.loads(outcome.err)["cursor"])
    assert [task["id"] for task in lines(outcome.out)] == ["t5"]


@pytest.mark.usefixtures("five", "impatient")
def test_someone_who_looks_sees_how_far_it_is(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Output, "is_watched", True)
    status, out, err = duebell("list", "--action", "rare")
    assert (status, out.split("\t")[0]) == (0, "t5")
    assert err.startswith("looked as far as 2026-11-21 1")
    assert "there is more" not in err
