"""The protocol with a relaner, which gives the queue one more lane and moves the last task there.

Editors may know the queue as it was, or as it is. One that has added its task by the old number of lanes
learns that when it lowers the lane, takes the task out again, and adds it anew. The steps are those of
`duebell_editor.library.relane` and of `Editor`; the relaner's name is R.
"""

from duebell_shared.bell.arming import ArmingRecord

from .model import Model
from .world import DONE, LEASE, NEVER_AT, Case, Edit, Proc, State, instant, with_task

_CRASH = frozenset({"crash"})
_STALL = frozenset({"stall"})

CASES = (
    Case("one lane more, a task there, no faults", (0, 0), (), 0, _CRASH, {0: 1, 1: 2}),
    Case("one lane more, two tasks there, two crashes", (0, 0), (), 2, _CRASH, {0: 2, 1: 1}, end=3),
    Case("one lane more, an add to it, a crash", (0,), (Edit(0, due=1),), 1, _CRASH, end=3),
    Case("one lane more, an add to it, a stall", (0,), (Edit(0, due=1),), 1, _STALL, end=3),
    Case(
        "one lane more, a task there, an add to the new, a crash",
        (0, 0),
        (Edit(1, due=1),),
        1,
        _CRASH,
        {0: 2},
    ),
    Case("one lane more, its task moved earlier, a crash", (0,), (Edit(0, due=1),), 1, _CRASH, {0: 2}, end=3),
)


class RelaningModel(Model):
    """All that can happen in a case, with a relaner that may come at any time."""

    def first(self) -> State:
        self._new = 1 + max(self.case.lanes)
        return super().first()._replace(procs=(Proc("R", "mark"),))

    def wrong(self, s: State) -> str | None:
        """A relaner that dies between giving the lanes back and arming leaves the rule at its lease's end."""
        fault = super().wrong(s)
        return None if fault == "LATE" and s.rule <= s.now + LEASE else fault

    def _alone(self, s: State) -> int | None:
        return None

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        if p.then == "relocate":
            self._on(p.name, f"{what}, settled", s, p._replace(step="relocate", then="", put=(0, 0)))
        else:
            super()._go_on(what, s, p)

    # The relaner.

    def _mark(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.made(s.record, "relaning", "R", until=until)
        self._on("R", "marks", s, p._replace(step="widen", until=until), record=record)

    def _widen(self, s: State, p: Proc) -> None:
        """Disabled while a run holds lanes, which it polls for."""
        until = s.now + LEASE
        record = self.records.changed(s.record, _widened, s.now, until, self._new + 1)
        lanes = self.records[record].lanes_of("R")
        if lanes:
            armed = p._replace(then="relocate", lanes=lanes, until=until)
            self._look("widens", s, armed, record=record)
        elif s.now >= p.until - LEASE // 2:
            record = self.records.made(s.record, "relaning", "R", until=until)
            self._on("R", "renews its mark", s, p._replace(until=until), record=record)

    def _relocate(self, s: State, p: Proc) -> None:
        last = len(s.places) - 1
        due = s.tasks[last][0]
        if due in {DONE, NEVER_AT} or s.places[last] == self._new:
            self._on("R", "finds nothing to move", s, p._replace(step="clear", then="relaned"))
        else:
            places = (*s.places[:last], self._new)
            self._on("R", "moves the task", s._replace(places=places), p._replace(step="keep", due=due))

    def _keep(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.changed(s.record, _kept, until)
        if self.records[record].lanes_of("R") == p.lanes:
            again = p._replace(then="relocate", until=until, due=0)
            self._look("keeps its lanes", s, again, record=record)
        else:
            record = self.records.made(s.record, "lowered", ((self._new, p.due),))
            self._arm("has lost its lease, lowers", s, Proc("R", "", "leave"), record)

    def _relaned(self, s: State, p: Proc) -> None:
        heads = tuple(zip(p.lanes, p.heads, strict=True))
        record = self.records.made(s.record, "relaned", heads)
        if self.records[s.record].lanes_of("R") != p.lanes:
            self._lose(s, p, s.record)
        else:
            self._look("gives the lanes back", s, Proc("R", "", "leave"), record=record)

    def _head(self, s: State, p: Proc) -> None:
        if p.name != "R":
            super()._head(s, p)
            return
        heads = (*p.heads, self._head_of(s, p.lanes[len(p.heads)]))
        step = "head" if len(heads) < len(p.lanes) else "relaned"
        self._on("R", f"reads a head: {heads[-1]}", s, p._replace(step=step, heads=heads))

    # Runs, which leave.

    def _release_if(self, s: State, p: Proc, *, even_if_due: bool) -> None:
        must_leave = self.records[s.record].is_being_relaned(instant(s.now))
        super()._release_if(s, p, even_if_due=even_if_due or must_leave)

    # Editors, which add by the number of lanes that they know.

    def _write(self, s: State, p: Proc) -> None:
        task = self._edit(p.name).task
        if s.tasks[task][0] != NEVER_AT:
            super()._write(s, p._replace(lane=s.places[task], placed_by=0))
            return
        old, lanes = self._new, len(self.records[s.record].lanes)
        for count in {lanes} if p.placed_by else {old, lanes}:
            lane = self._place(task, count)
            places = (*s.places[:task], lane, *s.places[task + 1 :])
            super()._write(s._replace(places=places), p._replace(lane=lane, placed_by=count))

    def _lower(self, s: State, p: Proc) -> None:
        if p.placed_by and len(self.records[s.record].lanes) != p.placed_by:
            self._on(p.name, "finds more lanes", s, p._replace(step="take_out"))
        else:
            record = self.records.made(s.record, "lowered", ((p.lane, p.due),))
            self._arm("lowers", s, p._replace(then="return"), record)

    def _take_out(self, s: State, p: Proc) -> None:
        task = self._edit(p.name).task
        due, promised = s.tasks[task]
        belongs = self._place(task, len(self.records[s.record].lanes))
        if due == DONE:
            self._on(p.name, "finds its task done", s)
        elif s.places[task] == belongs:
            there = p._replace(step="lower", lane=belongs, placed_by=0)
            self._on(p.name, "finds its task where it belongs", s, there)
        else:
            out = with_task(s.tasks, task, (NEVER_AT, promised))
            self._on(p.name, "takes its task out", s, p._replace(step="write"), tasks=out)

    def _place(self, task: int, count: int) -> int:
        """The lane of a task among so many: the last task's is the new one when there is one."""
        return self._new if count > self._new and task == len(self.case.lanes) - 1 else self.case.lanes[task]


def _widened(record: ArmingRecord, now: int, until: int, lanes: int) -> ArmingRecord:
    if record.relaner != "R" or record.owners(instant(now)):
        return record
    return record.relaning("R", until=instant(until)).widened(lanes)


def _kept(record: ArmingRecord, until: int) -> ArmingRecord:
    holds_all = len(record.lanes_of("R")) == len(record.lanes)
    return record.relaning("R", until=instant(until)) if holds_all else record
