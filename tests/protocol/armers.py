"""The arming of the rule, step for step as `Armer.change`, `Armer.ensure` and `_apply`."""

from datetime import timedelta

from . import transitions as t
from .steps import Steps
from .world import HOLD, NEVER_AT, Proc, State, alarm, at, instant


class Armers(Steps):
    """The steps of arming, which end where `then` of the process says."""

    def _arm(self, what: str, s: State, p: Proc, record: int) -> None:
        """`Armer.change` with an applier, then `ensure`: the same swap takes hold of the rule if need be."""
        is_free = not self.records[record].is_being_applied(instant(s.now), skew=timedelta(0))
        if record != s.record and is_free and not self._is_settled(record, s.now):
            self._take(what, s, p, record)
        else:
            self._look(what, s, p, record=record)

    def _take(self, what: str, s: State, p: Proc, record: int) -> None:
        number = self.records.changed(record, t.applying, p.name, s.now)
        put = (at(self.records[number].target), s.now + HOLD)
        self._on(p.name, f"{what}, applies {put[0]}", s, p._replace(step="put", put=put), record=number)

    def _look(self, what: str, s: State, p: Proc, **changes: int) -> None:
        """`Armer.ensure` with the record as it is now: settled, or to be looked at again."""
        s = s._replace(**changes)  # type: ignore[arg-type]
        if not self._is_settled(s.record, s.now):
            self._on(p.name, what, s, p._replace(step="ensure", put=(0, 0)))
        else:
            self._go_on(what, s, p)

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        """The rule is settled: the process takes its next step. Overridden for each kind of process."""
        self._on(p.name, f"{what}, settled: ENDS", s)

    def _not_armed(self, what: str, s: State, p: Proc, **changes: int) -> None:
        """NotArmed is raised: an editor's call fails."""
        self._on(p.name, f"{what}: NotArmed", s, **changes)

    def _ensure(self, s: State, p: Proc) -> None:
        record = self.records[s.record]
        if self._is_settled(s.record, s.now):
            self._look("looks", s, p)
        elif not record.is_being_applied(instant(s.now), skew=timedelta(0)):
            self._take("looks", s, p, s.record)

    def _put(self, s: State, p: Proc) -> None:
        target, hold_ends = p.put
        lands = alarm(target, hold_ends - HOLD)
        confirm = p._replace(step="confirm", answered=s.now)
        faulty = s._replace(faults=s.faults - 1)
        if s.now < hold_ends:
            self._on(p.name, f"PutRule({target})", s, confirm, rule=lands, minute=lands)
            if s.faults and "refuse" in self.case.faults:
                record = self.records.changed(s.record, t.put_refused, p.name)
                self._not_armed("is refused", faulty, p, record=record)
            if s.faults and "timeout" in self.case.faults:
                late = Proc(f"~{p.name}", "land", put=p.put)
                self._on(p.name, "has no answer", faulty, late, p._replace(step="ensure", put=(0, 0)))
                again = confirm._replace(retried=True)
                what = f"has no answer, then PutRule({target})"
                self._on(p.name, what, faulty, late, again, rule=lands, minute=lands)
        else:  # `Rule.ring_at` begins no call that could end after the hold
            self._on(p.name, "is out of time", s, p._replace(step="ensure", put=(0, 0)))
            if "late" in self.case.faults:  # but it may be paused between that look at the clock and the call
                rule = lands if lands > s.now else NEVER_AT
                self._on(p.name, f"wakes late: PutRule({target})", s, confirm, rule=rule, minute=rule)

    def _land(self, s: State, p: Proc) -> None:
        """A PutRule whose caller waits no more: it has its effect within the hold, or none."""
        if s.now < p.put[1]:
            lands = alarm(p.put[0], p.put[1] - HOLD)
            self._on(p.name, f"PutRule({p.put[0]}) lands", s, rule=lands, minute=lands)
        self._on(p.name, "PutRule is dropped", s)

    def _confirm(self, s: State, p: Proc) -> None:
        times = (p.put[1] - HOLD, p.answered)
        number = self.records.changed(s.record, t.put_done, p.name, p.put[0], times, p.retried)
        self._look("confirms", s, p._replace(answered=0, retried=False), record=number)
