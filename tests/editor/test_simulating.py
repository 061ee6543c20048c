"""Simulations: the queue as it is, and with changes, which are not made."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidQuery, InvalidTask, Worker
from duebell_infra.testing import InlinePool
from tests.editor.memory import Scheduler
from tests.support import NOON

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def scheduler() -> Scheduler:
    """A queue with fifty mails that are due in half an hour, and ten reports each hour."""
    scheduler = Scheduler.start()
    scheduler.editor.add_many(
        {"action": "mail", "due": NOON + HOUR / 2, "id": f"mail-{number}"} for number in range(50)
    )
    scheduler.editor.add_many(
        {"action": "report", "schedule": "cron(0 * * * ? *)", "id": f"report-{number}"}
        for number in range(10)
    )
    return scheduler


@pytest.fixture
def editor(scheduler: Scheduler) -> Editor:
    return scheduler.editor


def test_it_tells_what_happens_and_what_it_costs(editor: Editor) -> None:
    found = editor.simulate(3 * HOUR)
    today = found.today
    assert (found.changed, found.until) == (None, NOON + 3 * HOUR)
    # Each attempt takes a second, as none was measured, and a run has sixteen at a time
    assert (today.starts, today.runs, today.rings, today.late, today.waiting) == (80, 4, 4, 0, 0)
    assert (today.at_once, today.peak, today.peak_at) == (16, 50, NOON + HOUR / 2)
    assert today.lateness_max_ms == 3_000
    assert 0 < today.dollars < 0.01
    mail, report = today.actions
    assert (mail.action, mail.starts, mail.duration_ms, mail.measured) == ("mail", 50, 1_000, 0)
    assert (report.action, report.starts, report.lateness_max_ms) == ("report", 30, 0)
    assert (today.first[0].id, today.first[0].at) == ("mail-0", NOON + HOUR / 2)


def test_attempts_take_as_long_as_past_ones(scheduler: Scheduler) -> None:
    # Given an action whose attempts took eight seconds
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("mail")(lambda: scheduler.clock.advance(timedelta(seconds=8)))
    scheduler.editor.add("mail", due=timedelta(0), id="past")
    scheduler.clock.advance(2 * MINUTE)
    worker.run()
    # When it is simulated, the same is expected of others
    mail, _ = scheduler.editor.simulate(HOUR).today.actions
    assert (mail.duration_ms, mail.measured) == (8_000, 1)
    assert mail.lateness_max_ms == 24_000


@pytest.mark.parametrize(
    ("change", "field", "before", "after"),
    [
        ({"limits": {"mail": {"at_most": 5}}}, "lateness_max_ms", 3_000, 9_600),
        ({"limits": {"mail": {"per_second": 0.1}}}, "late", 0, 33),
        ({"limits": {"mail": {"closed": "12:00-13:00"}}}, "late", 0, 50),
        ({"pause": ["mail"]}, "waiting", 0, 50),
        ({"spread": {"report-0": HOUR / 2}}, "runs", 4, 6),
        ({"precision": "second"}, "rings", 4, 4),
        ({"add": [{"action": "mail", "due": HOUR, "id": f"new-{n}"} for n in range(9)]}, "starts", 80, 89),
    ],
    ids=["at_most", "per_second", "closed", "pause", "spread", "precision", "add"],
)
def test_the_changes_are_in_the_second_column_and_nothing_is_written(
    scheduler: Scheduler, change: dict[str, Any], field: str, before: int, after: int
) -> None:
    tasks, record = dict(scheduler.store.tasks), scheduler.backend.armer.read()
    found = scheduler.editor.simulate(3 * HOUR, **change)
    assert found.changed
    assert (getattr(found.today, field), getattr(found.changed, field)) == (before, after)
    assert found.changed != found.today
    assert (scheduler.store.tasks, scheduler.backend.armer.read()) == (tasks, record)


def test_a_limit_of_an_action_that_nobody_knows_is_refused(scheduler: Scheduler, editor: Editor) -> None:
    # Given a worker that made itself known
    worker = Worker(backend=scheduler.backend)
    worker.action("text")(lambda: None)
    worker.register()
    with pytest.raises(InvalidTask, match=r"action: the worker has no action 'mial'"):
        editor.simulate(HOUR, pause=["mial"])
    # Then one that the queue or the worker has is taken
    assert editor.simulate(HOUR, pause=["mail", "text"]).changed


def test_flatten_halves_the_peak_by_spreads(editor: Editor) -> None:
    # Given many tasks that recur at the same minute, beside the mails
    editor.add_many(
        {"action": "sync", "schedule": "cron(30 * * * ? *)", "id": f"sync-{number}"} for number in range(70)
    )
    found = editor.simulate(3 * HOUR, flatten=True)
    assert found.changed
    assert (found.today.peak, found.changed.peak) == (120, 60)
    for one in found.flatten:
        assert one.command == f"duebell update --spread {one.spread // MINUTE}m {one.id}"
    # And when they are given these spreads, the peak is what was said
    for one in found.flatten:
        editor.update(one.id, spread=one.spread)
    assert editor.simulate(3 * HOUR).today.peak == 60


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"until": NOON - HOUR}, InvalidQuery, "until: must be within 62 days"),
        ({"until": timedelta(days=63)}, InvalidQuery, "until: must be within 62 days"),
        ({"limits": {"mail": {"at_least": 1}}}, InvalidQuery, "limits: must be mappings with at_most"),
        ({"limits": {"mail": {"at_most": -1}}}, InvalidTask, "at_most: must be a whole number"),
        ({"pause": "mail"}, InvalidQuery, "pause: must be names"),
        ({"spread": {"sync": HOUR}}, InvalidQuery, "spread: 'sync' is no recurring task that is due until"),
        ({"precision": "hour"}, InvalidQuery, "precision: must be one of minute"),
        ({"add": [{"action": "mail"}]}, InvalidTask, r"^add\[0\].due: is missing: .* can have a schedule$"),
    ],
)
def test_wrong_arguments_are_refused(
    editor: Editor, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        editor.simulate(**{"until": HOUR, **arguments})


def test_each_simulated_task_takes_few_steps(scheduler: Scheduler) -> None:
    """The steps of 2,000 tasks are counted, because time depends on the machine."""
    import cProfile  # noqa: PLC0415
    import pstats  # noqa: PLC0415

    scheduler.editor.add_many(
        {"action": "mail", "due": NOON + timedelta(seconds=number), "id": f"m-{number}"}
        for number in range(600)
    )
    profile = cProfile.Profile()
    profile.runcall(scheduler.editor.simulate, HOUR)
    assert pstats.Stats(profile).total_calls < 250 * 600  # type: ignore[attr-defined]
