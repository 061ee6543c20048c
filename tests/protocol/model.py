"""The protocol: every step that an editor, a run, the rule, the time or a fault can take.

A step is what happens between two moments at which another process can get in: one compare-and-swap on the
arming record (with the look at the record that it returns), one read of a head, one PutRule, one write of a
task. What the record becomes is computed by the real transitions.
"""

from duebell_shared.bell.arming import ECHO_SOON
from duebell_shared.instants import NEVER

from .editors import Editors
from .runs import Runs
from .steps import Step
from .world import DONE, NEVER_AT, Proc, State, at, echo, start


class Model(Editors, Runs):
    """All that can happen in a case."""

    def first(self) -> State:
        """Where it begins."""
        return start(self.case, self._ingredients.record, self.records)

    def wrong(self, s: State) -> str | None:
        """What is wrong when nothing is running: the promise of some call that has returned is not kept."""
        if s.procs:
            return None
        lanes = self.records[s.record].lanes
        for lane, (due, promised) in zip(s.places, s.tasks, strict=True):
            if due == DONE or promised == NEVER_AT:
                continue
            if s.rule == NEVER_AT or (lanes[lane].owner and lanes[lane].until == NEVER):
                return "LOST"
            bound = max(promised, s.now) + 1
            if lanes[lane].owner:  # its run died, and the watchdog wakes the next one: the rule, or its echo
                bound = max(bound, at(lanes[lane].until + ECHO_SOON))
            is_echo = not self.case.faults.isdisjoint({"lose", "outage"})  # of a ring that went unheard
            if (s.minute if is_echo else s.rule) > bound:
                return "LATE"
        return None

    def successors(self, s: State) -> list[Step]:
        """Every step that any process, the rule, the time or a fault can take from here."""
        self._steps = []
        if (index := self._alone(s)) is not None:
            p = s.procs[index]
            self._head(s._replace(procs=s.procs[:index] + s.procs[index + 1 :]), p)
            return self._steps
        for name in s.idle:
            others = s._replace(idle=tuple(other for other in s.idle if other != name))
            edit = self._edit(name)
            proc = Proc(name, "", due=edit.due)
            self._write(others, proc) if self._ingredients.write_first else self._lower(others, proc)
        for index, p in enumerate(s.procs):
            if index and s.procs[index - 1] == p:
                continue
            alone = s._replace(procs=s.procs[:index] + s.procs[index + 1 :])
            getattr(self, f"_{p.step}")(alone, p)
            if s.faults and "crash" in self.case.faults and p.step not in {"claim", "land"}:
                self._crash(alone._replace(faults=s.faults - 1), p)
            if s.faults and p.step == "claim" and p.lanes:
                self._on(p.name, "is never started", alone._replace(faults=s.faults - 1))
        self._pass(s)
        return self._steps

    def _pass(self, s: State) -> None:
        """What happens by itself: someone calls a run, the rule rings, time passes."""
        if s.faults and "call" in self.case.faults:
            self._on("someone", "CALLS a run", s._replace(faults=s.faults - 1), self._run(s))
        if s.rule <= s.now:
            following = self._next_ring(s)
            self._on("rule", "RINGS", s, self._run(s), rule=following)
            if s.faults and "lose" in self.case.faults:
                self._on("rule", "RINGS, and nobody hears", s, rule=following, faults=s.faults - 1)
        elif s.now < self.case.end:
            if not any(p.is_pressed(s.now) for p in s.procs):
                self._steps.append(("time", "passes", s._replace(now=s.now + 1)))
            elif s.faults and not self.case.faults.isdisjoint({"stall", "late"}):
                self._steps.append(
                    ("time", "passes, a process STALLS", s._replace(now=s.now + 1, faults=s.faults - 1))
                )

    def _next_ring(self, s: State) -> int:
        """When the rule rings after it has rung now."""
        return echo(s.minute, s.now) if self._ingredients.echoes else NEVER_AT

    def _crash(self, s: State, p: Proc) -> None:
        if p.name[0] == "W" and not p.guarded:
            self._on(p.name, f"CRASHES at {p.step}, and Lambda invokes again", s, self._run(s))
            if "outage" in self.case.faults:
                self._on(p.name, f"CRASHES at {p.step} for good", s)
        else:
            self._on(p.name, f"CRASHES at {p.step}", s)

    def _alone(self, s: State) -> int | None:
        """A process whose next step nothing else can affect, nor be affected by: no other order matters.

        That is the read of a head that nobody can change any more: no editor is still to write a task of the
        lane, and no other run can run one, unless this run loses its lease, and what it has read with it.
        """
        for index, p in enumerate(s.procs):
            if p.step == "head":
                lane = p.lanes[len(p.heads)]
                edited = (self.case.lanes[self._edit(name).task] for name in s.idle)
                if lane not in edited and not any(lane in q.lanes for q in s.procs if q is not p):
                    return index
        return None
