"""The protocol with Lambda's tries of one invocation, which all have its request id.

A run that dies is invoked again, twice at most, so that any death may be for good; and one invocation may be
delivered twice, so that both live. A try that finds the lease of another try waits for its end.
"""

from datetime import datetime

from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord
from duebell_worker.run.lease import other_try_ends, request_of

from .model import Model
from .world import Case, Edit, Proc, State, at, instant

_ADDS = (Edit(0, due=1), Edit(1, due=2))
_TWICE = frozenset({"twice", "crash"})
_SHARE = frozenset({"share", "crash"})

CASES = (
    Case("one lane, two adds, two deaths", (0, 0), _ADDS, 2, end=3),
    Case("one task there, two deaths", (0,), (), 2, there={0: 1}, end=5),
    Case("one task there, delivered twice, a death", (0,), (), 2, _TWICE, {0: 1}, end=4),
    Case("one task there, an add, delivered twice", (0, 0), _ADDS[1:], 1, _TWICE, {0: 1}, end=3),
    Case("one lane handed over, a death", (0, 1), (), 2, _SHARE, {0: 1, 1: 1}, end=3),
)


class TriesModel(Model):
    """All that can happen in a case, with Lambda's tries."""

    def wrong(self, s: State) -> str | None:
        """Also wrong: a run goes by a lease that has not ended, in lanes that another one has claimed."""
        lanes = self.records[s.record].lanes
        for p in s.procs:
            goes_by_lease = p.step == "drain" and s.now < p.until
            if goes_by_lease and any(lanes[lane].owner != p.name for lane in p.lanes):
                return "TWICE"
        return super().wrong(s)

    def _pass(self, s: State) -> None:
        super()._pass(s)
        if s.rule <= s.now and s.faults and "twice" in self.case.faults:
            run = self._run(s)
            again = self._next_try(s, run)
            following = self._next_ring(s)
            self._on("rule", "RINGS, delivered twice", s, run, again, rule=following, faults=s.faults - 1)

    def _crash(self, s: State, p: Proc) -> None:
        if p.name[0] != "W":
            super()._crash(s, p)
            return
        again = self._next_try(s, p)
        self._on(p.name, f"CRASHES at {p.step}, and Lambda invokes again", s, again)
        if p.guarded:
            self._on(p.name, f"CRASHES at {p.step} for good", s)

    def _run(self, s: State) -> Proc:
        requests = {request_of(name) for name in self._names(s)}
        return Proc(next(f"W{n}" for n in range(1, 99) if f"W{n}" not in requests), "claim")

    def _next_try(self, s: State, p: Proc) -> Proc:
        request, taken = request_of(p.name), {*self._names(s), p.name}
        return Proc(next(name for n in range(1, 99) if (name := f"{request}.{n}") not in taken), "claim")

    def _names(self, s: State) -> set[str]:
        record = self.records[s.record]
        names = [p.name for p in s.procs] + [lane.owner for lane in record.lanes] + [record.applier]
        return {name for name in names if name}

    # `claimed_lease`.

    def _claim(self, s: State, p: Proc) -> None:
        ends = None if p.then == "waited" else self._other_try_ends(s, p)
        if ends is None:
            super()._claim(s, p)
        else:
            self._look("finds a lease of its request", s, p._replace(then="wait", due=at(ends)))

    def _other_try_ends(self, s: State, p: Proc) -> datetime | None:
        return other_try_ends(self.records[s.record].lanes, p.name, instant(s.now))

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        if p.then == "wait":
            self._on(p.name, f"{what}, settled", s, p._replace(step="wait", put=(0, 0), guarded=True))
        else:
            super()._go_on(what, s, p)

    def _not_armed(self, what: str, s: State, p: Proc, **changes: int) -> None:
        if p.then == "wait":
            self._on(p.name, f"{what}: NotArmed, waits", s, p._replace(step="wait", put=(0, 0)), **changes)
        else:
            super()._not_armed(what, s, p, **changes)

    def _wait(self, s: State, p: Proc) -> None:
        if s.now >= p.due:
            self._claim(s, p._replace(step="claim", then="waited", due=0, guarded=False))


class TakesOverAtOnce(TriesModel):
    """A try takes the lanes of another try of its request, as if that had died for certain."""

    def _claim(self, s: State, p: Proc) -> None:
        record = self.records[s.record]
        others = {lane.owner for lane in record.lanes if lane.owner and self._other_try_ends(s, p)}
        for owner in others:
            if request_of(owner) == request_of(p.name):
                record = _ended(record, owner, s.now)
        super()._claim(s._replace(record=self.records.number(record)), p)


class DiesUnarmed(TriesModel):
    """A try waits without a look at the watchdog of the one before, which may have died before it set it."""

    def _look(self, what: str, s: State, p: Proc, **changes: int) -> None:
        if p.then == "wait":
            waits = p._replace(step="wait", put=(0, 0), guarded=True)
            self._on(p.name, what, s._replace(**changes), waits)  # type: ignore[arg-type]
        else:
            super()._look(what, s, p, **changes)


def _ended(record: ArmingRecord, owner: str, now: int) -> ArmingRecord:
    mine = record.lanes_of(owner)
    return record._with({number: replace(record.lanes[number], until=instant(now)) for number in mine})
