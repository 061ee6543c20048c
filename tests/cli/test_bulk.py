"""One change to several tasks: named, from standard input, or found by a filter."""

from unittest import mock

import pytest

from duebell import Editor
from duebell_editor.cli.output import Output
from tests.cli.program import Duebell, fail, lines


@pytest.fixture
def three(duebell: Duebell, editor: Editor) -> Editor:
    """Three tasks; the last has another action."""
    for id, action in (("a-1", "x"), ("a-2", "x"), ("b-1", "y")):
        duebell("add", action, "--in", "1h", "--id", id)
    return editor


def statuses(editor: Editor) -> list[str]:
    return [editor.get(id).status.value for id in ("a-1", "a-2", "b-1")]


def test_several_are_named(duebell: Duebell, three: Editor) -> None:
    assert duebell("pause", "a-1", "b-1") == (0, "2 tasks paused, 0 failed\n", "")
    assert statuses(three) == ["paused", "scheduled", "paused"]


def test_those_that_do_not_allow_it_are_told_and_the_others_are_done(duebell: Duebell, three: Editor) -> None:
    status, out, err = duebell("cancel", "a-1", "nope", "a-2")
    assert (status, out) == (7, "2 tasks cancelled, 1 failed\n")
    assert err.startswith("there is no task 'nope'")
    assert statuses(three) == ["cancelled", "cancelled", "scheduled"]
    # And a program has them as one object
    outcome = duebell("cancel", "a-1", "b-1", "--json")
    [document] = lines(outcome.out)
    assert (outcome.status, outcome.err) == (7, "")
    assert (document["found"], document["changed"], document["dry_run"]) == (2, ["b-1"], False)
    assert [failure["id"] for failure in document["failures"]] == ["a-1"]
    assert "it is cancelled" in document["failures"][0]["detail"]


def test_what_a_list_gives_can_be_piped_in(duebell: Duebell, three: Editor) -> None:
    listed = duebell("list", "--action", "x").out
    assert duebell("cancel", "-", stdin=listed + "\r\n\n").out == "2 tasks cancelled, 0 failed\n"
    assert statuses(three) == ["cancelled", "cancelled", "scheduled"]


def test_a_filter_is_counted_before_anything_is_done(duebell: Duebell, three: Editor) -> None:
    # When it is only counted
    outcome = duebell("cancel", "--prefix", "a-", "--dry-run")
    assert outcome == (0, "2 tasks would be cancelled; nothing was changed\n", "")
    # Or nobody can be asked, and nobody has said yes
    status, out, err = duebell("cancel", "--prefix", "a-")
    assert (status, out) == (2, "")
    assert err.startswith("error: duebell: 2 tasks (")
    assert "would be cancelled: give --yes to do it, or --dry-run to count only" in err
    # Then nothing has changed
    assert statuses(three) == ["scheduled"] * 3
    # And with a yes it has
    assert duebell("cancel", "--prefix", "a-", "--yes").status == 0
    assert statuses(three) == ["cancelled", "cancelled", "scheduled"]


@pytest.mark.parametrize(("answer", "after"), [("y\n", "cancelled"), ("n\n", "scheduled"), ("", "scheduled")])
def test_someone_at_a_terminal_is_asked(duebell: Duebell, three: Editor, answer: str, after: str) -> None:
    with mock.patch.object(Output, "can_ask", new=True):
        outcome = duebell("cancel", "--action", "y", stdin=answer)
    assert "would be cancelled. Do it?" in outcome.err
    assert outcome.err.startswith("duebell: 1 task (")
    assert outcome.status == (0 if after == "cancelled" else 1)
    assert statuses(three) == ["scheduled", "scheduled", after]


def test_a_filter_takes_those_whose_status_allows_it(duebell: Duebell, three: Editor) -> None:
    fail(three, "a-1")
    assert duebell("retry", "--prefix", "a-", "--yes").out == "1 task set to be retried now, 0 failed\n"
    status, _, err = duebell("retry", "--status", "done", "--yes")
    assert (status, err) == (2, "error: --status: to retry a task it must be expired or failed\n")
    assert duebell("resume", "--status", "paused", "--yes").out == "0 tasks resumed, 0 failed\n"


def test_one_task_is_told_as_before(duebell: Duebell, three: Editor) -> None:
    assert duebell("cancel", "a-1").out.startswith("a-1: cancelled, x due ")
    assert duebell("cancel", "a-1").status == 4
    assert duebell("cancel", "nope").status == 3
    assert duebell("cancel", "a-2", "--dry-run").out == "1 task would be cancelled; nothing was changed\n"
    assert duebell("retry", "a-2", "nope", "--dry-run").out.startswith("0 tasks would be")
    assert statuses(three)[1] == "scheduled"
