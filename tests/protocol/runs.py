"""A run, step for step as `Run.execute` and `Lease`."""

from . import transitions as t
from .armers import Armers
from .world import DONE, LEASE, NEVER_AT, Proc, State


class Runs(Armers):
    """The steps of a run: it claims lanes, runs what is due, gives the lanes back, and arms."""

    def _run(self, s: State) -> Proc:
        """A new run. Names are used again once nobody bears them, so that fewer states differ."""
        record = self.records[s.record]
        taken = {p.name for p in s.procs} | {lane.owner for lane in record.lanes} | {record.applier}
        return Proc(next(f"W{n}" for n in range(1, 99) if f"W{n}" not in taken), "claim")

    def _claim(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.changed(s.record, t.claimed, p.name, s.now, until, p.lanes or None)
        lanes = self.records[record].lanes_of(p.name)
        if lanes:
            self._arm(f"claims {lanes}", s, p._replace(then="drain", lanes=lanes, until=until), record)
        else:
            self._arm("gets none", s, p._replace(then="leave", lanes=()), record)

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        if p.then == "start":
            self._start(f"{what}, settled", s, p)
        elif p.then == "drain":
            drains = p._replace(step="drain", then="", put=(0, 0), guarded=True)
            self._on(p.name, f"{what}, settled", s, drains)
        else:
            super()._go_on(what, s, p)

    def _not_armed(self, what: str, s: State, p: Proc, **changes: int) -> None:
        """A run goes on without its watchdog, or ends in an error."""
        if p.name[0] != "W":
            super()._not_armed(what, s, p, **changes)
        elif p.then == "start":
            self._start(f"{what}: NotArmed, goes on", s._replace(**changes), p)  # type: ignore[arg-type]
        elif p.then == "drain":
            again = p._replace(step="drain", then="", put=(0, 0), guarded=False)
            self._on(p.name, f"{what}: NotArmed, goes on", s, again, **changes)
        else:
            self._on(p.name, f"{what}: NotArmed, and Lambda invokes again", s, self._run(s), **changes)

    def _drain(self, s: State, p: Proc) -> None:
        if s.now >= p.until - LEASE // 2:
            self._renew(s, p)
        if s.now >= p.until:
            return
        if s.faults and "share" in self.case.faults and p.lanes[1:] and self._ingredients.clear_first:
            sharing = p._replace(step="clear", then="share")
            self._on(p.name, "has too much to do", s, sharing, faults=s.faults - 1)
        step = "clear" if self._ingredients.clear_first else "head"
        if s.faults and "hurry" in self.case.faults:
            self._on(p.name, "has no time left", s, p._replace(step=step, then="hurry"), faults=s.faults - 1)
        heads = [self._head_of(s, lane) for lane in p.lanes]
        queued = [(due, task) for task, (due, _) in enumerate(s.tasks) if s.places[task] in p.lanes]
        found = tuple(task for due, task in queued if due != DONE and due <= s.now)
        following = min((due for due, _ in queued if due > s.now), default=NEVER_AT)
        looked = p._replace(
            step="perform",
            quiet=tuple(None if head <= s.now else head for head in heads),
            known=tuple(following if head <= s.now else head for head in heads),
            found=found,
        )
        self._on(p.name, f"finds {found} due", s, looked)

    def _perform(self, s: State, p: Proc) -> None:
        self._run_found(s, p, (DONE, NEVER_AT))
        if s.faults and p.found and "retry" in self.case.faults:
            self._run_found(s._replace(faults=s.faults - 1), p, (s.now + 1, s.now + 1))

    def _run_found(self, s: State, p: Proc, outcome: tuple[int, int]) -> None:
        """Run what was found due, each with this outcome; look again if an editor has changed one since."""
        due = [task for task in p.found if DONE < s.tasks[task][0] <= s.now]
        is_back = outcome[0] != DONE and self._ingredients.put_back
        back = dict.fromkeys((s.places[task] for task in due), outcome[0]) if is_back else {}
        tasks = tuple(
            (outcome[0], max(task[1], outcome[1])) if number in due else task
            for number, task in enumerate(s.tasks)
        )
        known = (min(head, back.get(lane, NEVER_AT)) for lane, head in zip(p.lanes, p.known, strict=True))
        fast = p._replace(step="give_back", known=tuple(known), found=())
        slow = p._replace(step="head", known=(), found=())
        again = p._replace(step="drain", quiet=(), known=(), found=())
        after = fast if self._ingredients.clear_first else slow
        what = "runs them" if outcome[0] == DONE else "puts them back"
        if len(due) < len(p.found) and self._ingredients.clear_first:
            self._on(p.name, f"{what}, and could not claim one", s, again, tasks=tasks)
            if self._ingredients.superseded:
                after = fast._replace(step="clear", known=())
        self._on(p.name, what, s, after, tasks=tasks)

    def _give_back(self, s: State, p: Proc) -> None:
        self._give_back_if(s, p, even_if_due=False)
        if s.faults and "hurry" in self.case.faults:
            self._give_back_if(s._replace(faults=s.faults - 1), p, even_if_due=True)

    def _give_back_if(self, s: State, p: Proc, *, even_if_due: bool) -> None:
        given = (p.name, tuple(zip(p.lanes, p.known, strict=True)), s.now, even_if_due)
        record = self.records.changed(s.record, t.given_back, *given)
        if record == s.record:
            self._on(p.name, "must look again", s, p._replace(step="clear", known=()))
        else:
            self._arm("gives back", s, Proc(p.name, "", "leave"), record)

    def _renew(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.changed(s.record, t.renewed, p.name, until)
        if self.records[record].lanes_of(p.name) != p.lanes:
            self._lose(s, p, record)
        else:
            self._arm("renews", s, p._replace(until=until, then="drain"), record)

    def _lose(self, s: State, p: Proc, record: int) -> None:
        lost = Proc(p.name, "ensure", "leave", guarded=p.guarded)
        self._on(p.name, "has lost its lease", s, lost, record=record)

    def _clear(self, s: State, p: Proc) -> None:
        record = self.records.changed(s.record, t.cleared, p.name)
        if self.records[record].lanes_of(p.name) != p.lanes:
            self._lose(s, p, record)
        elif p.then == "share":
            self._on(p.name, "clears", s, p._replace(step="share"), record=record)
        elif not self._ingredients.clear_first:
            self._on(p.name, "clears", s, p._replace(step="release"), record=record)
        else:
            untouched = self.records[s.record].untouched(p.name)
            quiet = zip(p.lanes, p.quiet or (None,) * len(p.lanes), strict=True)
            known = tuple(head if lane in untouched else None for lane, head in quiet)
            self._on(p.name, "clears", s, self._with_known(p._replace(quiet=known)), record=record)

    def _with_known(self, p: Proc) -> Proc:
        """The run with the heads that it need not read, up to the next one that it must."""
        known = p.quiet or (None,) * len(p.lanes)
        while len(p.heads) < len(p.lanes) and (head := known[len(p.heads)]) is not None:
            p = p._replace(heads=(*p.heads, head))
        last = "release" if self._ingredients.clear_first else "clear"
        return p._replace(step="head") if len(p.heads) < len(p.lanes) else p._replace(step=last, quiet=())

    def _head(self, s: State, p: Proc) -> None:
        lane = p.lanes[len(p.heads)]
        head = self._head_of(s, lane)
        read = self._with_known(p._replace(heads=(*p.heads, head)))
        self._on(p.name, f"reads lane {lane}: {head}", s, read)

    def _head_of(self, s: State, lane: int) -> int:
        dues = (due for of, (due, _) in zip(s.places, s.tasks, strict=True) if of == lane and due != DONE)
        return min(dues, default=NEVER_AT)

    def _share(self, s: State, p: Proc) -> None:
        head = self._head_of(s, p.lanes[-1])
        self._on(p.name, f"reads lane {p.lanes[-1]}: {head}", s, p._replace(step="hand_over", heads=(head,)))

    def _hand_over(self, s: State, p: Proc) -> None:
        lane, kept = p.lanes[-1], p.lanes[:-1]
        record = self.records.changed(s.record, t.handed_over, p.name, lane, p.heads[0])
        if self.records[record].lanes_of(p.name) != kept:
            self._lose(s, p, record)
        else:
            given = p._replace(then="start", lanes=kept, heads=(lane,), guarded=False)
            self._arm(f"hands over lane {lane}", s, given, record)

    def _start(self, what: str, s: State, p: Proc) -> None:
        """Another run is started for the lane that was handed over; this one goes on."""
        mine = p._replace(step="drain", then="", put=(0, 0), heads=(), guarded=True)
        self._on(p.name, what, s, mine, self._run(s._replace(procs=(*s.procs, p)))._replace(lanes=p.heads))

    def _release(self, s: State, p: Proc) -> None:
        self._release_if(s, p, even_if_due=p.then == "hurry")
        if s.faults and "hurry" in self.case.faults and p.then != "hurry":
            self._release_if(s._replace(faults=s.faults - 1), p, even_if_due=True)

    def _release_if(self, s: State, p: Proc, *, even_if_due: bool) -> None:
        given = (p.name, tuple(zip(p.lanes, p.heads, strict=True)), s.now, even_if_due)
        record = self.records.changed(s.record, t.released, *given)
        if self.records[record].lanes_of(p.name):
            self._on(p.name, "goes again", s, p._replace(step="drain", then="", heads=(), quiet=()))
        else:
            self._arm("releases", s, Proc(p.name, "", "leave"), record)
