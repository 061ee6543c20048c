"""Mutants of a run: its lease, its order of steps, and what it writes."""

from .mutant import Killer, Mutant

__all__ = ["OF_A_RUN"]

_RUN = "worker/duebell_worker/run.py"
_LEASE = "worker/duebell_worker/lease.py"
_WORKER = "worker/duebell_worker/worker.py"
_OUTCOME = "worker/duebell_worker/outcome.py"

OF_A_RUN = (
    Mutant(
        name="not cleared",
        file=_RUN,
        line="        self._lease.clear()\n",
        broken="",
        why="the release keeps a due from before, and what came of it rings again",
        killers=(Killer.GIVING_BACK, Killer.LEASE),
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
        line="if record.lanes_of(self._owner) != self.lanes:",
        broken="if False:",
        why="two runs work on the same lanes",
        killers=(Killer.LEASE, Killer.HISTORIES),
    ),
    Mutant(
        name="an outcome written without the lease",
        file=_RUN,
        line="        if not self._lease.is_held():\n            return\n        is_ours",
        broken="        is_ours",
        why="a run that lost its lease writes nothing more",
        killers=(Killer.LEASE,),
    ),
    Mutant(
        name="released although due",
        file=_LEASE,
        line="return record if is_due and not even_if_due else released",
        broken="return released",
        why="what came due meanwhile waits for another ring",
        killers=(Killer.LEASE, Killer.RUN),
    ),
    Mutant(
        name="what a dead run left running is never claimed",
        file=_RUN,
        line="self._start(key, Status.RUNNING)",
        broken="self._start(key, Status.SCHEDULED)",
        why="a task whose process died stays running for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="attempts without a limit",
        file=_OUTCOME,
        line="    if task.attempt > action.attempts:\n",
        broken="    if False:\n",
        why="a task that kills its process does so for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="started early",
        file=_RUN,
        line="self._store.queued(lane, before=now)",
        broken="self._store.queued(lane, before=now + timedelta(seconds=30))",
        why="nothing runs before it is due",
        killers=(Killer.HISTORIES, Killer.RUN),
    ),
    Mutant(
        name="trouble with AWS is forgotten",
        file=_RUN,
        line="                if self._trouble:\n                    raise self._trouble\n",
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
)
