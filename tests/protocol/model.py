"""The protocol: every step that an editor, a run, the rule, the time or a fault can take.

A step is what happens between two moments at which another process can get in: one compare-and-swap on the
arming record (with the look at the record that it returns), one read of a head, one PutRule, one write of a
task. What the record becomes is computed by the real transitions.
"""

from datetime import timedelta

from duebell_shared.bell.arming import ECHO_SOON, ArmingRecord
from duebell_shared.bell.expression import ring_minute
from duebell_shared.instants import NEVER

from .world import (
    DONE,
    HOLD,
    LEASE,
    NEVER_AT,
    Case,
    Edit,
    Ingredients,
    Proc,
    Records,
    State,
    Tasks,
    alarm,
    at,
    echo,
    instant,
    start,
    with_task,
)

_ALL = frozenset({"crash", "stall", "refuse", "timeout", "hurry"})
_CRASH_OR_STALL = frozenset({"crash", "stall"})

_ADDS = (Edit(0, due=1), Edit(1, due=2))

_MOVE = (Edit(0, due=1), Edit(1, due=1))
_MOVES = (Edit(0, due=1), Edit(0, due=2))

#: A watchdog may ring at the third due date; the second one is later.
_WATCHDOGS_DATE = (Edit(0, due=1), Edit(1, due=5), Edit(2, due=3))

_LATE = frozenset({"late"})
_TIMEOUT = frozenset({"timeout"})

_SHARE = frozenset({"share", "crash"})
_CALL = frozenset({"call", "crash"})

_LOST = frozenset({"lose", "crash", "outage"})
_RETRY = frozenset({"retry", "crash", "hurry"})

CASES = (
    Case("two lanes, an add in each, three crashes", (0, 1), _ADDS, 3),
    Case("two lanes, an add in each, two crashes or stalls", (0, 1), _ADDS, 2, _CRASH_OR_STALL),
    Case("two lanes, an add in each, a fault of any kind", (0, 1), _ADDS, 1, _ALL),
    Case("one lane, two adds, two crashes or stalls", (0, 0), _ADDS, 2, _CRASH_OR_STALL),
    Case("two lanes, a move and an add, two crashes or stalls", (0, 1), _MOVE, 2, _CRASH_OR_STALL, {0: 2}),
    Case("two lanes, a move and an add, a fault of any kind", (0, 1), _MOVE, 1, _ALL, {0: 2}),
    Case("two lanes, two moves of one task", (0, 1), _MOVES, 2, _CRASH_OR_STALL, {0: 5, 1: 2}),
    Case("two lanes, three adds, a crash", (0, 1, 1), (*_ADDS, Edit(2, due=1)), 1),
    Case("one lane, an add at a watchdog's date, a crash", (0, 0, 0), _WATCHDOGS_DATE, 1),
    Case("two lanes, an add at a watchdog's date, a crash", (0, 1, 1), _WATCHDOGS_DATE, 1),
    Case("one lane, two adds, a PutRule long after its hold", (0, 0), _ADDS, 1, _LATE),
    Case("one lane, a move and an add, a PutRule long after its hold", (0, 0), _MOVE, 1, _LATE, {0: 5}),
    Case("one lane, two adds, a PutRule unanswered", (0, 0), (Edit(0, due=5), Edit(1, due=1)), 1, _TIMEOUT),
    Case("two lanes, an add in each, shared, a crash", (0, 1), _ADDS, 2, _SHARE),
    Case("two lanes, one task there, an add, shared", (0, 1), (Edit(0, due=2),), 2, _SHARE, {1: 1}),
    Case("two lanes, an add in each, a run called, a crash", (0, 1), _ADDS, 2, _CALL),
    Case("one lane, two adds, two rings lost or runs gone", (0, 0), _ADDS, 2, _LOST),
    Case("one task there, two rings lost or runs gone", (0,), (), 2, _LOST, {0: 1}, end=3),
    Case("two lanes, an add in each, a ring lost or a run gone", (0, 1), _ADDS, 1, _LOST),
    Case("two lanes, an add in each, an action that fails, a crash", (0, 1), _ADDS, 2, _RETRY),
    Case("one lane, two adds, an action that fails, a crash", (0, 0), _ADDS, 2, _RETRY),
    Case("one task there, moved later while it runs, two crashes", (0,), (Edit(0, due=3),), 2, there={0: 1}),
    Case("one task there, an echo as the watchdog, two crashes", (0,), (), 2, there={0: 1}, end=7),
    Case(
        "one task there, an add, an echo as the watchdog", (0, 1), (Edit(1, due=4),), 1, there={0: 1}, end=6
    ),
)

