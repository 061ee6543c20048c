"""Mutants of a run: its lease, its order of steps, and what it writes."""

from .mutant import Killer, Mutant

__all__ = ["OF_A_RUN"]

_RUN = "worker/duebell_worker/run.py"
_LEASE = "worker/duebell_worker/lease.py"
_ATTEMPTS = "worker/duebell_worker/attempts.py"
_WORKER = "worker/duebell_worker/worker.py"
_OUTCOME = "worker/duebell_worker/outcome.py"
_ACTION = "worker/duebell_worker/action.py"
_TASK = "shared/duebell_shared/task.py"

OF_A_RUN = (
    Mutant(
        name="not cleared",
        file=_RUN,
        line="        self._lease.clear()\n        heads = {",
        broken="        heads = {",
        why="the release keeps a due from before, and what came of it rings again",
        killers=(Killer.ADDED_TO,),
    ),
    Mutant(
        name="cleared after the heads are read",
        file=_RUN,
        line="        self._lease.clear()\n"
        "        heads = {lane: self._head(lane) for lane in self._lease.lanes}\n",
        broken="        heads = {lane: self._head(lane) for lane in self._lease.lanes}\n"
        "        self._lease.clear()\n",
        why="what was added between the two is forgotten",
        killers=(Killer.GIVING_BACK, Killer.HISTORIES),
    ),
    Mutant(
        name="no watchdog armed",
        file=_RUN,
        line="            self._lease.arm()\n",
        broken="            pass\n",
        why="a run that dies is noticed only by chance",
        killers=(Killer.HISTORIES, Killer.LEASE),
    ),
    Mutant(
        name="never renewed",
        file=_RUN,
        line="if now >= self._renew_at:",
        broken="if False:",
        why="a run that takes longer than a lease loses its lanes, and its tasks run twice",
        killers=(Killer.HISTORIES, Killer.LEASE),
    ),
    Mutant(
        name="a lost lease is not noticed",
        file=_LEASE,
        line="if not set(self.lanes) <= set(lanes):",
        broken="if False:",
        why="two runs work on the same lanes",
        killers=(Killer.LEASE, Killer.HISTORIES),
    ),
    Mutant(
        name="an outcome written without the lease",
        file=_ATTEMPTS,
        line="            if not self._lease.is_held():\n                saved += [None]",
        broken="            if False:\n                saved += [None]",
        why="a run that lost its lease writes nothing more",
        killers=(Killer.LEASE,),
    ),
    Mutant(
        name="claimed without the lease",
        file=_ATTEMPTS,
        line="            if self._lease.is_held():\n                found",
        broken="            if True:\n                found",
        why="a run that lost its lease takes a task from the one that holds it",
        killers=(Killer.LEASE, Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="called without the lease",
        file=_ATTEMPTS,
        line="elif task is None or not self._lease.is_held():",
        broken="elif task is None:",
        why="a process that stood still while it claimed calls the action beside another run's",
        killers=(Killer.LEASE, Killer.RUN),
    ),
    Mutant(
        name="holds what it has released",
        file=_LEASE,
        line="        self._until = self._clock()\n",
        broken="",
        why="what still hangs in its threads writes its outcome when another run holds the lane",
        killers=(Killer.LEASE,),
    ),
    Mutant(
        name="what is under way is started once more",
        file=_RUN,
        line="known = {*self._attempts.under_way(), *self._attempts",
        broken="known = {*self._attempts",
        why="while an action takes long, its task is claimed again at each look, for nothing",
        killers=(Killer.RUN, Killer.LEASE),
    ),
    Mutant(
        name="an attempt beyond the limit is made",
        file=_ATTEMPTS,
        line="if action and not action.is_used_up(task) and not",
        broken="if action and not",
        why="a task that ends its process ends it once more than it may",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="released although due",
        file=_LEASE,
        line="return record if is_near else released",
        broken="return released",
        why="what came due meanwhile waits for another ring",
        killers=(Killer.LEASE, Killer.RUN),
    ),
    Mutant(
        name="what a dead run left running is never claimed",
        file=_RUN,
        line="self._attempts.start(key, Status.RUNNING)",
        broken="self._attempts.start(key, Status.SCHEDULED)",
        why="a task whose process died stays running for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="a last attempt that was never begun counts",
        file=_ACTION,
        line="return task.attempt > self.attempts and (task.begun or 0) >= self.attempts",
        broken="return task.attempt > self.attempts",
        why="one death after a batch was claimed fails all of it, and none of it was started",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="a last attempt is not recorded as begun",
        file=_ACTION,
        line="return claimed.attempt >= self.attempts and (claimed.begun or 0) < self.attempts",
        broken="return False",
        why="a task that kills its process does so for ever",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="the begun attempt is remembered",
        file=_TASK,
        line="return replace(self, rev=self.rev + 1, begun=begun, **changes)",
        broken="return replace(self, rev=self.rev + 1, **({'begun': begun} if begun else {}), **changes)",
        why="after a retry the last attempt counts as begun before it is",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="an unanswered beginning is not made",
        file=_ATTEMPTS,
        line="                    is_begun = self._may_be_stored(begun)\n",
        broken="",
        why="the task fails as if its process had died, and was never started",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="attempts without a limit",
        file=_OUTCOME,
        line="    if action.is_used_up(task):\n",
        broken="    if False:\n",
        why="a task that kills its process does so for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="started early",
        file=_RUN,
        line="before = now + _LOOK_AGAIN if self._waits else now\n        self._next_due = NEVER\n",
        broken="now = before = now + timedelta(seconds=30)\n        self._next_due = NEVER\n",
        why="nothing runs before it is due",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="trouble with AWS is forgotten",
        file=_RUN,
        line="                if self._attempts.trouble:\n                    raise self._attempts.trouble\n",
        broken="",
        why="lanes are given back with tasks in them that are neither running nor looked at",
        killers=(Killer.HANDLER, Killer.HISTORIES),
    ),
    Mutant(
        name="the handler does not try again",
        file=_WORKER,
        line="_PAUSES = (1.0, 4.0, 16.0, 32.0, 0.0)",
        broken="_PAUSES = (0.0,)",
        why="the ring does not come twice, and Lambda invokes only three times",
        killers=(Killer.HANDLER, Killer.HISTORIES),
    ),
    Mutant(
        name="what is due waits for a task left running",
        file=_RUN,
        line="            self._wait(0, until=self._clock() + _LOOK_AGAIN)\n            self._run_due()\n",
        broken="            self._wait(0)\n",
        why="one that hangs keeps all lanes of its run from going on until the time is up",
        killers=(Killer.RUN,),
    ),
    Mutant(
        name="a task left running is not alone",
        file=_RUN,
        line="            self._wait(0, until=self._clock() + _LOOK_AGAIN)\n            self._run_due()\n",
        broken="            self._run_due()\n",
        why="one that kills its process takes along whatever has come due meanwhile",
        killers=(Killer.RUN,),
    ),
    Mutant(
        name="a run for no lane believes the record",
        file=_RUN,
        line="record = armer.verify() if self._only_arms else armer.ensure()",
        broken="record = armer.ensure()",
        why="after an apply of Terraform's the rule stays where the plan had it",
        killers=(Killer.HANDLER,),
    ),
)
