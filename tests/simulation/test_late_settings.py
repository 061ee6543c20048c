"""A setting of the rule that went unanswered may land minutes later, over another process's setting."""

from datetime import timedelta

import pytest

from duebell import Editor
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.world import Process

pytestmark = pytest.mark.slow

#: Half of all settings of the rule go unanswered, and take effect later, while the run can wait for that.
FAULTS = Faults(late_setting=0.5, seconds=1200)


class LastAdd(History):
    """A task that is due at once, and one that is added while a setting of the first run may yet land."""

    def _use(self, process: Process, number: int, life: int) -> None:
        editor = Editor(backend=self._backend(process))
        self._add(editor, process, f"{number}-first", self._new(process.clock(), "quick"))
        process.sleep(self.random.uniform(60, 200))
        due = process.clock() + timedelta(seconds=self.random.uniform(300, 3600))
        self._add(editor, process, f"{number}-last", self._new(due.replace(microsecond=0), "quick"))


def test_a_run_outlasts_its_unanswered_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.aws._LATE", (20.0, 240.0))
    late = 0
    for seed in range(50):
        history = LastAdd(seed, FAULTS, relanes=False).run()
        late += history.aws.late_settings
        assert history.problems() == [], f"seed {seed}"
    assert late
