"""Mutants of the limits of actions: the gauge that runs start tasks by, and what is parked while paused."""

from .mutant import Killer, Mutant

__all__ = ["OF_ACTION_LIMITS"]

_GAUGE = "shared/duebell_shared/gauge.py"
_LIMITS = "shared/duebell_shared/limits.py"
_CLAIMED = "shared/duebell_shared/claimed_task.py"
_TASK = "shared/duebell_shared/task.py"
_EXPORT_LINES = "editor/duebell_editor/export_lines.py"
_ARMING = "shared/duebell_shared/arming.py"
_ARMER = "shared/duebell_shared/armer.py"
_LIMITER = "worker/duebell_worker/limiter.py"
_READER = "worker/duebell_worker/lane_reader.py"
_RUN = "worker/duebell_worker/run.py"

OF_ACTION_LIMITS = (
    Mutant(
        name="starts are not counted",
        file=_GAUGE,
        line="                start += interval\n",
        broken="                start += interval * 0\n",
        why="any number is started at once",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="a burst of any size",
        file=_GAUGE,
        line="start = max(gauge.next, now - burst)",
        broken="start = gauge.next",
        why="after a quiet hour an hour's worth is started at once",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="the newest first",
        file=_GAUGE,
        line="(has_waited or is_line_empty)",
        broken="True",
        why="what comes later takes the places of what waits",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="late ones at the end of the line",
        file=_GAUGE,
        line="late if has_waited else line, start",
        broken="line, start",
        why="what was late waits behind all others",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="permits of dead runs",
        file=_GAUGE,
        line="alive = {owner: one for owner, one in gauge.permits.items() if one.until > now}",
        broken="alive = dict(gauge.permits)",
        why="an action whose run died is never started again",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="permits of other runs do not count",
        file=_GAUGE,
        line="limit.at_most - sum(p.count for p in alive.values())",
        broken="limit.at_most - mine",
        why="each run has as many attempts under way as all may have",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="the old line at another rate",
        file=_GAUGE,
        line="return replace(self, per_second=per_second, next=soonest, line=FIRST, late=FIRST)",
        broken="return replace(self, per_second=per_second, next=soonest)",
        why="a rate that was raised has no effect before the old line ends",
        killers=(Killer.GAUGE,),
    ),
    Mutant(
        name="parked for ever",
        file=_LIMITS,
        line="if override.resumed and not override.is_paused:",
        broken="if False:",
        why="what was parked waits up to a day after its action goes on",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="released for ever",
        file=_LIMITS,
        line=") if at <= last}",
        broken=")}",
        why="each look costs a query more for each action that was ever paused",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="the limits are not read again",
        file=_LIMITER,
        line="if record.limits != (self._limits.rev if self._limits else 0):",
        broken="if record.limits and self._limits is None:",
        why="a run that is under way follows no change",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="started early by chance",
        file=_LIMITER,
        line="return self._released.get(at) != task.action or task.limited_since is None",
        broken="return False",
        why="a task is started a day before it is due",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="expired tasks wait",
        file=_LIMITER,
        line="and not self._is_over(attempt)",
        broken="and True",
        why="a task that has expired waits for leave to be told so",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="what is under way is forgotten",
        file=_LIMITER,
        line="self._under_way[action] += len(attempts)",
        broken="pass",
        why="the next change of the gauge gives the permits away",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="permits end with the run's time",
        file=_LIMITER,
        line="if gauge and self._context.id in gauge.permits:",
        broken="if False:",
        why="the next run waits for the end of a lease that was given back",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="lanes are not looked at",
        file=_ARMING,
        line="replace(self.lowered(dict.fromkeys(range(len(self.lanes)), now)), limits=",
        broken="replace(self, limits=",
        why="what was parked is found only when the rule rings for something else",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="a new record without limits",
        file=_ARMER,
        line="limits=limits.rev if limits else 0,",
        broken="limits=0,",
        why="a record that was made anew lets paused actions run",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="heads without what was parked",
        file=_READER,
        line="if head > self._clock() and any(key not in passed_over for key in self._parked_in(lane)):",
        broken="if False:",
        why="what a run leaves of the parked tasks waits a day",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="a lane with parked tasks counts as quiet",
        file=_RUN,
        line="self._lease.quiet.pop(lane, None)",
        broken="pass",
        why="what a run leaves of the parked tasks waits a day",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="a held task uses an attempt up",
        file=_CLAIMED,
        line="status=Status.SCHEDULED, queued=to_utc(until), attempt=self.attempt - 1, limited_since=since",
        broken="status=Status.SCHEDULED, queued=to_utc(until), attempt=self.attempt, limited_since=since",
        why="a task that waits long enough fails without an attempt",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="the wait is not lateness",
        file=_CLAIMED,
        line="else self._late_since(self.limited_since)",
        broken="else self",
        why="a task that waited an hour counts as started in time",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="another action waits for the limit of the first",
        file=_TASK,
        line="return self._changed(queued=self.limited_since, **changes)",
        broken="return self._changed(**changes)",
        why="a task that is given an action that is not paused waits up to a day",
        killers=(Killer.LIMITS,),
    ),
    Mutant(
        name="imported into the line of another queue",
        file=_EXPORT_LINES,
        line="return replace(task, queued=queued, limited_since=None)",
        broken="return task",
        why="a task that was parked where it was exported waits up to a day, as no limit releases it",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="what waits in a run that has ended is started",
        file=_LIMITER,
        line="if self._is_closed or not self._lease.is_held():",
        broken="if not self._lease.is_held():",
        why="it is started twice, where the clock of the run that has its lane now is ahead",
        killers=(Killer.LIMITS_AT_THE_END,),
    ),
    Mutant(
        name="what waits in a run that has ended has permits",
        file=_LIMITER,
        line="            self._go(action, attempts)\n            attempts = []\n",
        broken="            pass\n",
        why="other runs wait for the end of the lease that was lost",
        killers=(Killer.LIMITS_AT_THE_END,),
    ),
    Mutant(
        name="a last attempt that was never put back",
        file=_CLAIMED,
        line="return self._changed(attempt=last, begun=last, limited_since=self.limited_since)",
        broken="return self._changed(attempt=last, begun=last)",
        why="a task that was parked, and whose run dies in its last attempt, is put back for up to a day",
        killers=(Killer.PARKED,),
    ),
    Mutant(
        name="another spread of a retry that was never put back",
        file=_TASK,
        line="return replace(changed, limited_since=self.limited_since)",
        broken="return changed",
        why="a retry that was parked and is given another spread waits up to a day after its action goes on",
        killers=(Killer.LIMITS,),
    ),
)
