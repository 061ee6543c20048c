"""Histories of the real code in a simulated AWS. `make soak` plays some that nobody has seen."""

from collections import Counter
from datetime import timedelta

import pytest

from duebell import Editor
from duebell_shared.bell.expression import LEAD
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import Precision, Settings
from tests.simulation.history import History, Over, Parts
from tests.simulation.parts.hosting import Hosting
from tests.simulation.parts.relaning import Relaning
from tests.simulation.parts.timing_out import TimingOut
from tests.simulation.play import play
from tests.simulation.promises import lateness
from tests.simulation.weather import CALM, ROUGH, Faults
from tests.simulation.world import Process

pytestmark = pytest.mark.slow

#: The simulation's addition to the bound: the longest way of a ring to the Lambda, and slack for calls.
DELIVERY = timedelta(seconds=25)

#: A task due at once waits for the lead, then for the next whole minute, and for the ring within it.
BOUND = (LEAD + timedelta(minutes=2) + DELIVERY).total_seconds()

#: Seconds: calls for a lane that is out come to nothing before a run goes on.
UNANSWERED = 20.0

#: Seconds: a quick delivery; a run's claim and its watchdog; until the last of sixteen tasks of one moment is
#: started, of up to half a second each on four places; and between two looks of a process.
DELIVERED, ARMED, PROMPT, LOOK = 5.0, 2.0, 2.5, 1.0

#: Half of all settings of the rule go unanswered, and take effect later, while the run can wait for that.
LATE_SETTINGS = Faults(late_setting=0.5, seconds=1200)

ONLY_A_LANE_OUT = Faults(lane_outage=1.0)

#: The events of histories with everything in them.
ALL = (
    "waited",
    "parked",
    "reopened",
    "followed",
    "snoozed",
    "pushed",
    "pushed again",
    "committed",
    "closed batches",
    "returned late",
    "stopped",
    "days off",
)
IN_PROCESSES = ("started in processes", "drained")

#: When a try took effect that was not answered.
UNANSWERED_TRIES = ("now", "later", "never")


@pytest.mark.parametrize(
    ("scenario", "weather", "over", "seeds", "happens"),
    [
        pytest.param("plain", "rough", Over.TWIN, range(100), (), id="plain-1"),
        pytest.param("plain", "rough", Over.TWIN, range(100, 200), (), id="plain-2"),
        pytest.param("plain", "rough", Over.WIRE, range(30), UNANSWERED_TRIES, id="plain-wire"),
        pytest.param("plain", "one-lane-out", Over.TWIN, range(40), (), id="plain-lane-out"),
        pytest.param("everything", "calm", Over.TWIN, range(40), ALL, id="everything-calm"),
        pytest.param("everything", "rough", Over.TWIN, range(1_000, 1_030), ALL, id="everything-1"),
        pytest.param("everything", "rough", Over.TWIN, range(1_030, 1_060), ALL, id="everything-2"),
        pytest.param("everything", "rough", Over.WIRE, range(2_000, 2_008), ALL[3:8], id="everything-wire"),
        pytest.param("processes", "rough", Over.TWIN, range(20), IN_PROCESSES, id="processes"),
        pytest.param("processes", "rough", Over.WIRE, range(3), IN_PROCESSES[:1], id="processes-wire"),
        pytest.param("processes", "one-lane-out", Over.TWIN, range(5), IN_PROCESSES, id="processes-lane-out"),
        pytest.param("limits", "calm", Over.TWIN, range(30), ("waited", *IN_PROCESSES), id="limits-calm"),
        pytest.param("limits", "crashes", Over.TWIN, range(1_000, 1_020), ("waited",), id="limits-crashes"),
        pytest.param("limits", "rough", Over.TWIN, range(16), ("waited",), id="limits-rough"),
        pytest.param("changed-limits", "calm", Over.TWIN, range(15), ("parked",), id="changed-calm"),
        pytest.param("changed-limits", "rough", Over.TWIN, range(15), ("parked",), id="changed-rough"),
    ],
)
def test_what_duebell_promises_holds_whatever_goes_wrong(
    scenario: str, weather: str, over: Over, seeds: range, happens: tuple[str, ...]
) -> None:
    broken = {}
    happened: Counter[str] = Counter()
    for seed in seeds:
        history = play(seed, (scenario, weather, over))
        if problems := history.problems():
            broken[seed] = problems
        happened += history.happened
    replay = f"--scenario {scenario} --weather {weather} --over {over} --seed {min(broken, default=None)}"
    assert not broken, f"replay with: python -m tests.simulation.play --trace {replay}"
    assert {what for what in happens if not happened[what]} == set()


def played(history: History) -> History:
    assert history.run().problems() == [], f"seed {history.seed}"
    return history


