"""The comparison is what the code of the designs does, and the page says what its results say."""

import ast
from operator import attrgetter
from pathlib import Path

import pytest
from alternatives.comparison.page import PAGE, render
from alternatives.comparison.results import load
from alternatives.comparison.scenes import SCENES
from alternatives.comparison.simulate import ROWS, Row, play
from alternatives.comparison.words import SCENE_TITLES
from alternatives.comparison.words import SCENES as DESCRIBED

ROOT = Path(__file__).parents[2]

COUNTS = attrgetter("expected", "done", "lost", "refused", "doubled", "early", "undone", "tried")


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
    assert COUNTS(played.outcome) == COUNTS(kept.outcome)
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