#: The process, its step, and the state after it.
Step = tuple[str, str, State]


class Model:
    """All that can happen in a case. The methods of a process are given the state without that process."""

    def __init__(self, case: Case, ingredients: Ingredients | None = None) -> None:
        self.case = case
        self.records = Records()
        self._ingredients = ingredients or Ingredients()
        self._settled: dict[tuple[int, int], bool] = {}
        self._steps: list[Step] = []

    def first(self) -> State:
        return start(self.case, self._ingredients.record, self.records)

    def wrong(self, s: State) -> str | None:
        """The promise of a returned call that is not kept, when nothing is running; empty if all are."""
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
        """Events of themselves: someone calls a run, the rule rings, time passes."""
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

    def _on(self, who: str, what: str, s: State, *procs: Proc, **changes: object) -> None:
        self._steps.append((who, what, s._replace(procs=tuple(sorted(s.procs + procs)), **changes)))  # type: ignore[arg-type]

    def _is_settled(self, record: int, now: int) -> bool:
        key = (record, now)
        if key not in self._settled:
            self._settled[key] = self.records[record].is_settled(instant(now))
        return self._settled[key]

    # The arming of the rule, step for step as `Armer.change`, `Armer.ensure` and `_apply`.

    def _arm(self, what: str, s: State, p: Proc, record: int) -> None:
        """`Armer.change` with an applier, then `ensure`: the same swap takes hold of the rule if need be."""
        is_free = not self.records[record].is_being_applied(instant(s.now), skew=timedelta(0))
        if record != s.record and is_free and not self._is_settled(record, s.now):
            self._take(what, s, p, record)
        else:
            self._look(what, s, p, record=record)

    def _take(self, what: str, s: State, p: Proc, record: int) -> None:
        number = self.records.made(record, "applying", p.name, until=s.now + HOLD)
        put = (at(self.records[number].target), s.now + HOLD)
        self._on(p.name, f"{what}, applies {put[0]}", s, p._replace(step="put", put=put), record=number)

    def _look(self, what: str, s: State, p: Proc, **changes: int) -> None:
        """`Armer.ensure` with the record as it is now: settled, or to be looked at again."""
        s = s._replace(**changes)  # type: ignore[arg-type]
        if not self._is_settled(s.record, s.now):
            self._on(p.name, what, s, p._replace(step="ensure", put=(0, 0)))
        else:
            self._go_on(what, s, p)

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
                record = self.records.changed(s.record, put_refused, p.name)
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
        number = self.records.changed(s.record, put_done, p.name, p.put[0], times, p.retried)
        self._look("confirms", s, p._replace(answered=0, retried=False), record=number)

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        """The rule is settled: the process takes its next step."""
        match p.then:
            case "return":
                self._on(p.name, f"{what}, settled: RETURNS", s, tasks=self._promise(s, p))
            case "start":
                self._start(f"{what}, settled", s, p)
            case "drain":
                drains = p._replace(step="drain", then="", put=(0, 0), guarded=True)
                self._on(p.name, f"{what}, settled", s, drains)
            case _:
                self._on(p.name, f"{what}, settled: ENDS", s)

    def _not_armed(self, what: str, s: State, p: Proc, **changes: int) -> None:
        """NotArmed: an editor's call fails; a run goes on without its watchdog, or ends in an error."""
        if p.name[0] != "W":
            self._on(p.name, f"{what}: NotArmed", s, **changes)
        elif p.then == "start":
            self._start(f"{what}: NotArmed, goes on", s._replace(**changes), p)  # type: ignore[arg-type]
        elif p.then == "drain":
            again = p._replace(step="drain", then="", put=(0, 0), guarded=False)
            self._on(p.name, f"{what}: NotArmed, goes on", s, again, **changes)
        else:
            self._on(p.name, f"{what}: NotArmed, and Lambda invokes again", s, self._run(s), **changes)

    # An editor's call, step for step as `Editor._write` or `_change`, then `_arm`.

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
        s = s._replace(tasks=with_task(s.tasks, task, (p.due, promised)))
        if self._ingredients.write_first:
            self._on(p.name, f"writes its task due {p.due}", s, p._replace(step="lower"))
        else:
            self._look(f"writes its task due {p.due}", s, p._replace(then="return"))

    def _lower(self, s: State, p: Proc) -> None:
        lane = self.case.lanes[self._edit(p.name).task]
        record = self.records.made(s.record, "lowered", ((lane, p.due),))
        if self._ingredients.write_first:
            self._arm("lowers", s, p._replace(then="return"), record)
        else:
            self._on(p.name, "lowers", s, p._replace(step="write"), record=record)

    def _promise(self, s: State, p: Proc) -> Tasks:
        """The tasks, with what the returning call promises; another may have moved its task meanwhile."""
        task = self._edit(p.name).task
        due, promised = s.tasks[task]
        return s.tasks if due == DONE else with_task(s.tasks, task, (due, min(promised, max(p.due, due))))

    # A run, step for step as `Run.execute` and `Lease`.

    def _run(self, s: State) -> Proc:
        """A new run. Names are used again once nobody bears them, so that fewer states differ."""
        record = self.records[s.record]
        taken = {p.name for p in s.procs} | {lane.owner for lane in record.lanes} | {record.applier}
        return Proc(next(f"W{n}" for n in range(1, 99) if f"W{n}" not in taken), "claim")

    def _claim(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.changed(s.record, claimed, p.name, s.now, until, p.lanes or None)
        lanes = self.records[record].lanes_of(p.name)
        if lanes:
            self._arm(f"claims {lanes}", s, p._replace(then="drain", lanes=lanes, until=until), record)
        else:
            self._arm("gets none", s, p._replace(then="leave", lanes=()), record)

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
        record = self.records.changed(s.record, given_back, *given)
        if record == s.record:
            self._on(p.name, "must look again", s, p._replace(step="clear", known=()))
        else:
            self._arm("gives back", s, Proc(p.name, "", "leave"), record)

    def _renew(self, s: State, p: Proc) -> None:
        until = s.now + LEASE
        record = self.records.made(s.record, "renewed", p.name, until=until)
        if self.records[record].lanes_of(p.name) != p.lanes:
            self._lose(s, p, record)
        else:
            self._arm("renews", s, p._replace(until=until, then="drain"), record)

    def _lose(self, s: State, p: Proc, record: int) -> None:
        lost = Proc(p.name, "ensure", "leave", guarded=p.guarded)
        self._on(p.name, "has lost its lease", s, lost, record=record)

    def _clear(self, s: State, p: Proc) -> None:
        record = self.records.made(s.record, "cleared", p.name)
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
        record = self.records.made(s.record, "released", p.name, ((lane, p.heads[0]),))
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
        record = self.records.changed(s.record, released, *given)
        if self.records[record].lanes_of(p.name):
            self._on(p.name, "goes again", s, p._replace(step="drain", then="", heads=(), quiet=()))
        else:
            self._arm("releases", s, Proc(p.name, "", "leave"), record)


# Transitions of the arming record that `Armer` and `Lease` make on a condition, in model time.


def claimed(
    record: ArmingRecord, owner: str, now: int, until: int, only: tuple[int, ...] | None
) -> ArmingRecord:
    return record.claimed(owner, now=instant(now), until=instant(until), only=only)


def released(
    record: ArmingRecord, owner: str, heads: tuple[tuple[int, int], ...], now: int, even_if_due: bool
) -> ArmingRecord:
    """`Lease.release`: unchanged if something is due already, unless told to."""
    given_back = record.released(owner, {lane: instant(head) for lane, head in heads})
    is_due = any(given_back.lanes[lane].due <= instant(now) for lane, _ in heads)
    return record if is_due and not even_if_due else given_back


def given_back(
    record: ArmingRecord, owner: str, heads: tuple[tuple[int, int], ...], now: int, even_if_due: bool
) -> ArmingRecord:
    """`Lease.release` by the last look: unchanged, too, if anything was added since the claim."""
    is_added = record.untouched(owner) != {lane for lane, _ in heads}
    return record if is_added else released(record, owner, heads, now, even_if_due)


def put_done(
    record: ArmingRecord, applier: str, target: int, times: tuple[int, int], may_land_again: bool
) -> ArmingRecord:
    """`Armer._apply`, after a PutRule that was answered; `times`: when it applied, and was answered."""
    applied_at, answered_at = map(instant, times)
    return record.confirmed(
        applier,
        instant(target),
        ring_minute(instant(target), applied_at),
        now=answered_at,
        may_land_again=may_land_again,
    )


def put_refused(record: ArmingRecord, applier: str) -> ArmingRecord:
    return record.unheld() if record.applier == applier else record
