"""A scheduler on moto whose table others write to."""

from dataclasses import dataclass
from datetime import timedelta

from duebell import Editor, RunReport, Worker
from duebell_shared.backend import Backend
from tests.support import Calls, Clock

from .foreign import Table


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The table behind duebell's back, an editor and a worker that notes what ran; no run is endless."""

    table: Table
    backend: Backend
    editor: Editor
    worker: Worker
    clock: Clock
    calls: Calls
    ran: list[str]

    @property
    def newcomer(self) -> Editor:
        """An editor of a process that was started just now, and knows nothing yet."""
        return Editor(backend=self.backend)

    def run(self) -> RunReport:
        """One run, of a bounded number of calls."""
        self.calls.clear()
        report = self.worker.run(time_left=timedelta(minutes=5))
        self.calls.clear()
        return report
