"""The protocol with runs that give their lanes to another live run, as they do where runs wait to the second.

Which of them takes lanes over is left open here: a run gives its lanes to any run whose lease lasts, whether
that says so or not, lives or has died. The real one gives them to fewer. A run that was given lanes knows of
them from its next look at the arming record on.
"""

from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord

from .model import Model
from .world import Case, Edit, Proc, State, instant

_ADDS = (Edit(0, due=1), Edit(1, due=2))

_SHARE = frozenset({"share", "crash"})

CASES = (
    Case("two lanes, an add in each, shared and given", (0, 1), _ADDS, 1, _SHARE),
    Case("two lanes, an add in each, shared and given, a crash", (0, 1), _ADDS, 2, _SHARE),
)

#: Long enough for the watchdog of a run that died to ring, and for what the next run does.
TO_A_DEAD_RUN = Case("two tasks there, shared and given, a crash", (0, 1), (), 2, _SHARE, {0: 1, 1: 2}, end=3)


class GivingModel(Model):
    """All that can happen in a case, giving lanes included."""

    def _renew(self, s: State, p: Proc) -> None:
        super()._renew(s, self._knowing(s, p))

    def _clear(self, s: State, p: Proc) -> None:
        super()._clear(s, self._knowing(s, p))

    def _give_back_if(self, s: State, p: Proc, *, even_if_due: bool) -> None:
        if self._is_given_more(s, p):
            return
        super()._give_back_if(s, p, even_if_due=even_if_due)
        is_added = self.records[s.record].untouched(p.name) != set(p.lanes)
        if not is_added:
            self._give(s, p, p.known, even_if_due=even_if_due)

    def _release_if(self, s: State, p: Proc, *, even_if_due: bool) -> None:
        if self._is_given_more(s, p):
            return
        super()._release_if(s, p, even_if_due=even_if_due)
        self._give(s, p, p.heads, even_if_due=even_if_due)

    def _is_given_more(self, s: State, p: Proc) -> bool:
        if self._knowing(s, p) == p:
            return False
        again = p._replace(step="drain", then="", heads=(), quiet=(), known=())
        self._on(p.name, "was given lanes since it cleared: goes again", s, again)
        return True

    def _give(self, s: State, p: Proc, dues: tuple[int, ...], *, even_if_due: bool) -> None:
        heads = tuple(zip(p.lanes, dues, strict=True))
        for other in sorted(self.records[s.record].owners(instant(s.now)) - {p.name}):
            given = self.records.changed(s.record, _given, (p.name, other), heads, s.now, even_if_due)
            if given != s.record:
                self._arm(f"gives its lanes to {other}", s, Proc(p.name, "", "leave"), given)

    def _knowing(self, s: State, p: Proc) -> Proc:
        """The run as it is after a look at the record: other runs may have given it lanes."""
        lanes = self.records[s.record].lanes_of(p.name)
        if not set(p.lanes) < set(lanes):
            return p
        quiet = dict(zip(p.lanes, p.quiet, strict=False))
        return p._replace(lanes=lanes, quiet=tuple(map(quiet.get, lanes)))


def _given(
    record: ArmingRecord,
    runs: tuple[str, str],
    heads: tuple[tuple[int, int], ...],
    now: int,
    even_if_due: bool,
) -> ArmingRecord:
    """`Lease.release` of one run's lanes to another run; unchanged if one of them is due."""
    owner, taker = runs
    dues = {lane: instant(head) for lane, head in heads}
    given = replace(record, taker=taker).given(owner, dues, now=instant(now))
    is_due = any(given.lanes[lane].due <= instant(now) for lane in dues)
    return record if is_due and not even_if_due else replace(given, taker=record.taker)
