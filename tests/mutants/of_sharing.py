"""Mutants of sharing: what one run holds, given to several while tasks are added."""

from .mutant import Killer, Mutant

__all__ = ["OF_SHARING"]

_RECORD = "shared/duebell_shared/bell/arming.py"
_FUNCTION = "shared/duebell_shared/bell/function.py"
_RUN = "worker/duebell_worker/run/run.py"
_SHARES = "worker/duebell_worker/run/shares.py"
_LEASE = "worker/duebell_worker/run/lease.py"

_UNIT = (Killer.ARMING, Killer.PROTOCOL)

OF_SHARING = (
    # The record.
    Mutant(
        name="a run that is for some lanes claims all",
        file=_RECORD,
        line="mine = [number for number in free if only is None or number in only]",
        broken="mine = free",
        why="the first of several runs takes the lanes of the others",
        killers=(Killer.ARMING, Killer.SHARING),
        is_fast=True,
    ),
    Mutant(
        name="what is not claimed keeps its due",
        file=_RECORD,
        line="left = {number: replace(lane, due=soonest) for number, lane in unowned.items() "
        "if number not in mine}",
        broken="left: dict[int, Lane] = {}",
        why="what was added there while an earlier due of a lane that is claimed said enough is lost",
        killers=_UNIT,
    ),
    Mutant(
        name="what is not claimed is due as the others that are not",
        file=_RECORD,
        line="soonest = min((lane.due for lane in unowned.values()), default=NEVER)",
        broken="soonest = min((unowned[n].due for n in unowned if n not in mine), default=NEVER)",
        why="what was added there while an earlier due of a lane that is claimed said enough is lost",
        killers=_UNIT,
    ),
    Mutant(
        name="more lanes are given back than were read",
        file=_RECORD,
        line="mine = [number for number in self.lanes_of(owner) if number in heads]\n"
        "        record = self._with({number: Lane(due=min(self.lanes[number].due, heads[number])) "
        "for number in mine})",
        broken="mine = list(self.lanes_of(owner))\n"
        "        record = self._with({number: Lane(due=min(self.lanes[number].due, "
        "heads.get(number, NEVER))) for number in mine})",
        why="a run that hands some lanes over loses the others, and what is in them",
        killers=(Killer.ARMING, Killer.SHARING),
    ),
    # The lease.
    Mutant(
        name="a run that is started for some lanes asks for all",
        file=_LEASE,
        line="now=clock(), until=until, only=only)",
        broken="now=clock(), until=until)",
        why="the first of several runs takes the lanes of the others",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="lanes that were handed over count as held",
        file=_LEASE,
        line="        self.lanes = tuple(lane for lane in self.lanes if lane not in heads)\n",
        broken="",
        why="the run that shares counts itself out, and starts nobody",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="lanes that are handed over are not rung for",
        file=_LEASE,
        line="        self._check(record)\n        self.arm()\n\n    def release",
        broken="        self._check(record)\n\n    def release",
        why="when neither the run that was started comes, nor this one ends, only its watchdog rings",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="lanes that were handed over count as held while the rule is set",
        file=_LEASE,
        line="        self.lanes = tuple(lane for lane in self.lanes if lane not in heads)\n"
        "        self._check(record)\n        self.arm()\n",
        broken="        self.arm()\n"
        "        self.lanes = tuple(lane for lane in self.lanes if lane not in heads)\n"
        "        self._check(record)\n",
        why="when the rule cannot be set, nobody is started, and the run takes its lease for lost",
        killers=(Killer.SHARING,),
    ),
    # The run that shares.
    Mutant(
        name="not cleared before handing over",
        file=_SHARES,
        line="            self._lease.clear()\n            self._lease.hand_over(",
        broken="            self._lease.hand_over(",
        why="the lane keeps a due from before, and what came of it rings again",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="cleared after the heads of what is handed over are read",
        file=_SHARES,
        line="            self._lease.clear()\n"
        "            self._lease.hand_over(self._reader.heads(lanes))\n",
        broken="            heads = self._reader.heads(lanes)\n"
        "            self._lease.clear()\n"
        "            self._lease.hand_over(heads)\n",
        why="what was added between the two is forgotten",
        killers=(Killer.SHARING, Killer.HISTORIES),
    ),
    Mutant(
        name="a lane is handed over while a task of it is under way",
        file=_SHARES,
        line="ready = [share for share in self._shares if busy.isdisjoint(share)]",
        broken="ready = list(self._shares)",
        why="the run that takes it finds the task left running, and runs it beside itself",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="a lane is waited for however long its task takes",
        file=_SHARES,
        line="if not ready and now >= self._share_by:",
        broken="if False:",
        why="beside an action that hangs, all else in its lanes is left until the time is up",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="further runs are started before the lanes are given back",
        file=_SHARES,
        line="        try:\n            self._lease.clear()\n            self._lease.hand_over(",
        broken=(
            "        for share in ready:\n"
            "            self._function.start(share)\n"
            "        try:\n"
            "            self._lease.clear()\n"
            "            self._lease.hand_over("
        ),
        why="they find the lanes held, and leave",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="further runs are started for lanes that could not be handed over",
        file=_SHARES,
        line="if set(lanes).isdisjoint(self._lease.lanes):",
        broken="if True:",
        why="they find the lanes held, and leave; and this run believes that they are at it",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="a head that cannot be read ends the run",
        file=_SHARES,
        line=(
            "except (AwsError, NotArmed) as error:\n"
            '            self._context.warn("not_shared", error, lanes=lanes)'
        ),
        broken='except NotArmed as error:\n            self._context.warn("not_shared", error, lanes=lanes)',
        why="what it could go on with waits for the next one",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="lanes that are to be handed over are looked into",
        file=_RUN,
        line="lanes = [lane for lane in self._lease.lanes if lane not in leaving]",
        broken="lanes = list(self._lease.lanes)",
        why="as one of their tasks ends the next one starts, and they are never handed over",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="pauses when it shares",
        file=_RUN,
        line="                return self._context.now()\n",
        broken="                return NEVER\n",
        why="while a long action of another lane keeps it, nothing is started for five seconds",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="what was left running in a lane that was handed over is run here as well",
        file=_RUN,
        line="is_held = key.lane in self._lease.lanes and key.lane not in",
        broken="is_held = key.lane not in",
        why="the run that holds the lane has it under way, and it is claimed from it",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="other runs do not count",
        file=_SHARES,
        line="return max(self._most - 1 - len(owners) - len(to_come), 0)",
        broken="return max(self._most - 1 - len(to_come), 0)",
        why="each run starts further ones, beyond the setting",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="runs that have not come yet do not count",
        file=_SHARES,
        line="return max(self._most - 1 - len(owners) - len(to_come), 0)",
        broken="return max(self._most - 1 - len(owners), 0)",
        why="until they come, more of them are started, beyond the setting",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="runs that come while a share waits do not count",
        file=_SHARES,
        line="        ready = ready[: self._runs_to_spare(now)]",
        broken="        ready = ready[:]",
        why="by the time that it is handed over there are more runs than the setting says",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="runs that came and went count",
        file=_SHARES,
        line="if all(lanes[number].due <= now for number in share)]",
        broken="]",
        why="a long run shares once, and never again",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="a run by hand shares",
        file=_SHARES,
        line="if self._function and context.stop_at else 0",
        broken="if self._function else 0",
        why="who runs it by hand does not see it done",
        killers=(Killer.SHARING,),
    ),
    # The arithmetic, and how a run is told its lanes.
    Mutant(
        name="a lane in two shares",
        file=_SHARES,
        line="lanes[first::runs]",
        broken="lanes[first:]",
        why="one of the two finds it held, and this run gives away what it keeps",
        killers=(Killer.SHARING,),
        is_fast=True,
    ),
    Mutant(
        name="one run too few",
        file=_SHARES,
        line="return math.ceil(backlog / self._in_time(now, ended))",
        broken="return math.floor(backlog / self._in_time(now, ended))",
        why="what is due takes up to twice the time",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="what ended before counts for the pace",
        file=_SHARES,
        line="max(ended - self.ended_before, 1)",
        broken="max(ended, 1)",
        why="a run that has done much believes that it is fast",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="a run is started without its lanes",
        file=_FUNCTION,
        line='{} if lanes is None else {"lanes": list(lanes)}',
        broken="{}",
        why="the first of several takes all lanes that are free",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="the lanes of an invocation are not read",
        file=_FUNCTION,
        line="    return tuple(lanes)\n",
        broken="    return None\n",
        why="the first of several takes all lanes that are free",
        killers=(Killer.SHARING,),
    ),
    Mutant(
        name="the handler forgets for which lanes it is",
        file="worker/duebell_worker/invocation.py",
        line="return run(id, backend, _time_left(context), lanes_in(event))",
        broken="return run(id, backend, _time_left(context), None)",
        why="the first of several takes all lanes that are free",
        killers=(Killer.SHARING,),
    ),
)
