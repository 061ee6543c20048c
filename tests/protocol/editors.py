"""An editor's call, step for step as `Editor._write` or `_change`, then `_arm`."""

from . import transitions as t
from .armers import Armers
from .world import DONE, NEVER_AT, Edit, Proc, State


class Editors(Armers):
    """The steps of an editor's call: it writes its task, lowers the lane's due, arms, and returns."""

    def _edit(self, name: str) -> Edit:
        return self.case.edits[ord(name) - ord("a")]

    def _write(self, s: State, p: Proc) -> None:
        task = self._edit(p.name).task
        due, promised = s.tasks[task]
        if due == DONE:
            self._on(p.name, "finds its task done", s)
            return
        if promised != NEVER_AT:
            promised = max(promised, p.due)
        s = s._replace(tasks=(*s.tasks[:task], (p.due, promised), *s.tasks[task + 1 :]))
        if self._ingredients.write_first:
            self._on(p.name, f"writes its task due {p.due}", s, p._replace(step="lower"))
        else:
            self._look(f"writes its task due {p.due}", s, p._replace(then="return"))

    def _lower(self, s: State, p: Proc) -> None:
        lane = self.case.lanes[self._edit(p.name).task]
        record = self.records.changed(s.record, t.lowered, lane, p.due)
        if self._ingredients.write_first:
            self._arm("lowers", s, p._replace(then="return"), record)
        else:
            self._on(p.name, "lowers", s, p._replace(step="write"), record=record)

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        if p.then == "return":
            self._on(p.name, f"{what}, settled: RETURNS", s, tasks=self._promise(s, p))
        else:
            super()._go_on(what, s, p)

    def _promise(self, s: State, p: Proc) -> tuple[tuple[int, int], ...]:
        """The tasks, with what the returning call promises; another may have moved its task meanwhile."""
        task = self._edit(p.name).task
        due, promised = s.tasks[task]
        return (
            s.tasks
            if due == DONE
            else (*s.tasks[:task], (due, min(promised, max(p.due, due))), *s.tasks[task + 1 :])
        )
