"""What came of tasks is counted rightly, and the page says what the results say."""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alternatives.comparison.cells import Kind, cell, kind_of
from alternatives.comparison.outcome import Expected, Started, outcome_of
from alternatives.comparison.page import PAGE, render
from alternatives.comparison.results import load
from alternatives.comparison.scenes import SCENES
from alternatives.comparison.simulate import ROWS, Played, Row, play
from alternatives.comparison.words import SCENE_TITLES
from alternatives.comparison.words import SCENES as DESCRIBED

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def started(id: str, seconds: float, *, is_done: bool = True) -> Started:
    return Started(id=id, at=NOON + timedelta(seconds=seconds), is_done=is_done)


def test_done_lost_doubled_early_and_late_are_told_apart() -> None:
    ids = ("done", "lost", "doubled", "early", "failed-once", "refused")
    expected = [Expected(id=id, due=NOON) for id in ids]
    starts = [
        started("done", 10),
        started("doubled", 20),
        started("doubled", 30),
        started("early", -1),
        started("failed-once", 1, is_done=False),
        started("failed-once", 40),
    ]
    outcome = outcome_of(expected, ["refused"], starts)
    assert (outcome.expected, outcome.done, outcome.lost, outcome.refused) == (6, 4, 1, 1)
    assert (outcome.doubled, outcome.early, outcome.which) == (1, 1, ["lost"])
    assert outcome.late
    assert (outcome.late.tasks, outcome.late.worst) == (4, 40)


def test_what_is_cancelled_recurs_or_always_fails_is_counted_by_itself() -> None:
    expected = [
        Expected(id="cancelled", due=None),
        Expected(id="recurs", due=NOON, times=3, recurs=True),
        Expected(id="fails", due=NOON, fails=True),
    ]
    starts = [
        started("cancelled", 1),
        *(started("recurs", at) for at in (-5, 60)),
        *(started("fails", at, is_done=False) for at in (1, 2)),
    ]
    outcome = outcome_of(expected, [], starts)
    assert (outcome.expected, outcome.done, outcome.lost) == (3, 2, 1)
    assert (outcome.undone, outcome.tried, outcome.doubled, outcome.early) == (1, 2, 0, 0)


def test_a_cell_says_the_worst_first() -> None:
    def played(*starts: Started, offers: bool = True) -> Played:
        expected = [Expected(id=id, due=NOON) for id in "ab"]
        return Played(outcome=outcome_of(expected, [], starts), calls={}, billed={}, hours=1, offers=offers)

    usual = played(started("a", 10), started("b", 20))
    assert cell(usual, usual) == "fine"
    twice_and_late = played(started("a", 10), started("a", 11), started("b", 600))
    assert cell(twice_and_late, usual) == "1 twice, up to 10 min late"
    assert kind_of(twice_and_late, usual) is Kind.TWICE
    lost = played(started("a", 1))
    assert cell(lost, usual) == "1 lost"
    assert kind_of(lost, usual) is Kind.LOST
    assert cell(played(offers=False), usual) == "not offered"


def test_the_page_is_made_of_the_results_that_are_kept_beside_it() -> None:
    # If this is no longer so: make compare ARGS=page
    assert render(load()) == PAGE.read_text()


def test_every_design_was_played_in_every_scene() -> None:
    results = load()
    assert results.simulated.keys() == results.idle.keys() == {row.name for row in ROWS}
    assert all(played.keys() == SCENES.keys() for played in results.simulated.values())
    assert SCENES.keys() == SCENE_TITLES.keys() == DESCRIBED.keys()


@pytest.mark.parametrize("scene", ["crash", "edits"])
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_results_are_those_of_the_code(row: Row, scene: str, caplog: pytest.LogCaptureFixture) -> None:
    # If this is no longer so: make compare ARGS=simulated
    if row.name in {"poller", "duebell-second"}:
        pytest.skip("many seconds; the others show it")
    with caplog.at_level("CRITICAL"):
        played = play(row, SCENES[scene])
    kept = load().simulated[row.name][scene]
    if row.name == "duebell":  # the product goes on: what it calls, and what a dying run leaves, may change
        assert (played.outcome.done, played.outcome.lost) == (kept.outcome.done, kept.outcome.lost)
        return
    assert _counts(played) == _counts(kept)
    assert played.calls == kept.calls


def test_duebell_loses_nothing_and_refuses_nothing_in_any_scene() -> None:
    for name in ("duebell", "duebell-second"):
        for played in load().simulated[name].values():
            outcome = played.outcome
            assert (outcome.lost, outcome.refused, outcome.early, outcome.undone) == (0, 0, 0, 0)


def test_the_product_imports_none_of_the_designs_and_they_none_of_it() -> None:
    product = [
        path
        for part in ("duebell", "editor", "worker", "shared", "infra")
        for path in (ROOT / part).rglob("*.py")
    ]
    assert not {path for path in product if "alternatives" in _imported(path)}
    designs = {*(ROOT / "alternatives").glob("*.py")} - {ROOT / "alternatives" / "duebell_queue.py"}
    assert len(designs) > 10
    ours = {"duebell", "duebell_editor", "duebell_worker", "duebell_shared", "duebell_infra"}
    assert not {path for path in designs if ours & _imported(path)}


def _imported(path: Path) -> set[str]:
    """The packages that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _counts(played: Played) -> tuple[int, ...]:
    outcome = played.outcome
    return (
        outcome.expected,
        outcome.done,
        outcome.lost,
        outcome.refused,
        outcome.doubled,
        outcome.early,
        outcome.undone,
        outcome.tried,
    )
