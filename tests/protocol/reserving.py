"""The protocol with tasks that are reserved, and run only if a transaction confirms them.

Each edit reserves its task: stored and armed for as by any add. From when that call has returned, the user's
transaction may confirm the task at any time, or drop it, or do neither. A run leaves a reserved task that is
due until the next minute, and deletes it once its grace is over, by a write that fails if it was confirmed
since. What a transaction has confirmed is promised from then on.
"""

from .model import Model
from .world import DONE, NEVER_AT, Case, Edit, Proc, State, Tasks, with_task

#: Moments from the write of a reserved task until runs drop it.
GRACE = 2

#: The stages of a reservation: its call has not returned, its transaction may come, none will come.
_WRITTEN, _OPEN, _OVER = "written", "open", "over"

_CRASH = frozenset({"crash"})

CASES = (
    Case("one reserved at once, a crash", (0,), (Edit(0, due=0),), 1, _CRASH, end=4),
    Case(
        "two lanes, one reserved, an earlier task there, a crash",
        (0, 1),
        (Edit(0, due=1),),
        1,
        _CRASH,
        {1: 1},
    ),
    Case("one lane, one reserved, another task there", (0, 0), (Edit(0, due=1),), 0, _CRASH, {1: 1}, end=4),
    Case("one reserved twice", (0,), (Edit(0, due=1), Edit(0, due=1)), 0, _CRASH, end=3),
)


class ReservingModel(Model):
    """All that can happen in a case whose edits reserve their tasks."""

    def wrong(self, s: State) -> str | None:
        """Also wrong: a task that ran unconfirmed, one that was deleted although it was confirmed."""
        for task, (due, promised) in enumerate(s.tasks):
            if due == DONE and self._stage(s, task):
                return "UNCONFIRMED"
            if due == DONE and promised != NEVER_AT:
                return "LOST"
        return super().wrong(s)

    def _pass(self, s: State) -> None:
        super()._pass(s)
        for name, (task, stage, _) in s.reserved:
            if stage == _OPEN:
                self._transact(s, name, task)

    def _transact(self, s: State, name: str, task: int) -> None:
        """The user's transaction comes, or is given up; then its reservation is dropped, or left."""
        due, _ = s.tasks[task]
        confirmed = with_task(s.tasks, task, (due, max(due, s.now) + 1))
        self._on(name, "COMMITS", s, tasks=confirmed, reserved=self._without(s, task))
        deleted = with_task(s.tasks, task, (DONE, NEVER_AT))
        self._on(name, "is refused, and drops", s, tasks=deleted, reserved=self._without(s, task))
        self._on(name, "is given up", s, reserved=self._at_stage(s, name, _OVER))

    # The editor's call.

    def _write(self, s: State, p: Proc) -> None:
        task = self._edit(p.name).task
        due, _ = s.tasks[task]
        if due not in {DONE, NEVER_AT} and not self._stage(s, task):
            self._on(p.name, "finds its id taken", s)
            return
        if due == DONE:
            self._on(p.name, "finds its task done", s)
            return
        # A new reservation takes an earlier one over, whose transaction then fails.
        others = self._without(s, task)
        reserved = tuple(sorted((*others, (p.name, (task, _WRITTEN, s.now + GRACE)))))
        tasks = with_task(s.tasks, task, (p.due, NEVER_AT))
        self._on(
            p.name,
            f"reserves its task due {p.due}",
            s,
            p._replace(step="lower"),
            tasks=tasks,
            reserved=reserved,
        )

    def _promise(self, s: State, p: Proc) -> Tasks:
        return s.tasks

    def _go_on(self, what: str, s: State, p: Proc) -> None:
        if p.then == "return" and p.name in dict(s.reserved):
            opened = self._at_stage(s, p.name, _OPEN)
            self._on(p.name, f"{what}, settled: RETURNS", s, reserved=opened)
        else:
            super()._go_on(what, s, p)

    # The run.

    def _perform(self, s: State, p: Proc) -> None:
        """Claim what was found; what is reserved cannot be claimed, and is read."""
        reserved = tuple(task for task in p.found if self._stage(s, task)) if self._ingredients.asks else ()
        if not reserved:
            super()._perform(s, p)
            return
        ran = [task for task in p.found if task not in reserved and DONE < s.tasks[task][0] <= s.now]
        tasks = tuple((DONE, NEVER_AT) if task in ran else one for task, one in enumerate(s.tasks))
        self._on(
            p.name, f"runs {ran}, not {reserved}", s, p._replace(step="settle", found=reserved), tasks=tasks
        )

    def _settle(self, s: State, p: Proc) -> None:
        """Read the reserved tasks: leave them, or go on to delete those whose grace is over."""
        expired = tuple(task for task in p.found if self._expiry(s, task) <= s.now)
        left = tuple(task for task in p.found if task not in expired)
        after = p._replace(found=left, due=s.now + 1, known=(), quiet=())
        if expired:
            self._on(p.name, f"reads that {expired} are over", s, after._replace(step="drop", known=expired))
        else:
            self._on(p.name, f"leaves {left}", s, after._replace(step="clear"))

    def _drop(self, s: State, p: Proc) -> None:
        """Delete the tasks whose grace is over; one that was confirmed meanwhile is left likewise."""
        still = tuple(task for task in p.known if self._stage(s, task) and self._expiry(s, task) <= s.now)
        gone = still if self._ingredients.is_fenced else p.known
        tasks = tuple(
            (DONE, promised) if task in gone else (due, promised)
            for task, (due, promised) in enumerate(s.tasks)
        )
        left = (*p.found, *(task for task in p.known if task not in gone))
        reserved = tuple(one for one in s.reserved if one[1][0] not in gone)
        after = p._replace(step="clear", known=(), found=left)
        self._on(p.name, f"deletes {gone}", s, after, tasks=tasks, reserved=reserved)

    def _head(self, s: State, p: Proc) -> None:
        """The head of a lane without the tasks that were left; for these the run comes back."""
        lane = p.lanes[len(p.heads)]
        here = [task for task, of in enumerate(s.places) if of == lane and s.tasks[task][0] != DONE]
        dues = [s.tasks[task][0] for task in here if task not in p.found]
        again = [p.due for task in here if task in p.found] if self._ingredients.comes_back else []
        head = min([*dues, *again], default=NEVER_AT)
        self._on(
            p.name, f"reads lane {lane}: {head}", s, self._with_known(p._replace(heads=(*p.heads, head)))
        )

    def _alone(self, s: State) -> int | None:
        return None

    # Reservations.

    def _stage(self, s: State, task: int) -> str:
        return next((stage for _, (of, stage, _) in s.reserved if of == task), "")

    def _expiry(self, s: State, task: int) -> int:
        return next((expiry for _, (of, _, expiry) in s.reserved if of == task), NEVER_AT)

    def _without(self, s: State, task: int) -> tuple[tuple[str, tuple[int, str, int]], ...]:
        return tuple(one for one in s.reserved if one[1][0] != task)

    def _at_stage(self, s: State, name: str, stage: str) -> tuple[tuple[str, tuple[int, str, int]], ...]:
        """The reservations, with that of this call at another stage."""
        return tuple(
            (of, (task, stage if of == name else now, expiry)) for of, (task, now, expiry) in s.reserved
        )
