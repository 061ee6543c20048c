"""Mutants of the long-running process: how it waits, claims, shares and ends."""

from .mutant import Killer, Mutant

__all__ = ["OF_A_PROCESS"]

_HOST = "worker/duebell_worker/host.py"
_PROCESS = "worker/duebell_worker/process.py"
_LEASE = "worker/duebell_worker/lease.py"
_WAITS = "worker/duebell_worker/waits.py"
_SHARES = "worker/duebell_worker/shares.py"
_RUN = "worker/duebell_worker/run.py"
_SUCCESSOR = "worker/duebell_worker/successor.py"
_RECORD = "shared/duebell_shared/arming.py"

OF_A_PROCESS = (
    Mutant(
        name="a process claims lanes when they are due, not before",
        file=_HOST,
        line="return max(due - ahead, now)",
        broken="return max(due, now)",
        why="the rule rings ahead for the Lambda, and it holds the lanes",
        killers=(Killer.PROCESS,),
        is_fast=True,
    ),
    Mutant(
        name="a process forgets how long before a due date the rule rings",
        file=_HOST,
        line="return record.head_start + _AHEAD",
        broken="return _AHEAD",
        why="to the second the Lambda holds the lanes before it",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process claims while the queue is given more lanes",
        file=_HOST,
        line="due = NEVER if record.is_relaned(now) else record.free_due(now)",
        broken="due = record.free_due(now)",
        why="it makes one run after the other that gets no lanes",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process sets the head start",
        file=_SUCCESSOR,
        line="head_start = None if context.host else backend.settings.head_start",
        broken="head_start = backend.settings.head_start",
        why="when it is gone the Lambda comes too late, or far too soon",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="lanes that were claimed later are not armed for",
        file=_LEASE,
        line="        self.died = _died(before, self.lanes)\n        self.arm()\n",
        broken="        self.died = _died(before, self.lanes)\n",
        why="if the process dies then, nothing rings for them",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="the lease of lanes that were claimed later has no end",
        file=_LEASE,
        line="return record.claimed(self.owner, now=self.clock(), until=self.until)",
        broken="return record.claimed(self.owner, now=self.clock(), until=NEVER)",
        why="if the process dies, they are lost until its lease is thought too long",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="lanes whose claim was not answered are not looked into",
        file=_WAITS,
        line="        self._must_look = True\n        self._lease.claim_more()\n",
        broken="        self._lease.claim_more()\n",
        why="what waits in them waits for hours: their dues are never",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process claims no lanes that become free",
        file=_WAITS,
        line="                if self._claim_more():\n                    return True\n",
        broken="",
        why="beside an action that takes hours, all else in them is the Lambda's, to the minute",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="lanes that were claimed later are not looked into",
        file=_WAITS,
        line="                if self._claim_more():\n                    return True\n",
        broken="                self._claim_more()\n",
        why="what is due in them waits for the next look",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="watches while it waits for a place",
        file=_WAITS,
        line="return self._wait(lambda: self._attempts.has_place, by, watches=False)",
        broken="return self._wait(lambda: self._attempts.has_place, by)",
        why="what is added then is taken for seen by the look that is under way",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process that is to end waits for the due date",
        file=_WAITS,
        line="if now >= by or (is_idle and self._context.is_out_of_time):",
        broken="if now >= by:",
        why="it is killed before it has given its lanes back",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process does not notice that its time is over",
        file=_WAITS,
        line="notice_at = host.wake_at(now) if host else NEVER",
        broken="notice_at = NEVER",
        why="an action that runs keeps it beyond its time, until it is killed",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process looks up once a minute only",
        file=_HOST,
        line="return now + _NOTICE",
        broken="return now + timedelta(minutes=1)",
        why="it notices too late that it is to end",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process gives no lanes to others",
        file=_SHARES,
        line="            self._most = context.backend.settings.max_runs\n",
        broken="            self._most = 0\n",
        why="its actions take hours, what is due waits, and other processes stand by",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process gives lanes to others in which actions run",
        file=_SHARES,
        line="if self._context.host and idle and busy:",
        broken="if False:",
        why="they are not free before the actions end, and nothing is handed over",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process waits for a place for ever",
        file=_WAITS,
        line="by = self._context.now() + _LONG if self._context.host else NEVER",
        broken="by = NEVER",
        why="lanes in which nothing runs wait for actions that take hours",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a few tasks are no reason to hand lanes over",
        file=_SHARES,
        line="            needed = max(needed, 2)  # actions",
        broken="            pass  # actions",
        why="they wait for actions that take hours",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="the run of a process never ends while tasks come",
        file=_RUN,
        line="stays_for = _MOMENT if host.is_long(self._began) else",
        broken="stays_for =",
        why="its results, and the metrics of the queue, are told nowhere",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a run that failed is given up",
        file=_PROCESS,
        line="        if self._run_id:  # the run failed, and may hold lanes still\n"
        "            self._run()\n",
        broken="",
        why="when the process ends, its lanes are held until the lease is over",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a run that failed is followed by another",
        file=_PROCESS,
        line="self._run_id = self._run_id or owner_of(uuid.uuid4().hex)",
        broken="self._run_id = owner_of(uuid.uuid4().hex)",
        why="it finds its own lanes held, and what is due waits for the end of the lease",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a process that failed asks again at once",
        file=_PROCESS,
        line="pause = min(_PAUSE * (1 << self._failures), _LONGEST_PAUSE)",
        broken="pause = _PAUSE",
        why="an outage of an hour is an hour of calls and log lines",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a second signal to drain gives more time",
        file=_PROCESS,
        line="        if self._host.stop_at is None:\n            self._host.drain",
        broken="        if True:\n            self._host.drain",
        why="it is killed before it has given its lanes back",
        killers=(Killer.PROCESS,),
    ),
    Mutant(
        name="a lease that has run out is no reason to look",
        file=_RECORD,
        line="return min((lane.until if lane.owner else lane.due for lane in free), default=NEVER)",
        broken="return min((lane.due for lane in free), default=NEVER)",
        why="what a dead run held waits for the rule",
        killers=(Killer.PROCESS,),
    ),
)