def test_when_nothing_goes_wrong_tasks_are_late_by_the_documented_bound_at_most() -> None:
    # Given tasks that come back, however they come back, and none that kills or hangs its process
    harmless = ("quick", "flaky", "bad", "asks", "chains", "slow")
    for seed in range(30):
        history = played(History(seed, CALM, actions=harmless))
        assert max(lateness(history), default=0) <= BOUND, f"seed {seed}"


def test_to_the_second_means_that_when_nothing_goes_wrong() -> None:
    # Given calls and rings that take a few seconds until the worker runs, and actions that take none
    settings = Settings(precision=Precision.SECOND, function="worker")
    known_first = 0
    for seed in range(30):
        history = played(History(seed, CALM, actions=("quick",), settings=settings, delivery=DELIVERED))
        # A task known before starts as soon as the run has looked into each lane and claimed it, unless the
        # run's time was over, and its successor was on its way.
        known = lateness(history, known_for=DELIVERED + ARMED, succession=DELIVERED + ARMED)
        known_first += len(known)
        assert max(known, default=0) <= PROMPT, f"seed {seed}"
        # A task due at once waits for the call to reach the worker.
        assert max(lateness(history), default=0) <= DELIVERED + ARMED + PROMPT, f"seed {seed}"
    assert known_first > 30


def test_tasks_of_all_other_lanes_are_on_time_while_one_is_out() -> None:
    # Given nothing else that goes wrong, and actions that take no time
    late, started = [], 0
    for seed in range(20):
        history = played(History(seed, ONLY_A_LANE_OUT, actions=("quick",), settings=Settings(lanes=8)))
        late += lateness(history)
        started += sum(lane_of(start.id, 8) in history.aws.lane_outage.of for start in history.starts)
    # Then they start within the documented bound, and those of the lane that was out have started after all
    assert max(late) <= BOUND + UNANSWERED
    assert started > 0


class OneTask(History):
    """A task, and nobody who adds another one."""

    def _step(self, editor: Editor, process: Process, id: str) -> None:
        """Nobody calls any more."""


def test_a_lane_that_is_out_costs_few_runs() -> None:
    histories = [OneTask(seed, ONLY_A_LANE_OUT, settings=Settings(lanes=8)).run() for seed in range(8)]
    assert max(history.invocations for history in histories) <= 12


class LastAdd(History):
    """A task that is due at once, and one that is added while a setting of the first run may yet land."""

    def _use(self, process: Process, number: int, life: int) -> None:
        editor = Editor(backend=self.backend(process))
        self._add(editor, process, f"{number}-first", self._new(process.clock(), "quick"))
        process.sleep(self.random.uniform(60, 200))
        due = process.clock() + timedelta(seconds=self.random.uniform(300, 3600))
        self._add(editor, process, f"{number}-last", self._new(due.replace(microsecond=0), "quick"))


def test_a_run_outlasts_its_unanswered_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.aws._LATE", (20.0, 240.0))
    late = 0
    for seed in range(50):
        late += played(LastAdd(seed, LATE_SETTINGS, parts={Relaning: False})).aws.late_settings
    assert late


def test_processes_are_worn_out_by_actions_that_hang() -> None:
    happened: Counter[str] = Counter()
    parts: Parts = {Hosting: True, TimingOut: True}
    for seed in range(6):
        actions = ("hangs", "hangs", "slow", "quick")
        happened += played(History(seed, ROUGH, actions=actions, parts=parts)).happened
    assert happened["worn out"]
    assert happened["returned late"] > 6
    assert happened["stopped"]


@pytest.mark.parametrize(
    ("settings", "actions", "options"),
    [
        *((Settings(precision=one), ("quick",), {"lives": 1, "start_within": 0}) for one in Precision),
        # A Lambda that is called beside it
        (Settings(function="worker"), ("quick", "slow"), {"lives": 1}),
        # Processes that drain in time, and come back
        (None, ("quick",), {"number": 2}),
    ],
)
def test_nothing_is_started_twice_where_nothing_goes_wrong(
    settings: Settings | None, actions: tuple[str, ...], options: dict[str, object]
) -> None:
    for seed in range(5):
        history = History(seed, CALM, actions=actions, settings=settings, parts={Hosting: options})
        played(history)
        attempts = [(start.id, start.due, start.attempt) for start in history.starts]
        assert len(set(attempts)) == len(attempts)
        if "start_within" in options:
            # To the second, whatever the Lambda does: it is rung for only where the process is first
            assert max(lateness(history), default=0) <= LOOK + ARMED + PROMPT - 1, f"seed {seed}"
            assert history.happened["started in processes"] == len(attempts)


@pytest.mark.parametrize("over", Over)
def test_a_seed_replays_to_the_last_call(over: Over) -> None:
    for seed in (4711, 4712):
        first, second = (History(seed, ROUGH, over=over).run() for _ in range(2))
        assert first.aws.trace == second.aws.trace
        assert first.starts == second.starts
